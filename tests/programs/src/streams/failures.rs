//! Waits that expire, on a stream and in a graph.

use super::same;
use oxshmem::{Error, Result, Shmem};
use oxshmem_device::Cmp;

pub(super) fn all(shmem: &Shmem) -> Result<()> {
    let (last, stream) = (shmem.n_pes() - 1, shmem.stream()?);
    let (never, come) = (shmem.alloc_signals(1)?, shmem.alloc_signals(1)?);
    let graph = stream.capture(|| {
        shmem.wait_until_on(&stream, come.at(0), Cmp::Ge, 1)?;
        shmem.wait_until_on(&stream, never.at(0), Cmp::Ge, 1)
    })?;
    for of_graph in [false, true] {
        come.set(0, 1)?;
        shmem.barrier_all()?;
        if shmem.my_pe() == last {
            match of_graph {
                true => graph.launch(&stream)?,
                false => shmem.wait_until_on(&stream, never.at(0), Cmp::Ge, 1)?,
            }
        }
        let Err(Error::Poisoned(failure)) = shmem.barrier_all() else {
            return Err(Error::other("a wait for a signal that never comes has not expired"));
        };
        same("the PE whose wait expired", failure.pe, last)?;
        same("what it waited for", (failure.expected, failure.seen), (1, 0))?;
        same("its number in a graph", failure.node, of_graph.then_some(2))?;
        let kernel = failure.kernel.unwrap_or_default();
        same("its kernel", kernel, "oxshmem_stream_kernels__wait_signal")?;
        shmem.recover()?;
    }
    // The same stream and graph work.
    never.set(0, 1)?;
    shmem.barrier_all()?;
    graph.launch(&stream)?;
    shmem.barrier_all_on(&stream)?;
    stream.synchronize()
}
