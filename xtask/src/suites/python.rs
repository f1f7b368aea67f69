//! The suite of arrays of Python's: NumPy hands buffers by DLPack to kernels of several PEs, which are processes.

use anyhow::{Result, bail};

use super::programs::LIMIT;
use super::{Bench, Outcome};
use crate::process;
use crate::setup;
use crate::start;
use crate::steps::{LAUNCHER, LIBRARY, SCRIPT};

/// How many PEs, and elements of each array.
const RUNS: &[(&str, &str)] = &[("1", "10007"), ("2", "10007"), ("4", "1"), ("3", "0")];

/// The suite.
pub(super) fn python(bench: &Bench) -> Result<Outcome> {
    let python = match setup::numpy(bench.install)? {
        Ok(python) => python,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let programs = bench.checkout.build_programs()?;
    for (pes, elements) in RUNS {
        let mut command = start::command(&programs.join(LAUNCHER));
        command.args(["-n", pes, python]).arg(bench.checkout.root.join(SCRIPT)).arg("--library");
        command.arg(programs.join(LIBRARY)).arg(elements);
        command.env("OXSHMEM_DEVICE", "emulated").env("OXSHMEM_HEAP", "64M");
        let finished = process::run(&mut command, Some(LIMIT), &mut |_, _| {})?;
        print!("{}", finished.stdout);
        if !finished.ok() || finished.stdout.matches("verified yes").count() != 1 {
            bail!("`{}` {} and said: {}", process::shown(&command), finished.verdict(), finished.stderr);
        }
    }
    Ok(Outcome::Passed(format!("{} runs", RUNS.len())))
}
