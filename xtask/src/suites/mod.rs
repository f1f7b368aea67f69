//! `cargo xtask test`: the suites, one after another, and what became of each.

mod bootstraps;
mod build;
mod nic;
mod processes;
mod programs;
mod python;

use std::env;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::bundle;
use crate::checkout::Checkout;
use crate::process;
use crate::say::{self, seconds};
use crate::setup;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The bundle's tests on GPUs instead.
    pub gpu: bool,
    /// More seeds and sizes.
    pub full: bool,
    /// These suites only; all if empty.
    pub only: Vec<String>,
    /// Whether missing packages may be installed.
    pub install: bool,
}

/// What a suite works on.
struct Bench {
    checkout: Checkout,
    /// Whether there is a device toolchain.
    ptx: bool,
    full: bool,
    /// Whether missing packages may be installed.
    install: bool,
}

impl Bench {
    /// Cargo, with what `--full` tells the tests.
    fn cargo(&self) -> std::process::Command {
        let mut cargo = self.checkout.cargo();
        if self.full {
            cargo.env("OXSHMEM_TEST_FULL", "1");
        }
        cargo
    }

    /// `cargo test` of `oxshmem-tests`, without what takes minutes to build and has a suite of its own.
    fn whole_system_tests(&self) -> std::process::Command {
        let mut cargo = self.cargo();
        cargo.args(["test", "--package", "oxshmem-tests", "--no-default-features"]);
        cargo
    }
}

/// How a suite that did not fail ended, with a remark.
enum Outcome {
    Passed(String),
    Skipped(String),
}

type Suite = fn(&Bench) -> Result<Outcome>;

/// Every suite in the order in which they run: what fails fast comes first.
const SUITES: &[(&str, Suite)] = &[
    ("format", build::format),
    ("licences", build::licences),
    ("msrv", build::msrv),
    ("lint", build::lint),
    ("unit", build::unit),
    ("ui", build::ui),
    ("ptx", programs::ptx),
    ("conformance", programs::conformance),
    ("collectives", programs::collectives),
    ("checker", programs::checker),
    ("litmus", programs::litmus),
    ("examples", programs::examples),
    ("processes", processes::processes),
    ("faults", processes::faults),
    ("interface", processes::interface),
    ("bootstraps", bootstraps::bootstraps),
    ("nic", nic::nic),
    ("python", python::python),
    ("new", programs::new),
    ("bundle", programs::bundle),
];

/// The names of the suites.
pub fn names() -> Vec<&'static str> {
    SUITES.iter().map(|(name, _)| *name).collect()
}

struct Line {
    name: &'static str,
    verdict: &'static str,
    time: Duration,
    remark: String,
}

/// Runs the suites.
///
/// # Errors
/// If one fails; the others still run.
pub fn test(options: &Options) -> Result<()> {
    let checkout = Checkout::find()?;
    if let Some(linker) = process::on_path("cc").is_none().then_some("cc") {
        bail!("there is no {linker} on the PATH, which every build needs: `apt-get install gcc libc6-dev`");
    }
    let ptx = setup::device_toolchain(&checkout, options.install)?.is_some();
    if options.gpu {
        if !ptx {
            bail!("there is no device toolchain, so no kernel can run on a GPU");
        }
        return bundle::run(&checkout, &["test"], Some("cuda"));
    }
    if options.full && env::var_os("OXSHMEM_TEST_FULL").is_none() {
        eprintln!("--full: OXSHMEM_TEST_FULL=1");
    }
    let bench = Bench { checkout, ptx, full: options.full, install: options.install };
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let lines: Vec<Line> = SUITES
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|&(name, suite)| run(name, suite, &bench))
        .collect();
    summarize(&lines)
}

fn run(name: &'static str, suite: Suite, bench: &Bench) -> Line {
    println!("=== {name}");
    let start = Instant::now();
    let ran = suite(bench);
    let time = start.elapsed();
    let (verdict, remark) = match ran {
        Ok(Outcome::Passed(remark)) => ("passed", remark),
        Ok(Outcome::Skipped(why)) => ("skipped", why),
        Err(error) => ("FAILED", format!("{error:#}")),
    };
    println!(
        "=== {name} {verdict} in {}{}{remark}",
        seconds(time),
        if remark.is_empty() { "" } else { ": " }
    );
    Line { name, verdict, time, remark }
}

fn summarize(lines: &[Line]) -> Result<()> {
    let row = |line: &Line| {
        let first = line.remark.lines().next().unwrap_or_default().to_owned();
        vec![line.name.to_owned(), line.verdict.to_owned(), seconds(line.time), first]
    };
    println!("\n{}", say::table(&lines.iter().map(row).collect::<Vec<_>>()));
    let count = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    let (passed, failed, skipped) = (count("passed"), count("FAILED"), count("skipped"));
    let total: Duration = lines.iter().map(|line| line.time).sum();
    let also = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    println!("suites took {}", seconds(total));
    println!("{passed} passed, {failed} failed{also}");
    if failed > 0 {
        let names: Vec<&str> =
            lines.iter().filter(|line| line.verdict == "FAILED").map(|line| line.name).collect();
        bail!("failed suites: {}", names.join(", "));
    }
    Ok(())
}
