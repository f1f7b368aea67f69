//! The table of collective operations: at block scope against NVSHMEM's, at grid scope against what the machine copies, and how PEs
//! meet against a round trip.

use crate::case::{Case, Scope, Test};
use crate::rows::{Allowed, Bound, KIB, MIB, Place, Row, size};
use crate::system::Name;

/// What is plotted.
pub(crate) const TESTS: [Test; 4] = [Test::Broadcast, Test::Fcollect, Test::Alltoall, Test::Reduce];

/// Bytes of the rows of one block.
pub(crate) const SIZES: [u64; 11] =
    [8, 64, 512, 2 * KIB, 8 * KIB, 32 * KIB, 128 * KIB, 512 * KIB, 2 * MIB, 8 * MIB, 16 * MIB];

/// Up to here latency counts, and NVSHMEM is all that a time is held against.
const SMALL: u64 = 2 * KIB;

/// The rows of the suite `collectives`, with so many PEs.
pub(crate) fn collectives(place: &Place, pes: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    for test in TESTS {
        rows.extend(SIZES.map(|bytes| by_block(place, test, bytes, pes)));
    }
    rows.extend(meetings(place, pes));
    rows.extend([MIB, 16 * MIB, 64 * MIB, 256 * MIB].map(|bytes| by_grid(place, bytes, pes)));
    for row in &mut rows {
        row.name = format!("{}, {pes} PEs, {}", row.name, place.letter());
        if place.emulated {
            row.bars.iter_mut().for_each(|bar| (bar.bound, bar.allowed) = (Bound::Any, None));
        }
    }
    // Small sizes fall together on the emulator.
    let mut names = std::collections::BTreeSet::new();
    rows.retain(|row| names.insert(row.name.clone()));
    rows
}

/// The cases of one block: few threads are faster for few bytes, in both libraries.
pub(crate) fn block_cases(place: &Place, test: Test, bytes: u64) -> Vec<Case> {
    let iters = place.iters(if bytes <= 8 * KIB {
        200
    } else if bytes <= 128 * KIB {
        50
    } else {
        10
    });
    let bytes = place.bytes(bytes);
    let case = |threads: u32| Case { threads, bytes, iters, ..Case::new(test) };
    let threads: &[u32] = match bytes {
        _ if place.emulated => &[32],
        small if small <= 8 * KIB => &[128, 256, 512, 1024],
        medium if medium <= 128 * KIB => &[256, 512, 1024],
        _ => &[1024],
    };
    threads.iter().map(|&threads| case(threads)).collect()
}

fn by_block(place: &Place, test: Test, bytes: u64, pes: u32) -> Row {
    let cases = block_cases(place, test, bytes);
    let name = format!("{test} block {}", size(cases[0].bytes));
    let row = Row { raw: Vec::new(), ..Row::new(name, cases) };
    if bytes <= SMALL {
        return row.against_nvshmem(Bound::AtMost(0.6));
    }
    // A broadcast's root writes to each PE, itself included, as each PE does what it gives all; of a reduction each PE writes
    // its part to each.
    let written = bytes * if test == Test::Reduce { 1 } else { u64::from(pes) };
    let copy = place.moved(Test::PutBw, Scope::Block, 1, 16 * MIB);
    let allowed = Allowed { bytes: written, copy, round_trip: round_trip(place) };
    row.against_nvshmem(Bound::AtMost(0.5)).or(allowed)
}

/// A word to and fro, with its flag.
fn round_trip(place: &Place) -> Case {
    Case { iters: place.iters(500), ..place.alone(Test::MailboxPingpong, Scope::Thread, 8) }
}

/// sync and barrier.
fn meetings(place: &Place, pes: u32) -> Vec<Row> {
    let mut rows = Vec::new();
    let rounds = f64::from(pes.next_power_of_two().ilog2());
    for (test, bound) in [(Test::Sync, Bound::AtMost(rounds * 0.5 + 0.5)), (Test::Barrier, Bound::Any)] {
        for scope in [Scope::Thread, Scope::Warp, Scope::Block] {
            let case = Case { threads: 32, iters: place.iters(500), ..place.alone(test, scope, 0) };
            let row = Row { raw: Vec::new(), ..Row::of(format!("{test} {scope}"), case) };
            rows.push(row.against(Name::Raw, vec![round_trip(place)], bound).against_nvshmem(Bound::Any));
        }
    }
    rows
}

/// An all-reduce by the whole grid, against the bytes that it must move: each PE's share is read from all, and written to all.
fn by_grid(place: &Place, bytes: u64, pes: u32) -> Row {
    let all = place.sms;
    let bytes = place.bytes(bytes);
    let case = |ctas: u32, threads: u32| Case {
        ctas: place.ctas(ctas.max(1)),
        threads: threads.min(place.threads()),
        bytes,
        iters: place.iters(10),
        scope: Scope::Grid,
        ..Case::new(Test::Reduce)
    };
    let mut cases = vec![case(all / 2, 1024), case(all, 512), case(all, 1024), case(2 * all, 512)];
    cases.dedup();
    let name = format!("reduce grid {}", size(bytes));
    let row = Row { raw: Vec::new(), ..Row::new(name, cases) };
    // Raw's two PEs on one GPU have half of it each.
    let ctas = if place.link { all } else { (all * pes / 2).max(1) };
    let both = Case { bidir: true, ..place.moved(Test::PutBw, Scope::Grid, ctas, 256 * MIB) };
    let bound = if bytes >= 64 * MIB { Bound::AtMost(1.0 / 0.85) } else { Bound::Any };
    row.against_moved(u64::from(pes) * bytes, both, bound)
}
