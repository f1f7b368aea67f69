//! Indices, shuffles, votes, shared memory.

use super::suite::Bench;
use crate::kernels::warps::*;
use oxshmem::Result;
use oxshmem_device::{LaunchConfig, Reach};

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
            || {
                Ok(out
                    .read()?
                    .into_iter()
                    .enumerate()
                    .map(|(i, value)| specified(i, threads).and(Some(value)))
                    .collect())
            },
            |i| specified(i, threads),
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
    )?;
    let (out, lanes) = (shmem.alloc_zeroed::<u64>(4)?, shmem.alloc_zeroed::<u32>(70)?);
    let words = shmem.alloc_atomics::<u32>(2, Reach::Node)?;
    bench.row(
        "handles and counters say what they are",
        || "offset, reach, reached".into(),
        || say::launch(shmem, LaunchConfig::blocks(1).threads(70), &out, &words, &lanes),
        || out.read(),
        |i| [24, 1, 1, 0][i],
    )?;
    bench.row(
        "the lanes that run together include the own one, and none that the warp has not",
        || "70 threads".into(),
        || Ok(()),
        || {
            Ok(lanes
                .read()?
                .iter()
                .enumerate()
                .map(|(i, lanes)| (lanes >> (i % 32) & 1, lanes >> 6))
                .collect())
        },
        |i| if i < 64 { (1, lanes.read().map_or(0, |lanes| lanes[i] >> 6)) } else { (1, 0) },
    )?;
    shmem.free(out)?;
    shmem.free(lanes)?;
    shmem.free(words)
}

/// [`expected`] for element `i` of the kernel's output.
fn specified(i: usize, threads: u32) -> Option<u64> {
    expected(i as u64 / 8, i as u64 % 8, u64::from(threads))
}

/// What the kernel `collectives` writes for a thread; `None` where the source lane is not in the warp, whose
/// value is not specified.
fn expected(thread: u64, result: u64, threads: u64) -> Option<u64> {
    let (lane, size) = (thread % 32, (threads - thread / 32 * 32).min(32));
    let within = |from: u64| (from < size).then_some(from);
    match result {
        0 => within(3).map(|from| from * 10),
        // The last and the first lane of a full warp keep their own.
        1 => {
            if lane == 31 {
                Some(31)
            } else {
                within(lane + 1)
            }
        }
        2 => Some(lane.saturating_sub(1)),
        3 => within(lane ^ 5).map(|from| from << 33 | 1),
        4 => Some(u64::from(size > 2)),
        5 => Some(u64::from(size < 32)),
        6 => Some((0..size).filter(|lane| lane & 1 == 1).fold(0, |bits, lane| bits | 1 << lane)),
        _ => Some(size),
    }
}
