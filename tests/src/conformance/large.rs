//! Beyond 4 GiB: offsets everywhere, of which only the ends are touched, and on a GPU one put of more than 4 GiB.

use super::suite::{Bench, Report, TWO_BLOCKS};
use crate::kernels::large::*;
use oxshmem::{Config, Reach, Result};
use oxshmem_device::LaunchConfig;

/// Bytes of the vector whose end is touched.
const FAR: usize = (5 << 30) + 13;
/// Elements of the put: 8 bytes more than 4 GiB.
const MANY: usize = (1 << 29) + 1;

/// Every rule of this file, with `n` PEs: up to three, so that any machine has the addresses.
pub(super) fn all(n: u32, report: &Report) -> Result<()> {
    if n > 3 {
        return Ok(());
    }
    Config::from_env()?.pes(n).heap_limit(12 << 30).emulated_memory(64 << 30).run(|shmem| {
        let bench = Bench::new(&shmem, report)?;
        far(&bench)?;
        if !shmem.device_name().contains("emulated") {
            whole(&bench)?;
        }
        Ok(())
    })?;
    Ok(())
}

fn far(bench: &Bench<'_>) -> Result<()> {
    let data = bench.shmem.alloc_uninit::<u8>(FAR)?;
    let (src, seen) = (bench.symmetric::<u8>()?, bench.symmetric::<u8>()?);
    let ((next, _), me) = (bench.neighbours(), bench.shmem.my_pe());
    let value = |pe: u32, i: usize| (pe as usize * 77 + i * 31 + 1) as u8;
    src.write(&(0..src.len()).map(|i| value(me, i)).collect::<Vec<_>>())?;
    for (number, name) in bench.scopes() {
        seen.fill(0)?;
        bench.row(
            "offsets beyond 4 GiB are reached by put, get, p and g",
            || format!("{name} scope, {FAR} bytes"),
            || far_end::launch(bench.shmem, TWO_BLOCKS, &data, &src, &seen, number, next),
            || Ok(seen.read()?[..1001].to_vec()),
            // What `next` holds at its end came from here.
            |i| value(me, i),
        )?;
    }
    bench.shmem.free(data)?;
    bench.shmem.free(src)?;
    bench.shmem.free(seen)
}

fn whole(bench: &Bench<'_>) -> Result<()> {
    let dst = bench.shmem.alloc_uninit::<u64>(MANY)?;
    let src = bench.local::<u64>(MANY)?;
    let wrong = bench.shmem.alloc_atomics::<u64>(1, Reach::World)?;
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    let config = LaunchConfig::blocks(32).threads(512);
    fill::launch(bench.shmem, config, &src, u64::from(me))?;
    bench.row(
        "a put of more than 4 GiB arrives whole",
        || format!("{MANY} elements of 8 bytes at grid scope"),
        || {
            put_all::launch(bench.shmem, config, &dst, &src, next)?;
            bench.shmem.barrier_all()?;
            count_wrong::launch(bench.shmem, config, &dst, wrong.at(0), u64::from(prev))
        },
        || wrong.values(),
        |_| 0,
    )?;
    bench.shmem.free(dst)?;
    bench.shmem.free(wrong)
}
