//! Indices, shuffles, votes, shared memory.

use super::suite::Bench;
use crate::kernels::warps::*;
use oxshmem::Result;
use oxshmem_device::LaunchConfig;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    for config in [
        LaunchConfig::blocks(3).threads(40),
        LaunchConfig::grid(2, 3, 2).block_dims(4, 3, 5),
        LaunchConfig::blocks(1).threads(1),
        LaunchConfig::blocks(2).threads(1024),
    ] {
        let out = bench.local::<u64>((config.total_blocks() * config.block_threads()) as usize)?;
        bench.row(
            "every thread of the grid has its own number",
            || format!("grid {:?} of blocks {:?}", config.grid, config.block),
            || numbers::launch(shmem, config, &out),
            || out.read(),
            |i| i as u64,
        )?;
    }
    for threads in [32u32, 70, 1, 256] {
        let out = bench.local::<u64>(8 * threads as usize)?;
        bench.row(
            "shuffles and votes see the lanes of the warp",
            || format!("{threads} threads"),
            || collectives::launch(shmem, LaunchConfig::blocks(1).threads(threads), &out),
            || out.read(),
            |i| expected(i as u64 / 8, i as u64 % 8, u64::from(threads)),
        )?;
    }
    let data = bench.local::<u32>(256)?;
    data.write(&(0..256).map(|i| i * i).collect::<Vec<u32>>())?;
    bench.row(
        "a shared layout keeps its fields apart",
        || "256 words, 33 bytes, one f64".into(),
        || reverse::launch(shmem, LaunchConfig::blocks(1).threads(256), &data),
        || data.read(),
        |i| ((255 - i) * (255 - i) + i % 33 + 1) as u32,
    )
}

/// What the kernel `collectives` writes for a thread.
fn expected(thread: u64, result: u64, threads: u64) -> u64 {
    let (lane, size) = (thread % 32, (threads - thread / 32 * 32).min(32));
    let or_own = |from: Option<u64>| from.filter(|&from| from < size).unwrap_or(lane);
    match result {
        // A source lane outside the warp: undefined on the hardware, so the rule only speaks of full ones.
        0 => {
            if size > 3 {
                30
            } else {
                lane * 10
            }
        }
        1 => or_own(Some(lane + 1)),
        2 => or_own(lane.checked_sub(1)),
        3 => or_own(Some(lane ^ 5)) << 33 | 1,
        4 => u64::from(size > 2),
        5 => u64::from(size < 32),
        6 => (0..size).filter(|lane| lane & 1 == 1).fold(0, |bits, lane| bits | 1 << lane),
        _ => size,
    }
}
