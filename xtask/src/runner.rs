//! Runs a table of steps: each with its time limit, its output shown, what it says checked, and a summary at the end.
//!
//! A step that fails never stops the others. It is what `./run` of a bundle does, and what `cargo xtask demo`, `test --gpu`
//! and `bench` call.

use std::path::Path;

use anyhow::{Result, bail};

use crate::machine::{Device, Machine};
use crate::process::{Finished, Stream};
use crate::say::seconds;
use crate::start;
use crate::steps::{Reads, Step};

/// Which steps of a table run: every `of`-th, from the `index`-th on (from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 1 to `of`.
    pub index: usize,
    /// Into how many parts the table is split.
    pub of: usize,
}

impl Part {
    /// The whole table.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    fn has(self, position: usize) -> bool {
        position % self.of == self.index - 1
    }
}

impl std::str::FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((index, of)) if 1 <= index && index <= of => Ok(Self { index, of }),
            _ => Err(format!("a part looks like 1/3, from 1 on, and {text:?} does not")),
        }
    }
}

/// What became of the steps.
#[derive(Debug, Default)]
pub struct Summary {
    /// Steps that did what they should.
    pub passed: usize,
    /// Why each failed step did, with its command.
    pub failed: Vec<String>,
    /// Why each skipped step was, with its command.
    pub skipped: Vec<String>,
}

impl Summary {
    /// Prints the failures, the skipped steps with their reasons, and the count as the last line.
    ///
    /// # Errors
    /// If a step failed, or none passed.
    pub fn print(&self) -> Result<()> {
        for failure in &self.failed {
            println!("FAILED: {failure}");
        }
        for skipped in &self.skipped {
            println!("skipped: {skipped}");
        }
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed.len(), self.skipped.len());
        if !self.failed.is_empty() {
            bail!("{} of {} steps failed", self.failed.len(), self.failed.len() + self.passed);
        }
        if self.passed == 0 && self.skipped.is_empty() {
            bail!("no step ran");
        }
        Ok(())
    }
}

/// Runs the steps of the part. `seen` is given each step that passed, with its output.
///
/// # Errors
/// Only if `seen` does: a step that fails is counted.
pub fn run(
    steps: &[Step],
    programs: &Path,
    machine: &Machine,
    part: Part,
    seen: &mut dyn FnMut(&Step, &Finished) -> Result<()>,
) -> Result<Summary> {
    let mut summary = Summary::default();
    let mine = steps.iter().enumerate().filter(|(position, _)| part.has(*position));
    for (_, step) in mine {
        let there = machine.gpus.gpus.len();
        if machine.device == Device::Cuda && there < step.gpus {
            summary.skipped.push(format!("{}: needs {} GPUs, {there} here", step.shown(), step.gpus));
            continue;
        }
        match run_one(step, programs, machine) {
            Ok(finished) => {
                seen(step, &finished)?;
                summary.passed += 1;
            }
            Err(why) => {
                eprintln!("FAILED: {}: {why}", step.shown());
                summary.failed.push(format!("{}: {why}", step.shown()));
            }
        }
    }
    Ok(summary)
}

/// Runs one step; its standard output is shown as it comes, its error stream if it fails.
fn run_one(step: &Step, programs: &Path, machine: &Machine) -> Result<Finished> {
    let finished = start::run(step, programs, machine.device, &mut |stream, line| {
        if stream == Stream::Out {
            println!("{line}");
        }
    })?;
    let verdict = judge(step, &finished);
    if verdict.is_err() {
        eprint!("{}", finished.stderr);
    }
    verdict.map(|()| finished)
}

fn judge(step: &Step, finished: &Finished) -> Result<()> {
    if !finished.ok() {
        let last = |text: &'_ str| text.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned);
        let said = last(&finished.stderr).or_else(|| last(&finished.stdout));
        bail!("{} ({})", finished.verdict(), said.as_deref().unwrap_or("it said nothing"));
    }
    if !matches!(step.reads, Reads::Verified | Reads::Sent { .. } | Reads::Iterations(_)) {
        return Ok(());
    }
    let verified = finished.stdout.lines().filter(|line| line.contains("verified yes")).count();
    if verified == 0 || finished.stdout.contains("verified no") {
        bail!("it did not say `verified yes` in {}", seconds(finished.time));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{self, Gpus};
    use std::env;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use crate::steps::Start;

    fn step(reads: Reads, limit: Duration) -> Step {
        let steps = crate::steps::demo(&Machine::emulated());
        Step { reads, limit, ..steps[0].clone() }
    }

    /// Runs a shell script in the place of the step's program.
    fn verdict(name: &str, script: &str, step: Step) -> Summary {
        let folder = env::temp_dir().join(format!("oxshmem-runner-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let program = folder.join(step.program);
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
        let summary =
            run(&[step], &folder, &Machine::emulated(), Part::WHOLE, &mut |_, _| Ok(())).expect("it runs");
        fs::remove_dir_all(&folder).expect("the folder is removed");
        summary
    }

    #[test]
    fn a_step_passes_only_if_it_says_so() {
        let minute = Duration::from_secs(60);
        let cases = [
            ("yes", "echo verified yes", true),
            ("no", "echo verified no", false),
            ("both", "echo verified yes; echo verified no", false),
            ("silent", "true", false),
            ("code", "echo verified yes; exit 1", false),
            ("signal", "echo verified yes; kill -9 $$", false),
        ];
        for (name, script, passes) in cases {
            let summary = verdict(name, script, step(Reads::Verified, minute));
            assert_eq!(summary.passed == 1, passes, "{name}");
            assert_eq!(summary.failed.len() + summary.passed, 1, "{name}");
        }
    }

    #[test]
    fn each_process_of_a_step_must_succeed_and_has_a_rank_of_its_own() {
        let step = Step { start: Start::Torchrun, pes: 3, ..step(Reads::Verified, Duration::from_secs(60)) };
        let run = |name: &str, script: &str| verdict(name, script, step.clone());
        let ranks =
            "[ $RANK$LOCAL_RANK$WORLD_SIZE$LOCAL_WORLD_SIZE = ${RANK}${RANK}33 ] && [ -n \"$MASTER_PORT\" ]";
        assert_eq!(run("ranks", &format!("[ $RANK -gt 0 ] || echo verified yes; {ranks}")).passed, 1);
        assert_eq!(run("one fails", "echo verified yes; exit $((RANK == 1))").passed, 0);
    }

    #[test]
    fn a_step_that_hangs_is_ended_and_says_so() {
        let summary = verdict("hang", "sleep 60", step(Reads::Nothing, Duration::from_millis(200)));
        assert!(summary.failed[0].contains("time limit"), "{}", summary.failed[0]);
    }

    #[test]
    fn a_missing_program_is_a_failed_step() {
        let step = step(Reads::Nothing, Duration::from_secs(1));
        let summary =
            run(&[step], Path::new("/nonexistent"), &Machine::emulated(), Part::WHOLE, &mut |_, _| Ok(()));
        assert_eq!(summary.expect("it goes on").failed.len(), 1);
    }

    #[test]
    fn parts_cover_the_table_once() {
        let parts: Vec<Part> = (1..=3).map(|k| format!("{k}/3").parse().expect("a part")).collect();
        for position in 0..10 {
            assert_eq!(parts.iter().filter(|part| part.has(position)).count(), 1);
        }
        for wrong in ["0/3", "4/3", "3", "a/b", "1/0"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_step_that_needs_more_gpus_is_skipped_with_the_reason() {
        let gpu = gpu::Gpu { name: "G".into(), capability: (9, 0), memory: 1, ..gpu::Gpu::default() };
        let gpus = Gpus { gpus: vec![gpu], ..Gpus::default() };
        let machine = Machine { device: Device::Cuda, gpus, mps: false };
        let step = Step { gpus: 4, ..step(Reads::Nothing, Duration::from_secs(1)) };
        let summary =
            run(&[step], Path::new("/"), &machine, Part::WHOLE, &mut |_, _| Ok(())).expect("it runs");
        assert!(summary.skipped[0].contains("needs 4 GPUs, 1 here"), "{}", summary.skipped[0]);
    }
}
