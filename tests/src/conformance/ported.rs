//! rust-cuda's names: kernels ported from it do what they did there.

use super::suite::Bench;
use crate::kernels::ported::*;
use oxshmem::Result;
use oxshmem_device::LaunchConfig;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    slices(bench)?;
    shared_arrays(bench)?;
    dynamic(bench)?;
    collectives(bench)?;
    floats(bench)
}

/// What a launch's caller answers for: every kernel here stays within what it is given, and nothing else uses it.
macro_rules! launch {
    ($kernel:ident($($argument:expr),*)) => {
        // SAFETY: see the macro's comment.
        || unsafe { $kernel::launch($($argument),*) }
    };
}

fn slices(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    for elements in [0usize, 1, 31, 1000] {
        let x = shmem.device_from_slice(&(0..elements).map(|i| i as f32).collect::<Vec<_>>())?;
        let y = shmem.device_from_slice(&vec![0.5f32; elements])?;
        bench.row(
            "a slice of a ported kernel has the elements and the length of what is given",
            || format!("saxpy of {elements} elements"),
            launch!(saxpy(shmem, LaunchConfig::blocks(8).threads(128), 3.0, &x, &y)),
            || y.read(),
            |i| 3.0 * i as f32 + 0.5,
        )?;
    }
    Ok(())
}

fn shared_arrays(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let values: Vec<f32> = (0..1000).map(|i| (i % 7) as f32).collect();
    let given = shmem.device_from_slice(&values)?;
    for threads in [256u32, 64, 1] {
        let blocks = 1000u32.div_ceil(threads);
        let sums = bench.local::<f32>(blocks as usize)?;
        bench.row(
            "each block of a ported kernel has its own shared array",
            || format!("sums of blocks of {threads}"),
            launch!(block_sum(shmem, LaunchConfig::blocks(blocks).threads(threads), &given, &sums)),
            || sums.read(),
            |block| values.chunks(threads as usize).nth(block).map_or(f32::NAN, |part| part.iter().sum()),
        )?;
    }
    for n in [16usize, 37] {
        let matrix = |step: usize| (0..n * n).map(|i| (i * step % 11) as f32).collect::<Vec<_>>();
        let (a, b) = (matrix(3), matrix(5));
        let (on_a, on_b) = (shmem.device_from_slice(&a)?, shmem.device_from_slice(&b)?);
        let c = bench.local::<f32>(n * n)?;
        let blocks = (n as u32).div_ceil(16);
        let config = LaunchConfig::grid(blocks, blocks, 1).block_dims(16, 16, 1);
        bench.row(
            "two shared arrays of a ported kernel are apart",
            || format!("product of matrices of {n} rows"),
            launch!(multiply(shmem, config, &on_a, &on_b, &c, n)),
            || c.read(),
            |i| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum(),
        )?;
    }
    Ok(())
}

fn dynamic(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let values = shmem.device_from_slice(&(0..3 * 96).collect::<Vec<u32>>())?;
    let config = LaunchConfig::blocks(3).threads(96).extra_shared(4 * 96);
    bench.row(
        "a ported kernel has the dynamic shared memory that its launch gives",
        || "three blocks of 96".into(),
        launch!(turn(shmem, config, &values)),
        || values.read(),
        |i| (i / 96 * 96 + 95 - i % 96) as u32,
    )
}

fn collectives(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let config = LaunchConfig::blocks(1).block_dims(8, 4, 2);
    let out = bench.local::<u32>(16 * 64)?;
    bench.row(
        "collectives of a ported kernel see the lanes of their mask, in segments",
        || "two warps in three dimensions".into(),
        launch!(collect(shmem, config, &out)),
        || out.read(),
        |i| expected(i as u32 / 16, i as u32 % 16),
    )
}

/// What the kernel `collect` writes for a thread of 64.
fn expected(thread: u32, result: u32) -> u32 {
    let lane = thread % 32;
    let found = |from: u32, inside: bool| (if inside { from } else { lane }) << 1 | u32::from(inside);
    let lanes =
        |of: &dyn Fn(u32) -> bool| (0..32).filter(|&lane| of(lane)).fold(0, |all, lane| all | 1 << lane);
    match result {
        0 => found(lane.wrapping_sub(3), lane % 8 >= 3),
        1 => found(lane + 3, lane % 16 + 3 < 16),
        2 => lane / 8 * 8 + 5,
        3 => found(lane ^ 12, (lane ^ 12) <= (lane | 7)),
        4 => lanes(&|lane| lane & 3 == 3),
        5 => 0b10,
        6 => lanes(&|other| other % 4 == lane % 4),
        7 => u32::MAX,
        8 => 0,
        9 => 31 * 32 / 2,
        10 => (5 - 31i32) as u32,
        11 => 2 * 11,
        12 => 0b10,
        13 => u32::from(thread == 0) << 8 | 32,
        14 => thread,
        _ => thread / 32,
    }
}

fn floats(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let values = [0.0, 1.0, -2.5, 2.0, 1e-3, -7.75, 0.49999999999999994, 12345.678];
    let given = shmem.device_from_slice(&values)?;
    let out = bench.local::<f64>(4 * values.len())?;
    bench.row(
        "roots and roundings of a ported kernel are those of the host",
        || format!("{values:?}"),
        launch!(round_all(shmem, LaunchConfig::blocks(1).threads(32), &given, &out)),
        || out.read(),
        |i| {
            let value = values[i / 4];
            match i % 4 {
                0 => value.abs().sqrt(),
                1 => value.floor() + 16.0 * value.ceil(),
                2 => value.round() + 16.0 * value.trunc(),
                _ => value * (value * value),
            }
        },
    )
}
