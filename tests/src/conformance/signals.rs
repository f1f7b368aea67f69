//! Signals and waits.

use super::suite::{Bench, ROOM, TWO_BLOCKS};
use crate::kernels::signals::*;
use oxshmem::Result;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    messages(bench)?;
    adds(bench)?;
    comparing(bench)?;
    testing(bench)?;
    back_and_forth(bench)
}

fn messages(bench: &Bench<'_>) -> Result<()> {
    let (src, dst, seen) = (bench.symmetric::<u32>()?, bench.symmetric::<u32>()?, bench.symmetric::<u32>()?);
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    bench.reset_signals()?;
    let mut round = 0;
    for (number, name) in bench.scopes() {
        for (how, rule) in [
            (how::STRONG, "a strong signal covers the scope's earlier puts"),
            (how::FENCE_WEAK, "a weak signal of the leader after a fence covers the scope's earlier puts"),
            (how::QUIET_WEAK, "a weak signal after a quiet covers the scope's earlier puts"),
        ] {
            for count in [1, 31, 1000, ROOM] {
                round += 1;
                let value = |pe: u32, i: usize| pe << 20 ^ (i as u32) << 4 ^ round as u32;
                src.write(&(0..ROOM).map(|i| value(me, i)).collect::<Vec<_>>())?;
                seen.fill(0)?;
                bench.row(
                    rule,
                    || format!("{name} scope, {count} elements"),
                    || {
                        let (dst, src, seen) =
                            (dst.slice(0, count), src.slice(0, count), seen.slice(0, count));
                        message::launch(
                            bench.shmem,
                            TWO_BLOCKS,
                            dst,
                            src,
                            seen,
                            bench.signals.at(0),
                            number,
                            how,
                            round,
                            next,
                        )
                    },
                    || Ok(seen.read()?[..count].to_vec()),
                    |i| value(prev, i),
                )?;
            }
        }
    }
    for vec in [src, dst, seen] {
        bench.shmem.free(vec)?;
    }
    Ok(())
}

fn adds(bench: &Bench<'_>) -> Result<()> {
    let n = u64::from(bench.shmem.n_pes());
    for (number, name) in bench.scopes() {
        for weak in [0, 1] {
            for root in [0, bench.shmem.n_pes() - 1] {
                bench.reset_signals()?;
                bench.row(
                    "signal ADD from all PEs adds up, one per scope",
                    || format!("{name} scope, {}, to PE {root}", if weak == 0 { "strong" } else { "weak" }),
                    || {
                        let signal = bench.signals.at(2);
                        add_from_all::launch(bench.shmem, TWO_BLOCKS, signal, number, weak, 1 << 40, root)
                    },
                    || bench.signals.values(),
                    |i| if i == 2 && bench.shmem.my_pe() == root { n << 40 } else { 0 },
                )?;
            }
        }
    }
    Ok(())
}

fn comparing(bench: &Bench<'_>) -> Result<()> {
    let passed = bench.shmem.alloc_zeroed::<u32>(1)?;
    for (number, name) in bench.scopes() {
        for held in [7u64, 1 << 33, 1 << 63] {
            passed.fill(0)?;
            bench.signals.set(3, held)?;
            bench.row(
                "each comparison of wait_until holds when it should, unsigned",
                || format!("{name} scope, signal {held:#x}"),
                || comparisons::launch(bench.shmem, TWO_BLOCKS, bench.signals.at(3), &passed, number, held),
                || passed.read(),
                |_| 1,
            )?;
        }
    }
    bench.shmem.free(passed)
}

fn testing(bench: &Bench<'_>) -> Result<()> {
    let answers = bench.shmem.alloc_zeroed::<u64>(7)?;
    for (number, name) in bench.scopes() {
        for (held, value) in [(5u64, 5u64), (5, 6), (6, 5), (u64::MAX, 1), (0, u64::MAX)] {
            bench.signals.set(0, held)?;
            answers.fill(9)?;
            let truth =
                [held == value, held != value, held > value, held >= value, held < value, held <= value];
            bench.row(
                "test answers as the comparison says, and the same to the whole scope",
                || format!("{name} scope, signal {held:#x} against {value:#x}"),
                || tests::launch(bench.shmem, TWO_BLOCKS, bench.signals.at(0), &answers, number, value),
                || answers.read(),
                |i| truth.get(i).map_or(held, |&holds| u64::from(holds)),
            )?;
        }
    }
    bench.shmem.free(answers)
}

fn back_and_forth(bench: &Bench<'_>) -> Result<()> {
    let (me, n) = (bench.shmem.my_pe(), bench.shmem.n_pes());
    for (number, name) in bench.scopes() {
        bench.reset_signals()?;
        let rounds = 50;
        // PEs in pairs; an odd one out has no partner.
        let partner = me ^ 1;
        let paired = partner < n;
        bench.row(
            "signals go back and forth",
            || format!("{name} scope, {rounds} rounds"),
            || {
                if paired {
                    ping_pong::launch(bench.shmem, TWO_BLOCKS, bench.signals.at(0), number, rounds, partner)?;
                }
                Ok(())
            },
            || bench.signals.values(),
            |i| if i == 0 && paired { rounds } else { 0 },
        )?;
    }
    bench.reset_signals()
}
