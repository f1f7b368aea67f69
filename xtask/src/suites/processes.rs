//! The suites of PEs as processes: every way to start them, and what the others learn when one dies.

use std::path::Path;

use anyhow::{Result, bail};

use super::programs::{LIMIT, refuses};
use super::{Bench, Outcome};
use crate::machine::Machine;
use crate::process;
use crate::runner::{self, Part};
use crate::start;
use crate::steps::{self, INTERFACE, LAUNCHER};

/// What every PE learns when another one dies.
pub(super) fn faults(bench: &Bench) -> Result<Outcome> {
    let programs = bench.checkout.build_programs()?;
    let mut rows = 0;
    let summary =
        runner::run(&[steps::faults()], &programs, &Machine::emulated(), Part::WHOLE, &mut |_, finished| {
            rows = finished.stdout.lines().filter(|line| line.contains("verified yes")).count();
            Ok(())
        })?;
    summary.print()?;
    Ok(Outcome::Passed(format!("{rows} rows")))
}

/// Jobs that meet at the address of one interface, in a network namespace of their own, and listen at nothing else.
pub(super) fn interface(bench: &Bench) -> Result<Outcome> {
    let programs = bench.checkout.build_programs()?;
    let mut command = start::command(&programs.join(INTERFACE));
    let finished = process::run(&mut command, Some(LIMIT), &mut |_, line| println!("{line}"))?;
    if !finished.ok() {
        bail!("`{INTERFACE}` {}", finished.verdict());
    }
    match finished.stdout.split_once("skipped: ") {
        Some((_, why)) => Ok(Outcome::Skipped(why.trim().to_owned())),
        None => {
            let jobs = finished.stdout.lines().filter(|line| line.ends_with("verified yes")).count();
            if jobs == 3 {
                Ok(Outcome::Passed(format!("{jobs} jobs")))
            } else {
                bail!("{jobs} jobs of 3 were verified")
            }
        }
    }
}

/// Every way to start PEs, and variables of launchers that cannot be right.
pub(super) fn processes(bench: &Bench) -> Result<Outcome> {
    let programs = bench.checkout.build_programs()?;
    let summary =
        runner::run(&steps::ways(), &programs, &Machine::emulated(), Part::WHOLE, &mut |_, _| Ok(()))?;
    summary.print()?;
    ends_with(&programs, 7)?;
    for variables in REFUSED {
        let mut command = start::command(&programs.join("ring-shift"));
        command.arg("10").envs(variables.iter().copied());
        let shown: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        refuses(&mut command, &format!("{} ring-shift 10", shown.join(" ")))?;
    }
    Ok(Outcome::Passed(format!("{} runs verified, {} environments refused", summary.passed, REFUSED.len())))
}

/// The status that a kernel gives to `global_exit` is the launcher's, and that of PEs as threads.
fn ends_with(programs: &Path, status: i32) -> Result<()> {
    let pes = "3";
    let mut launched = start::command(&programs.join(LAUNCHER));
    launched.args(["-n", pes]).arg(programs.join("teams"));
    let mut threads = start::command(&programs.join("teams"));
    threads.env("OXSHMEM_PES", pes);
    for mut command in [launched, threads] {
        command.arg(status.to_string()).env("OXSHMEM_DEVICE", "emulated");
        let finished = process::run(&mut command, Some(LIMIT), &mut |_, _| {})?;
        let said = finished.stderr.contains("a kernel of PE 2 ended the job with status 7 (global_exit)");
        if finished.status.code() != Some(status) || !said {
            bail!("`{}` {} and said: {}", process::shown(&command), finished.verdict(), finished.stderr);
        }
        println!("{}: status {status}", process::shown(&command));
    }
    Ok(())
}

/// Variables of launchers that contradict each other, miss a companion or mean nothing, and jobs to which nobody comes.
const REFUSED: &[&[(&str, &str)]] = &[
    &[("RANK", "0")],
    &[("WORLD_SIZE", "2")],
    &[("LOCAL_WORLD_SIZE", "2")],
    &[("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")],
    &[("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0"), ("MASTER_ADDR", "127.0.0.1")],
    &[("OXSHMEM_RANK", "1")],
    &[("OXSHMEM_RANK", "0"), ("OXSHMEM_WORLD_SIZE", "2"), ("OXSHMEM_LOCAL_RANK", "0")],
    &[("OXSHMEM_RANK", "2"), ("OXSHMEM_WORLD_SIZE", "2"), ("OXSHMEM_LOCAL_RANK", "0"), ("OXSHMEM_JOB", "a")],
    &[("OXSHMEM_RANK", "0"), ("OXSHMEM_WORLD_SIZE", "2"), ("OXSHMEM_LOCAL_RANK", "1"), ("OXSHMEM_JOB", "a")],
    &[("OXSHMEM_RANK", "x"), ("OXSHMEM_WORLD_SIZE", "2"), ("OXSHMEM_LOCAL_RANK", "0"), ("OXSHMEM_JOB", "a")],
    &[("OXSHMEM_RANK", "0"), ("OXSHMEM_WORLD_SIZE", "0"), ("OXSHMEM_LOCAL_RANK", "0"), ("OXSHMEM_JOB", "a")],
    &[
        ("OXSHMEM_RANK", "0"),
        ("OXSHMEM_WORLD_SIZE", "9999"),
        ("OXSHMEM_LOCAL_RANK", "0"),
        ("OXSHMEM_JOB", "a"),
    ],
    &[
        ("OXSHMEM_RANK", "0"),
        ("OXSHMEM_WORLD_SIZE", "4"),
        ("OXSHMEM_LOCAL_RANK", "0"),
        ("OXSHMEM_LOCAL_WORLD_SIZE", "2"),
        ("OXSHMEM_JOB", "a"),
    ],
    &[
        ("OXSHMEM_PES", "2"),
        ("OXSHMEM_RANK", "0"),
        ("OXSHMEM_WORLD_SIZE", "2"),
        ("OXSHMEM_LOCAL_RANK", "0"),
        ("OXSHMEM_JOB", "a"),
    ],
    &[
        ("OXSHMEM_RANK", "0"),
        ("OXSHMEM_WORLD_SIZE", "2"),
        ("OXSHMEM_LOCAL_RANK", "0"),
        ("OXSHMEM_JOB", "a"),
        ("RANK", "1"),
        ("WORLD_SIZE", "2"),
        ("LOCAL_RANK", "1"),
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", "29500"),
    ],
    &[("OXSHMEM_RENDEZVOUS", "udp")],
    &[("OXSHMEM_JOIN_DEADLINE", "soon")],
    &[
        ("OXSHMEM_RANK", "0"),
        ("OXSHMEM_WORLD_SIZE", "2"),
        ("OXSHMEM_LOCAL_RANK", "0"),
        ("OXSHMEM_JOB", "nobody comes"),
        ("OXSHMEM_JOIN_DEADLINE", "300ms"),
    ],
    &[
        ("OXSHMEM_RANK", "1"),
        ("OXSHMEM_WORLD_SIZE", "2"),
        ("OXSHMEM_LOCAL_RANK", "1"),
        ("OXSHMEM_JOB", "nobody is there"),
        ("OXSHMEM_JOIN_DEADLINE", "300ms"),
    ],
];
