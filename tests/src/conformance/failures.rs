//! Failures: each kernel that cannot go on ends in bounded time, the record names the cause, every PE sees it,
//! and after `recover` the context works.

use super::suite::Report;
use crate::kernels::failures::*;
use crate::kernels::ordering::barrier_rounds;
use crate::kernels::scope;
use crate::kernels::teams::{exit_job, miss_team, put_on_team};
use oxshmem::{Config, Error, Place, Result, Shmem};
use oxshmem_device::LaunchConfig;
use oxshmem_device::abi::{Cause, Operation, teams};
use std::time::Duration;

/// Three warps a block.
pub(super) const CONFIG: LaunchConfig = LaunchConfig::blocks(2).threads(96);

/// What the first cause must say.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    pub cause: Cause,
    pub operation: Operation,
    /// The PE that fails, if it is one.
    pub pe: Option<u32>,
    pub expected: Option<u64>,
    pub seen: Option<u64>,
    /// The element of an allocation.
    pub element: Option<u64>,
}

impl Expected {
    /// Only the cause and the operation.
    pub(super) fn new(cause: Cause, operation: Operation) -> Self {
        Self { cause, operation, pe: None, expected: None, seen: None, element: None }
    }
}

/// Every rule of this file, with `n` PEs and a short deadline.
pub(super) fn all(n: u32, report: &Report) -> Result<()> {
    let config = Config::from_env()?.pes(n).deadline(Duration::from_millis(300));
    config.run(|shmem| {
        for (number, name) in scope::ALL {
            waits(&shmem, report, number, name)?;
            super::waits::failures(&shmem, report, number, name)?;
            super::packets::failures(&shmem, report, number, name)?;
        }
        super::peers::failures(&shmem, report)?;
        super::updates::failures(&shmem, report)?;
        wrong_operations(&shmem, report)?;
        wrong_teams(&shmem, report)
    })?;
    Ok(())
}

fn waits(shmem: &Shmem, report: &Report, number: u32, name: &'static str) -> Result<()> {
    let n = shmem.n_pes();
    let signals = shmem.alloc_signals(2)?;
    let culprit = n - 1;
    signals.set(1, 4)?;
    let expected = Expected {
        cause: Cause::Deadline,
        operation: Operation::WaitUntil,
        pe: Some(culprit),
        expected: Some(9),
        seen: Some(4),
        element: None,
    };
    fails(
        shmem,
        report,
        "a wait that is never satisfied reports what it waited for",
        name,
        expected,
        || {
            if shmem.my_pe() == culprit {
                wait_for_ever::launch(shmem, CONFIG, signals.at(1), number, 9)?;
            }
            Ok(())
        },
    )?;
    if n > 1 {
        let expected = Expected {
            cause: Cause::Deadline,
            operation: Operation::BarrierAll,
            pe: None,
            expected: None,
            seen: None,
            element: None,
        };
        fails(shmem, report, "a barrier_all that a PE misses reports it", name, expected, || {
            miss_barrier::launch(shmem, CONFIG, number, 0)
        })?;
        for (syncs, operation, rule) in [
            (0, Operation::TeamBarrier, "a team_barrier that a PE misses reports it"),
            (1, Operation::TeamSync, "a team_sync that a PE misses reports it"),
        ] {
            let expected = Expected { operation, ..expected };
            fails(shmem, report, rule, name, expected, || {
                miss_team::launch(shmem, CONFIG, shmem.team_world(), 3, syncs)
            })?;
        }
    }
    if number == scope::GRID {
        let expected = Expected {
            cause: Cause::Deadline,
            operation: Operation::GridSync,
            pe: None,
            expected: None,
            seen: None,
            element: None,
        };
        fails(shmem, report, "a grid barrier that a block misses reports it", name, expected, || {
            miss_grid_barrier::launch(shmem, CONFIG)
        })?;
    }
    shmem.free(signals)
}

fn wrong_operations(shmem: &Shmem, report: &Report) -> Result<()> {
    let n = shmem.n_pes();
    let (dst, src) = (shmem.alloc_zeroed::<u32>(64)?, shmem.alloc_zeroed::<u32>(64)?);
    for (number, name) in scope::ALL {
        let expected = Expected {
            cause: Cause::PeOutOfRange,
            operation: Operation::Put,
            pe: Some(0),
            expected: Some(n.into()),
            seen: Some((n + 3).into()),
            element: None,
        };
        fails(shmem, report, "an operation on a PE that does not exist is refused", name, expected, || {
            if shmem.my_pe() == 0 {
                put_to::launch(shmem, CONFIG, &dst, &src, number, n + 3)?;
            }
            Ok(())
        })?;
        let expected = Expected {
            cause: Cause::LengthMismatch,
            operation: Operation::Put,
            pe: Some(0),
            expected: Some(64),
            seen: Some(63),
            element: None,
        };
        fails(shmem, report, "lengths that differ are refused", name, expected, || {
            if shmem.my_pe() == 0 {
                put_to::launch(shmem, CONFIG, &dst, src.slice(0, 63), number, 0)?;
            }
            Ok(())
        })?;
    }
    let expected = Expected {
        cause: Cause::IndexOutOfRange,
        operation: Operation::Put,
        pe: Some(0),
        expected: None,
        seen: Some(65),
        element: None,
    };
    fails(
        shmem,
        report,
        "a slice out of range is refused by the operation that uses it",
        "block",
        expected,
        || {
            if shmem.my_pe() == 0 {
                put_slice::launch(shmem, LaunchConfig::blocks(1).threads(64), &dst, &src, 60, 5, 0)?;
            }
            Ok(())
        },
    )?;
    let expected = Expected {
        cause: Cause::IndexOutOfRange,
        operation: Operation::Access,
        pe: Some(0),
        expected: Some(64),
        seen: Some(64),
        element: None,
    };
    fails(shmem, report, "an index out of range is refused", "thread", expected, || {
        if shmem.my_pe() == 0 {
            read_at::launch(shmem, LaunchConfig::blocks(1).threads(1), &dst, 64)?;
        }
        Ok(())
    })?;
    for (first, step, which) in [
        (0, 1000, "thread 0"),
        (37, 1000, "one lane"),
        (1, 2, "every other"),
        (32, 1, "all but a warp"),
        (1, 1, "all but one"),
    ] {
        let expected = Expected {
            cause: Cause::IndexOutOfRange,
            operation: Operation::Access,
            pe: Some(0),
            expected: Some(64),
            seen: Some(64),
            element: None,
        };
        fails(
            shmem,
            report,
            "a block's barriers do not wait for threads that have ended",
            which,
            expected,
            || {
                if shmem.my_pe() == 0 {
                    some_threads_fail::launch(shmem, CONFIG, &dst, first, step)?;
                }
                Ok(())
            },
        )?;
    }
    let untouched = dst.read()?.iter().all(|&value| value == 0);
    if !untouched {
        report.fail(format!("PE {}: a refused operation wrote to memory", shmem.my_pe()));
    }
    shmem.free(dst)?;
    shmem.free(src)
}

fn wrong_teams(shmem: &Shmem, report: &Report) -> Result<()> {
    let n = shmem.n_pes();
    let (dst, src) = (shmem.alloc_zeroed::<u32>(64)?, shmem.alloc_zeroed::<u32>(64)?);
    // PE 0 is the last of it.
    let size = n.div_ceil(2);
    let team = shmem.team_split_strided(&shmem.team_world(), 2 * (size - 1), -2, size)?;
    for (number, name) in scope::ALL {
        let expected = Expected {
            cause: Cause::PeOutOfRange,
            operation: Operation::Put,
            pe: Some(0),
            expected: Some(size.into()),
            seen: Some(size.into()),
            element: None,
        };
        let rule = "an operation on a PE beyond the team is refused, also if the job has one of this number";
        fails(shmem, report, rule, name, expected, || {
            if shmem.my_pe() == 0 {
                put_on_team::launch(shmem, CONFIG, team.as_ref(), &dst, &src, number, size)?;
            }
            Ok(())
        })?;
    }
    let expected = Expected {
        cause: Cause::NotInTeam,
        operation: Operation::Team,
        pe: Some(n - 1),
        expected: None,
        seen: Some(teams::NONE.into()),
        element: None,
    };
    fails(shmem, report, "a kernel on a PE that is not in its team ends", "thread", expected, || {
        let outside = if shmem.my_pe() == n - 1 { None } else { team.as_ref() };
        if shmem.my_pe() == n - 1 || team.is_some() {
            put_on_team::launch(shmem, CONFIG, outside, &dst, &src, scope::THREAD, 0)?;
        }
        Ok(())
    })?;
    team.map_or(Ok(()), |team| shmem.team_destroy(team))?;
    if dst.read()?.iter().any(|&value| value != 0) {
        report.fail(format!("PE {}: a refused operation wrote to memory", shmem.my_pe()));
    }
    shmem.free(dst)?;
    shmem.free(src)
}

/// The end of the job by a kernel, with `n` PEs: every call of every PE returns it, and so does the run.
pub(super) fn exits(n: u32, report: &Report) -> Result<()> {
    for status in [3, 0, -1, 256] {
        let culprit = n - 1;
        let ended = |error: &Error| matches!(error, Error::GlobalExit { pe, status: of } if (*pe, *of) == (culprit, status));
        let run = Config::from_env()?.pes(n).run(|shmem| {
            let never = shmem.alloc_signals(1)?;
            shmem.barrier_all()?;
            let launched = exit_job::launch(&shmem, CONFIG, never.at(0), culprit, status);
            let calls = [
                ("the first call", launched.and_then(|()| shmem.barrier_all())),
                ("synchronize", shmem.synchronize()),
                ("recover", shmem.recover()),
                ("a launch", exit_job::launch(&shmem, CONFIG, never.at(0), n, status)),
            ];
            for (call, result) in calls {
                if !result.as_ref().is_err_and(ended) {
                    report.fail(format!("{call} after global_exit, PE {} of {n}: {result:?}", shmem.my_pe()));
                }
            }
            Ok(())
        });
        match run {
            Err(error) if ended(&error) && error.exit_status() == status as u8 => {}
            other => report.fail(format!("the run that global_exit ended, {n} PEs: {other:?}")),
        }
        report.check("global_exit ends the job on every PE, for good", "thread");
    }
    Ok(())
}

/// Launches, expects every PE to see the failure, recovers, and expects the context to work.
pub(super) fn fails(
    shmem: &Shmem,
    report: &Report,
    rule: &'static str,
    what: &'static str,
    expected: Expected,
    launch: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let me = shmem.my_pe();
    let complain =
        |text: String| report.fail(format!("{rule} ({what}), PE {me} of {}: {text}", shmem.n_pes()));
    // A PE may still be on its way out of the first barrier when another has failed already.
    match shmem.barrier_all().and_then(|()| launch()).and_then(|()| shmem.barrier_all()) {
        Ok(()) => complain("no error".into()),
        Err(Error::Poisoned(failure)) => {
            let right = failure.cause == expected.cause
                && failure.operation == expected.operation
                && expected.pe.is_none_or(|pe| failure.pe == pe)
                && expected.expected.is_none_or(|value| failure.expected == value)
                && expected.seen.is_none_or(|value| failure.seen == value)
                && expected.element.is_none_or(
                    |wanted| matches!(failure.place, Place::Allocation { element, .. } if element == wanted),
                );
            if !right {
                complain(format!("the record is wrong: {failure}"));
            }
        }
        Err(other) => complain(format!("another error: {other}")),
    }
    let slots = match shmem.recover() {
        Ok(()) => shmem.alloc_zeroed::<u32>(shmem.n_pes() as usize + 1)?,
        Err(error) => {
            complain(format!("recover: {error}"));
            return Err(error);
        }
    };
    let n = shmem.n_pes() as usize;
    barrier_rounds::launch(shmem, CONFIG, slots.slice(0, n), slots.slice(n, 1), scope::GRID, 2)?;
    shmem.barrier_all()?;
    let after = slots.read()?;
    if after.iter().enumerate().any(|(i, &value)| value != if i < n { 2 } else { 0 }) {
        complain(format!("after recover: {after:?}"));
    }
    if me == 0 {
        report.check(rule, what);
    }
    shmem.free(slots)
}
