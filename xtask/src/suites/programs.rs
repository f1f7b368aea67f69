//! The suites that run programs and the project's own commands as a user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::{Bench, Outcome};
use crate::bundle as bundles;
use crate::checkout;
use crate::machine::Device;
use crate::machine::Machine;
use crate::new::{self as packages, Refused};
use crate::process::{self, Finished, Stream, pass_through};
use crate::ptx as kernels;
use crate::runner::{self, Part};
use crate::say::seconds;
use crate::start;
use crate::steps;
use crate::tools::Tool;

/// No program of these suites takes longer.
pub(super) const LIMIT: Duration = Duration::from_secs(300);

pub(super) fn ptx(bench: &Bench) -> Result<Outcome> {
    if !bench.ptx {
        return Ok(Outcome::Skipped("there is no device toolchain".to_owned()));
    }
    // Its tests of registers pass over themselves where nobody names an assembler.
    let ptxas = Tool::Ptxas.get(&bench.checkout.target)?;
    let mut tests = bench.whole_system_tests();
    tests.args(["--test", "ptx", "--", "--nocapture"]);
    pass_through(tests.env("OXSHMEM_TEST_PTXAS", ptxas))?;
    let report = kernels::ptx(&bench.checkout, &[], kernels::Shown::default())?;
    let rebuild = seconds(report.rebuild);
    Ok(Outcome::Passed(format!("{} kernels assembled, {rebuild} after a change in one", report.kernels)))
}

pub(super) fn examples(bench: &Bench) -> Result<Outcome> {
    let programs = bench.checkout.build_programs()?;
    let pes: &[u32] = if bench.full { &[1, 2, 3, 4, 5, 6, 7, 8, 13] } else { &[1, 2, 3, 5, 8] };
    let steps = steps::examples(Device::Emulated, pes);
    let machine = Machine::emulated();
    let summary = runner::run(&steps, &programs, &machine, Part::WHOLE, &mut |_, _| Ok(()))?;
    summary.print()?;
    let refused = bad_arguments(&programs)?;
    Ok(Outcome::Passed(format!("{} runs verified, {refused} bad arguments refused", summary.passed)))
}

/// Arguments and variables that mean nothing.
fn bad_arguments(programs: &Path) -> Result<usize> {
    let cases: &[(&str, &[&str], &str)] = &[
        ("ring-shift", &["many"], "2"),
        ("ring-shift", &["-1"], "2"),
        ("ring-shift", &["99999999999999999999999"], "2"),
        ("ring-shift", &["10"], "0"),
        ("ring-shift", &["10"], "many"),
        ("ring-shift", &["1000000000000"], "2"),
        ("jacobi", &["2", "2"], "1"),
        ("jacobi", &["16", "x"], "1"),
        ("jacobi", &["16", "16", "10", "0"], "1"),
        ("jacobi", &["16", "4", "2", "1"], "5"),
    ];
    for (program, arguments, pes) in cases {
        let mut command = start::command(&programs.join(program));
        command.args(*arguments).env("OXSHMEM_PES", pes);
        refuses(&mut command, &format!("OXSHMEM_PES={pes} {program} {}", arguments.join(" ")))?;
    }
    Ok(cases.len())
}

/// Runs a command that must end with a sentence: no panic, no signal, no success.
pub(super) fn refuses(command: &mut Command, case: &str) -> Result<()> {
    let finished = process::run(command.env("OXSHMEM_DEVICE", "emulated"), Some(LIMIT), &mut |_, _| {})?;
    let code = finished.status.code();
    let panicked = finished.stderr.contains("panicked at");
    let refused = code.is_some_and(|code| code != 0 && code != 101) && !finished.timed_out;
    if !refused || panicked || finished.stderr.trim().is_empty() {
        bail!("`{case}` {} and said: {}", finished.verdict(), finished.stderr);
    }
    println!("{case}: {}", finished.stderr.lines().next_back().unwrap_or_default());
    Ok(())
}

/// Threads in turn with one device per PE, then in pseudo-random orders with one per PE and with one for all.
pub(super) fn conformance(bench: &Bench) -> Result<Outcome> {
    let program = bench.checkout.build_programs()?.join("conformance");
    let seeds: u32 = if bench.full { 100 } else { 3 };
    let random = (1..=seeds).flat_map(|seed| [(Some(seed), false), (Some(seed), true)]);
    let runs: Vec<(Option<u32>, bool)> = std::iter::once((None, false)).chain(random).collect();
    for &(seed, one_device) in &runs {
        let mut command = start::command(&program);
        command.env("OXSHMEM_DEVICE", "emulated");
        if let Some(seed) = seed {
            command.env("OXSHMEM_EMULATED_SEED", seed.to_string());
        }
        if one_device {
            command.env("OXSHMEM_EMULATED_DEVICES", "1");
        }
        pass_through(&mut command)?;
    }
    Ok(Outcome::Passed(format!("emulated, {} orders of threads", runs.len())))
}

/// Collective operations: threads in turn with one device per PE, and in a pseudo-random order on one device for all.
pub(super) fn collectives(bench: &Bench) -> Result<Outcome> {
    let program = bench.checkout.build_programs()?.join("collectives");
    let mut in_turn = start::command(&program);
    let mut random = start::command(&program);
    // Of three PEs two share a device.
    random.env("OXSHMEM_EMULATED_SEED", "1").env("OXSHMEM_EMULATED_DEVICES", "2");
    if !bench.full {
        random.args(["2", "3"]);
    }
    for command in [&mut in_turn, &mut random] {
        if bench.full {
            command.env("OXSHMEM_TEST_FULL", "1");
        }
        pass_through(command.env("OXSHMEM_DEVICE", "emulated"))?;
    }
    Ok(Outcome::Passed("emulated, 2 orders of threads".to_owned()))
}

/// Kernels of which it is known what the checker must report, and litmus shapes under all schedules; then the shipped
/// examples, the conformance suite and a part of that of collective operations under it, which are clean.
pub(super) fn checker(bench: &Bench) -> Result<Outcome> {
    let mut tests = bench.whole_system_tests();
    tests.args(["--release", "--test", "checker"]);
    let finished = show(&mut tests)?;
    let programs = bench.checkout.build_programs()?;
    let seeds: u32 = if bench.full { 20 } else { 3 };
    for (program, arguments, pes) in CHECKED {
        let mut command = start::command(&programs.join(program));
        command.args(*arguments).env("OXSHMEM_CHECK", "1").env("OXSHMEM_PES", pes);
        pass_through(command.env("OXSHMEM_CHECK_SEEDS", seeds.to_string()))?;
    }
    // One for each way in which a seed treats updates.
    for (program, runs, usual) in [("conformance", &CONFORMANCE[..], 2), ("collectives", &COLLECTIVES[..], 3)]
    {
        for (pes, seed) in if bench.full { runs } else { &runs[..usual] } {
            let mut command = start::command(&programs.join(program));
            pass_through(command.arg(pes).env("OXSHMEM_CHECK", "1").env("OXSHMEM_CHECK_SEED", seed))?;
        }
    }
    Ok(Outcome::Passed(finished.stdout.lines().next_back().unwrap_or_default().to_owned()))
}

/// Programs that the checker finds clean, their arguments and PEs.
const CHECKED: &[(&str, &[&str], &str)] = &[
    ("ring-shift", &["1000", "64"], "3"),
    ("ring-shift", &["1", "32"], "1"),
    ("jacobi", &["64", "24", "6", "3"], "1"),
    ("jacobi", &["64", "24", "6", "3"], "3"),
];

/// PEs and seeds of the conformance suite under the checker.
const CONFORMANCE: [(&str, &str); 6] =
    [("1", "1"), ("2", "1"), ("2", "2"), ("2", "3"), ("3", "2"), ("3", "3")];

/// The same of the suite of collective operations: a seed chooses rows, too.
const COLLECTIVES: [(&str, &str); 7] =
    [("2", "1"), ("3", "2"), ("3", "3"), ("1", "4"), ("2", "5"), ("3", "6"), ("5", "7")];

/// Threads in turn with one device per PE, then in pseudo-random orders on one device for all PEs, where those twins show
/// something that lack a barrier or an atomic.
pub(super) fn litmus(bench: &Bench) -> Result<Outcome> {
    let program = bench.checkout.build_programs()?.join("litmus");
    let mut in_turn = start::command(&program);
    pass_through(in_turn.env("OXSHMEM_DEVICE", "emulated"))?;
    let seeds: u32 = if bench.full { 20 } else { 1 };
    for seed in 1..=seeds {
        let mut random = start::command(&program);
        random.args(["20", "2", "4"]).env("OXSHMEM_DEVICE", "emulated");
        random.env("OXSHMEM_EMULATED_SEED", seed.to_string()).env("OXSHMEM_EMULATED_DEVICES", "1");
        pass_through(&mut random)?;
    }
    Ok(Outcome::Passed(format!("emulated, {} orders of threads", 1 + seeds)))
}

/// A folder outside the workspace that is removed in the end.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("oxshmem-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays in the system's place for temporary files harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A new package builds and runs outside the workspace, and a change in its kernel changes the result.
pub(super) fn new(bench: &Bench) -> Result<Outcome> {
    let scratch = Scratch::new("new")?;
    let folder = scratch.0.join("first-steps");
    packages::new(&bench.checkout, "first-steps", Some(&folder))?;
    for (name, place) in [("first-steps", &folder), ("fn", &scratch.0.join("other"))] {
        let error = packages::new(&bench.checkout, name, Some(place)).err();
        let error = error.with_context(|| format!("`{name}` was made in {}", place.display()))?;
        ensure!(error.is::<Refused>(), "an unexpected error: {error:#}");
        println!("refused, as it should be: {error}");
    }
    checkout::build(checkout::cargo_in(&folder).arg("build"), "building the new package")?;
    run_package(&folder, "[0, 10, 20]")?;
    kernels::change_kernel(&folder)?;
    checkout::build(
        checkout::cargo_in(&folder).arg("build"),
        "building it again after a change in its kernel",
    )?;
    run_package(&folder, "[0, 11, 22]")?;
    Ok(Outcome::Passed("built, run, changed, run again".to_owned()))
}

fn run_package(folder: &Path, expected: &str) -> Result<()> {
    let mut cargo = checkout::cargo_in(folder);
    cargo.args(["run", "--quiet"]).env("OXSHMEM_PES", "3").env("OXSHMEM_DEVICE", "emulated");
    let finished = show(&mut cargo)?;
    let right = |line: &&str| line.contains(expected) && line.contains("verified yes");
    let lines = finished.stdout.lines().filter(right).count();
    ensure!(lines == 3, "3 PEs should have received {expected}, and {lines} said so");
    Ok(())
}

/// Runs a command that must succeed, and shows what it prints.
fn show(command: &mut Command) -> Result<Finished> {
    let finished = process::run(command, Some(LIMIT * 3), &mut |stream, line| match stream {
        Stream::Out => println!("{line}"),
        Stream::Err => eprintln!("{line}"),
    })?;
    ensure!(finished.ok(), "`{}` {}", process::shown(command), finished.verdict());
    Ok(finished)
}

/// A bundle runs elsewhere, without the checkout's help.
pub(super) fn bundle(bench: &Bench) -> Result<Outcome> {
    let scratch = Scratch::new("bundle")?;
    let bundle = bundles::bundle(&bench.checkout, Some(&scratch.0.join("bundle")))?;
    let elsewhere = scratch.0.join("elsewhere");
    fs::create_dir(&elsewhere)?;
    for what in ["demo", "test"] {
        let mut run = Command::new(bundle.join("run"));
        // An empty environment but for these: no cargo, no rustup, no home.
        run.arg(what).current_dir(&elsewhere).env_clear().env("PATH", "/usr/bin:/bin");
        show(run.env("OXSHMEM_DEVICE", "emulated"))?;
    }
    if bench.ptx {
        let manifest = fs::read_to_string(bundle.join("MANIFEST"))?;
        ensure!(!manifest.contains("no PTX"), "a program of the bundle holds no PTX:\n{manifest}");
    }
    Ok(Outcome::Passed("made, and run from another folder".to_owned()))
}
