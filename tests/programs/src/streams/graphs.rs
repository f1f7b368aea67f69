//! Graphs that are launched again and again.

use super::{same, same_elements};
use crate::kernels::streams::{expected, meet, produce, verify};
use oxshmem::{Error, LaunchConfig, Result, Shmem, SignalOp};
use oxshmem_device::Cmp;

const SHAPE: LaunchConfig = LaunchConfig::blocks(1).threads(64);
/// Elements of 8 bytes that a kernel moves, and that the copy engine moves.
const SMALL: usize = 67;
const LARGE: usize = 20_001;

pub(super) fn all(shmem: &Shmem, replays: u64) -> Result<()> {
    changing(shmem, SMALL, replays)?;
    changing(shmem, LARGE, replays.div_ceil(20))?;
    meeting(shmem, replays.div_ceil(10))?;
    refused(shmem)
}

/// Each launch makes data of its own round, sends it, and verifies on the device what has come; the host looks now and then.
fn changing(shmem: &Shmem, len: usize, replays: u64) -> Result<()> {
    let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
    let (next, prev) = ((me + 1) % n, (me + n - 1) % n);
    let (round, local) = (shmem.device_zeroed::<u64>(1)?, shmem.device_zeroed::<u64>(len)?);
    let wrong = shmem.device_zeroed::<u64>(len)?;
    let (put, got) = (shmem.alloc_zeroed::<u64>(len)?, shmem.alloc_zeroed::<u64>(len)?);
    let ready = shmem.alloc_signals(1)?;
    let graph = stream.capture(|| {
        produce::launch_on(shmem, &stream, SHAPE, &round, &local)?;
        shmem.put_signal_on(&stream, &put, &local, ready.at(0), SignalOp::Set(1), next)?;
        shmem.wait_until_on(&stream, ready.at(0), Cmp::Eq, 1)?;
        verify::launch_on(shmem, &stream, SHAPE, &round, &put, &wrong, prev)?;
        shmem.signal_on(&stream, ready.at(0), SignalOp::Set(0), me)?;
        shmem.barrier_all_on(&stream)?;
        shmem.get_on(&stream, &got, &put, prev)?;
        verify::launch_on(shmem, &stream, SHAPE, &round, &got, &wrong, (prev + n - 1) % n)?;
        shmem.barrier_all_on(&stream)
    })?;
    for replay in 1..=replays {
        graph.launch(&stream)?;
        if replay % 100 == 0 || replay == replays {
            stream.synchronize()?;
            same("rounds", round.read()?, vec![replay])?;
            same_elements("a graph's put", &put.read()?, |i| expected(prev, replay, i as u64))?;
            shmem.barrier_all()?;
        }
    }
    same_elements("elements that were wrong in any round", &wrong.read()?, |_| 0)?;
    shmem.barrier_all()?;
    shmem.free(put)?;
    shmem.free(got)
}

/// Collective kernels with grid barriers in a graph on two streams in turn.
fn meeting(shmem: &Shmem, replays: u64) -> Result<()> {
    let (first, second) = (shmem.stream()?, shmem.stream()?);
    let met = shmem.device_zeroed::<u64>(1)?;
    let shape = LaunchConfig::blocks(4).threads(64);
    let graph = first.capture(|| {
        meet::launch_on(shmem, &first, shape, &met)?;
        meet::launch_on(shmem, &first, shape, &met)
    })?;
    for _ in 0..replays {
        graph.launch(&first)?;
        graph.launch(&second)?;
    }
    first.synchronize()?;
    second.synchronize()?;
    same("grids that have met", met.read()?, vec![4 * replays])?;
    shmem.barrier_all()
}

/// What cannot be recorded is refused, and the stream goes on.
fn refused(shmem: &Shmem) -> Result<()> {
    let (stream, round) = (shmem.stream()?, shmem.device_zeroed::<u64>(1)?);
    let none = shmem.device_zeroed::<u64>(0)?;
    let mut answers = Vec::new();
    let graph = stream.capture(|| {
        produce::launch_on(shmem, &stream, SHAPE, &round, &none)?;
        answers = vec![
            stream.synchronize(),
            shmem.barrier_all(),
            shmem.alloc_zeroed::<u32>(4).map(drop),
            round.read().map(drop),
            stream.record().map(drop),
        ];
        produce::launch_on(shmem, &stream, SHAPE, &round, &none)
    })?;
    let capturing = answers.iter().all(|answer| matches!(answer, Err(Error::Capturing { .. })));
    same("what cannot be recorded is refused", capturing, true)?;
    graph.launch(&stream)?;
    produce::launch_on(shmem, &stream, SHAPE, &round, &none)?;
    same("launches", round.read()?, vec![3])?;
    shmem.barrier_all()
}
