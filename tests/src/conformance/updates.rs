//! Updates in batches: what every PE's table holds afterwards, and what ends a kernel.

use super::failures::{Expected, fails};
use super::suite::{Bench, Report};
use crate::kernels::updates::*;
use oxshmem::{Result, Shmem, SymVec, UpdateInbox};
use oxshmem_device::abi::{Cause, Operation};
use oxshmem_device::atomic::AtomicWord;
use oxshmem_device::{Atomic, LaunchConfig, Reach};

/// Words of a PE's table.
const WORDS: usize = 37;
/// Names of the kernels' `to`.
const TO: [(u32, &str); 5] = [
    (TO_ANY, "to any PE"),
    (TO_FIRST, "all to PE 0"),
    (TO_OWN, "all to the own PE"),
    (TO_SOME, "by every other thread"),
    (TO_NONE, "by none"),
];

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    macro_rules! each {
        ($($kernel:ident $ty:ty, $batch:literal, $first:expr, $fold:expr;)*) => {$(
            summed::<$ty>(bench, stringify!($kernel), $batch, $first, $fold, |config, table, inbox, calls, to| {
                $kernel::launch(bench.shmem, config, table, inbox, calls, to)
            })?;
        )*};
    }
    each! {
        add_u32_in_1 u32, 1, u32::MAX - 5, |a, b| a.wrapping_add(b as u32);
        add_u32_in_4 u32, 4, 0, |a, b| a.wrapping_add(b as u32);
        add_u32_in_64 u32, 64, 0, |a, b| a.wrapping_add(b as u32);
        xor_u64_in_1 u64, 1, 1 << 60, |a, b| a ^ b;
        add_u64_in_64 u64, 64, u64::MAX - 5, |a, b| a.wrapping_add(b);
        or_u64_in_4 u64, 4, 1 << 60, |a, b| a | b;
        add_i32_in_5 i32, 5, -5, |a, b| a.wrapping_add(b as i32);
        xor_i64_in_4 i64, 4, -5, |a, b| a ^ b as i64;
        and_u32_in_33 u32, 33, u32::MAX, |a, b| a & b as u32;
        add_f64_in_16 f64, 16, 0.5, |a, b| a + b as f64;
        add_f32_in_16 f32, 16, 0.5, |a, b| a + b as f32;
    }
    twice(bench)?;
    by_turns(bench)?;
    on_team(bench)
}

/// Blocks and threads of a launch, and calls of `add` by each block at least.
const SHAPES: [(u32, u32, u32); 5] = [(1, 1, 3), (3, 1, 9), (2, 32, 2), (2, 33, 3), (1, 256, 2)];

fn summed<T: AtomicWord + PartialEq + std::fmt::Debug>(
    bench: &Bench<'_>,
    kernel: &str,
    batch: u32,
    first: T,
    fold: impl Fn(T, u64) -> T,
    launch: impl Fn(LaunchConfig, &SymVec<Atomic<T>>, &UpdateInbox<T>, u32, u32) -> Result<()>,
) -> Result<()> {
    let (shmem, n) = (bench.shmem, bench.shmem.n_pes());
    let table = shmem.alloc_atomics::<T>(WORDS, Reach::Node)?;
    // For more blocks than any launch has, and used by all: nothing is reset between them.
    let inbox = shmem.alloc_update_inbox::<T>(4, batch)?;
    assert_eq!((inbox.blocks(), inbox.batch()), (4, batch));
    for (blocks, threads, calls) in SHAPES {
        let config = LaunchConfig::blocks(blocks).threads(threads);
        // What is sent one by one is slow to emulate.
        if threads == 256 && batch < 4 {
            continue;
        }
        // Where they go does not depend on what they are.
        for (to, name) in TO.into_iter().take(if kernel.starts_with("add_u") { TO.len() } else { 1 }) {
            for i in 0..WORDS {
                table.set(i, first)?;
            }
            bench.row(
                "every update is applied once, by its operation, to its word and PE",
                || format!("{kernel}, {blocks} blocks of {threads}, {name}"),
                || launch(config, &table, &inbox, calls, to),
                || table.values(),
                |word| expected((blocks, threads, calls), to, (shmem.my_pe(), n), word, first, &fold),
            )?;
        }
    }
    shmem.free_update_inbox(inbox)?;
    shmem.free(table)
}

/// What a word holds in the end, whatever the order.
fn expected<T: Copy>(
    (blocks, threads, calls): (u32, u32, u32),
    to: u32,
    (me, n): (u32, u32),
    word: usize,
    first: T,
    fold: impl Fn(T, u64) -> T,
) -> T {
    let mut sum = first;
    for pe in 0..n {
        for thread in 0..u64::from(blocks * threads) {
            for call in 0..calls_of(pe, (thread / u64::from(threads)) as u32, calls) {
                if target(pe, thread, call, WORDS as u64, n, to) == Some((word as u64, me)) {
                    sum = fold(sum, value(pe, thread, call));
                }
            }
        }
    }
    sum
}

fn twice(bench: &Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, bench.shmem.n_pes() as usize);
    let table = shmem.alloc_atomics::<u32>(WORDS, Reach::Node)?;
    let inbox = shmem.alloc_update_inbox::<u32>(3, 4)?;
    const THREADS: usize = 3 * 40;
    const CALLS: usize = 5;
    for launches in 1..=3 {
        bench.row(
            "an inbox is used again, by a kernel and by later launches, without a reset",
            || format!("launch {launches}"),
            || {
                let config = LaunchConfig::blocks(3).threads(40);
                updates_twice::launch(shmem, config, &table, &inbox, CALLS as u32)
            },
            || table.values(),
            |word| {
                let mine =
                    |place: usize| place / WORDS % n == shmem.my_pe() as usize && place % WORDS == word;
                let places = (0..THREADS).flat_map(|thread| (0..CALLS).map(move |call| thread + call));
                (3 * launches * n * places.filter(|&place| mine(place)).count()) as u32
            },
        )?;
    }
    // Emptied, it is as new.
    shmem.reset_update_inbox(&inbox)?;
    shmem.free_update_inbox(inbox)?;
    shmem.free(table)
}

fn by_turns(bench: &Bench<'_>) -> Result<()> {
    const ROUNDS: u32 = 12;
    const THREADS: u64 = 5;
    let (shmem, n) = (bench.shmem, bench.shmem.n_pes());
    let (even, odd) =
        (shmem.alloc_atomics::<u32>(WORDS, Reach::Node)?, shmem.alloc_atomics::<u32>(WORDS, Reach::Node)?);
    let inbox = shmem.alloc_update_inbox::<u32>(2, 4)?;
    // What a word of this PE's table holds: the updates of all PEs and threads, of the rounds that are its table's.
    let sum = |word: usize| {
        let mut sum = 0;
        for (pe, thread) in (0..n).flat_map(|pe| (0..2 * THREADS).map(move |thread| (pe, thread))) {
            for round in (0..ROUNDS).filter(|round| *round as usize % 2 == word / WORDS) {
                let calls = 0..calls_of(pe, (thread / THREADS) as u32, round);
                let place = Some(((word % WORDS) as u64, shmem.my_pe()));
                let here = |call: &u32| target(pe, thread, *call, WORDS as u64, n, TO_ANY) == place;
                sum += calls.filter(here).count() as u32;
            }
        }
        sum
    };
    bench.row(
        "updates of one use of an inbox never reach the table of another",
        String::new,
        || {
            let config = LaunchConfig::blocks(2).threads(THREADS as u32);
            updates_by_turns::launch(shmem, config, &even, &odd, &inbox, ROUNDS)
        },
        || Ok([even.values()?, odd.values()?].concat()),
        sum,
    )?;
    shmem.free_update_inbox(inbox)?;
    shmem.free(even)?;
    shmem.free(odd)
}

fn on_team(bench: &Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, bench.shmem.n_pes());
    let table = shmem.alloc_atomics::<u32>(n as usize, Reach::Node)?;
    let inbox = shmem.alloc_update_inbox::<u32>(1, 4)?;
    // From the last PE down, every other one.
    let size = n.div_ceil(2);
    let team = shmem.team_split_strided(&shmem.team_world(), n - 1, -2, size)?;
    const CALLS: u32 = 12;
    const THREADS: u32 = 20;
    bench.row(
        "updates by a team go to the team's PEs",
        String::new,
        || {
            let config = LaunchConfig::blocks(1).threads(THREADS);
            updates_on_team::launch(shmem, config, team.as_ref(), &table, &inbox, CALLS)
        },
        || table.values(),
        |word| match &team {
            Some(team) if (word as u32) < size => {
                let calls = (0..THREADS).flat_map(|thread| (0..CALLS).map(move |call| thread + call));
                calls.filter(|call| call % size == team.my_pe()).count() as u32
            }
            _ => 0,
        },
    )?;
    team.map_or(Ok(()), |team| shmem.team_destroy(team))?;
    shmem.free_update_inbox(inbox)?;
    shmem.free(table)
}

/// What ends a kernel; with a short deadline.
pub(super) fn failures(shmem: &Shmem, report: &Report) -> Result<()> {
    const CONFIG: LaunchConfig = LaunchConfig::blocks(2).threads(33);
    let n = shmem.n_pes();
    let table = shmem.alloc_atomics::<u32>(WORDS, Reach::Node)?;
    let inbox = shmem.alloc_update_inbox::<u32>(2, 4)?;
    let expect = |cause, pe, expected, seen| Expected {
        pe,
        expected: Some(expected),
        seen: Some(seen),
        ..Expected::new(cause, Operation::Updates)
    };
    for (index, pe, cause, of, seen) in [
        (WORDS as u64, n - 1, Cause::IndexOutOfRange, WORDS as u64, WORDS as u64),
        (u64::MAX, 0, Cause::IndexOutOfRange, WORDS as u64, u64::MAX),
        (0, n, Cause::PeOutOfRange, n.into(), n.into()),
    ] {
        let rule = "an update of a word or PE that does not exist is refused by its sender";
        fails(shmem, report, rule, "block", expect(cause, Some(0), of, seen), || {
            wrong_update::launch(shmem, CONFIG, &table, &inbox, 0, index, pe)
        })?;
        // Nobody has used it since.
        let rule = "an inbox that a failed kernel has left is refused, and usable after a reset";
        let expected = Expected::new(Cause::InboxInUse, Operation::Updates);
        fails(shmem, report, rule, "block", expected, || {
            updates_twice::launch(shmem, CONFIG, &table, &inbox, 1)
        })?;
        shmem.reset_update_inbox(&inbox)?;
        updates_twice::launch(shmem, CONFIG, &table, &inbox, 1)?;
        shmem.barrier_all()?;
    }
    fits(shmem, report, &table)?;
    if n > 1 {
        for calls in [0, 1, 40] {
            let rule = "a block whose peer does not take part reports whom it waits for";
            let expected = Expected::new(Cause::Deadline, Operation::Updates);
            fails(shmem, report, rule, "block", expected, || {
                missing_block::launch(shmem, CONFIG, &table, &inbox, n - 1, calls)
            })?;
            shmem.reset_update_inbox(&inbox)?;
        }
    }
    shmem.free_update_inbox(inbox)?;
    shmem.free(table)
}

/// Launches that an inbox or a buffer does not fit.
fn fits(shmem: &Shmem, report: &Report, table: &SymVec<Atomic<u32>>) -> Result<()> {
    const CONFIG: LaunchConfig = LaunchConfig::blocks(2).threads(33);
    let n = shmem.n_pes();
    let expect = |cause, expected, seen| Expected {
        expected: Some(expected),
        seen: Some(seen),
        ..Expected::new(cause, Operation::Updates)
    };
    for (blocks, batch, cause, of, seen) in
        [(1, 4, Cause::InboxBlocks, 1, 2), (0, 4, Cause::InboxBlocks, 0, 2), (2, 5, Cause::InboxBatch, 5, 4)]
    {
        let inbox = shmem.alloc_update_inbox::<u32>(blocks, batch)?;
        let rule = "an inbox that was made for fewer blocks or other batches is refused";
        fails(shmem, report, rule, "block", expect(cause, of, seen), || {
            updates_twice::launch(shmem, CONFIG, table, &inbox, 1)
        })?;
        shmem.free_update_inbox(inbox)?;
    }
    let inbox = shmem.alloc_update_inbox::<u32>(2, 4)?;
    if n > 1 {
        let rule = "a buffer that has fewer bins than there are PEs is refused";
        fails(shmem, report, rule, "block", expect(Cause::UpdateBins, n.into(), 1), || {
            one_bin::launch(shmem, CONFIG, table, &inbox)
        })?;
    }
    never_finished::launch(shmem, CONFIG, table, &inbox)?;
    let expected = Expected::new(Cause::InboxInUse, Operation::Updates);
    fails(shmem, report, "an inbox that was left without a finish is refused", "block", expected, || {
        updates_twice::launch(shmem, CONFIG, table, &inbox, 1)
    })?;
    shmem.free_update_inbox(inbox)
}
