//! Barriers and completion.

use super::suite::{Bench, TWO_BLOCKS};
use crate::kernels::ordering::*;
use oxshmem::Result;
use oxshmem_device::LaunchConfig;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let slots = shmem.alloc_zeroed::<u32>(shmem.n_pes() as usize)?;
    let wrong = shmem.alloc_zeroed::<u32>(1)?;
    for (number, name) in bench.scopes() {
        slots.fill(0)?;
        wrong.fill(0)?;
        bench.row(
            "barrier_all lets no PE through before all have come, and completes their puts",
            || format!("{name} scope, 30 rounds"),
            || barrier_rounds::launch(shmem, TWO_BLOCKS, &slots, &wrong, number, 30),
            || wrong.read(),
            |_| 0,
        )?;
    }
    for (blocks, threads) in [(1, 64), (2, 33), (5, 96), (8, 32)] {
        if blocks > shmem.resident_blocks::<grid_rounds>(threads)? {
            // Many PEs share the device: their blocks could not be resident together.
            continue;
        }
        let all = blocks as usize * threads as usize;
        let (places, wrong) = (bench.local::<u32>(all)?, bench.local::<u32>(all)?);
        bench.row(
            "the grid barrier joins all blocks",
            || format!("{blocks} blocks of {threads}, 20 rounds"),
            || grid_rounds::launch(shmem, LaunchConfig::blocks(blocks).threads(threads), &places, &wrong, 20),
            || wrong.read(),
            |_| 0,
        )?;
    }
    let (times, back) = (bench.local::<u64>(2 * 96)?, bench.local::<u32>(2 * 96)?);
    bench.row(
        "no clock goes back, and the time is the same on all of a device",
        || "2 blocks of 96".into(),
        || clocks::launch(shmem, TWO_BLOCKS, &times, &back),
        || back.read(),
        |_| 0,
    )?;
    if shmem.n_pes() >= 3 {
        let (data, seen) = (shmem.alloc_zeroed::<u32>(1)?, shmem.alloc_zeroed::<u32>(1)?);
        for round in 1..=10u64 {
            bench.row(
                "what quiet completed is visible through a third PE",
                || format!("round {round}"),
                || {
                    chain::launch(
                        shmem,
                        LaunchConfig::blocks(1).threads(32),
                        &data,
                        bench.signals.at(0),
                        &seen,
                        round,
                    )
                },
                || seen.read(),
                |_| if shmem.my_pe() == 2 { round as u32 } else { 0 },
            )?;
        }
        shmem.free(data)?;
        shmem.free(seen)?;
        bench.reset_signals()?;
    }
    shmem.free(slots)?;
    shmem.free(wrong)
}
