//! Atomics.

use super::suite::{Bench, TWO_BLOCKS};
use crate::kernels::atomics::*;
use oxshmem::Result;
use oxshmem_device::{LaunchConfig, Reach};

/// Threads of [`TWO_BLOCKS`].
const THREADS: u64 = 2 * 96;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, u64::from(bench.shmem.n_pes()));
    for reach in [Reach::World, Reach::Node] {
        let narrow = shmem.alloc_atomics::<u32>(3, reach)?;
        let wide = shmem.alloc_atomics::<u64>(3, reach)?;
        let last = shmem.n_pes() - 1;
        let on = |pe: u32, value: u64| if shmem.my_pe() == pe { value } else { 0 };
        bench.row(
            "atomic add from all threads of all PEs adds up, neighbours untouched",
            || format!("u32, {reach:?}"),
            || add::<u32>::launch(shmem, TWO_BLOCKS, &narrow, 1, 3, 5, last),
            || narrow.values(),
            |i| if i == 1 { on(last, 15 * THREADS * n) as u32 } else { 0 },
        )?;
        bench.row(
            "atomic add of u64 carries into the upper half",
            || format!("{reach:?}"),
            || add::<u64>::launch(shmem, TWO_BLOCKS, &wide, 1, 0xffff_ffff, 3, 0),
            || wide.values(),
            |i| if i == 1 { on(0, 0xffff_ffff * 3 * THREADS * n) } else { 0 },
        )?;
        bench.row(
            "atomic add wraps",
            || format!("u32, {reach:?}"),
            || add::<u32>::launch(shmem, LaunchConfig::blocks(1), &narrow, 0, u32::MAX, 1, 0),
            || narrow.values(),
            |i| match i {
                0 => on(0, u64::from(0u32.wrapping_sub(n as u32))) as u32,
                1 => on(last, 15 * THREADS * n) as u32,
                _ => 0,
            },
        )?;
        shmem.free(narrow)?;
        shmem.free(wide)?;
    }
    let word = shmem.alloc_atomics::<u32>(1, Reach::World)?;
    let taken = shmem.alloc_atomics::<u32>((THREADS * n) as usize, Reach::World)?;
    let root = shmem.n_pes() - 1;
    bench.row(
        "fetch_add gives every thread of every PE its own ticket",
        || format!("{} threads", THREADS * n),
        || tickets::launch(shmem, TWO_BLOCKS, word.at(0), &taken, root),
        || taken.values(),
        |_| u32::from(shmem.my_pe() == 0),
    )?;
    shmem.free(word)?;
    shmem.free(taken)?;
    by_compare_swap(bench)?;
    sequences(bench)
}

fn by_compare_swap(bench: &Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, u64::from(bench.shmem.n_pes()));
    let config = LaunchConfig::blocks(2).threads(40);
    let narrow = shmem.alloc_atomics::<u32>(3, Reach::World)?;
    let wide = shmem.alloc_atomics::<u64>(3, Reach::World)?;
    let first = |i: usize, value: u64| if i == 0 && shmem.my_pe() == 0 { value } else { 0 };
    bench.row(
        "compare_swap loses no update, neighbours untouched",
        || "u32".into(),
        || compare_swap_add::<u32>::launch(shmem, config, &narrow, 7, 0),
        || narrow.values(),
        |i| first(i, 7 * 80 * n) as u32,
    )?;
    bench.row(
        "compare_swap loses no update, neighbours untouched",
        || "u64".into(),
        || compare_swap_add::<u64>::launch(shmem, config, &wide, 1 << 35, 0),
        || wide.values(),
        |i| first(i, (80 * n) << 35),
    )?;
    shmem.free(narrow)?;
    shmem.free(wide)
}

fn sequences(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let (next, _) = bench.neighbours();
    let narrow = (shmem.alloc_atomics::<u32>(3, Reach::World)?, shmem.alloc_zeroed::<u32>(6)?);
    let wide = (shmem.alloc_atomics::<u64>(3, Reach::World)?, shmem.alloc_zeroed::<u64>(6)?);
    let config = LaunchConfig::blocks(1).threads(32);
    let (a, b) = (1000u32, u32::MAX - 3);
    bench.row(
        "set, fetch, swap, fetch_add and compare_swap return the value before",
        || "u32".into(),
        || sequence::<u32>::launch(shmem, config, &narrow.0, &narrow.1, a, b, next),
        || narrow.1.read(),
        |i| [a, a, b, a.wrapping_add(b), a.wrapping_add(b), b][i],
    )?;
    let (a, b) = (1u64 << 40, u64::MAX - 3);
    bench.row(
        "set, fetch, swap, fetch_add and compare_swap return the value before",
        || "u64".into(),
        || sequence::<u64>::launch(shmem, config, &wide.0, &wide.1, a, b, next),
        || wide.1.read(),
        |i| [a, a, b, a.wrapping_add(b), a.wrapping_add(b), b][i],
    )?;
    shmem.free(narrow.0)?;
    shmem.free(narrow.1)?;
    shmem.free(wide.0)?;
    shmem.free(wide.1)
}
