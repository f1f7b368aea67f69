//! One pair, run and judged.

use crate::marker::Lines;
use crate::spread::caught;
use crate::table;
use oxshmem_checked::pairs::{Kernel, Pair};
use oxshmem_emulator::check::{CheckOptions, Finding, Kind, Report, Schedule, World};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Schedules of a kernel.
const SEEDS: u32 = 200;
/// Schedules of a correct kernel in the full suite.
const SEEDS_IN_FULL: u32 = 2_000;
/// Processor time after which a broken kernel that comes to no operation is taken to run for ever.
const PATIENCE: Duration = Duration::from_millis(250);

/// What was seen of a pair.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Of the broken kernel.
    pub(crate) broken: Verdict,
    /// Of the correct kernel.
    pub(crate) correct: Verdict,
    /// The seed at which the broken one was reported as it must be.
    seed: Option<u32>,
}

/// What was seen of a kernel.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// The name of the kind that was reported: the expected one, else the first; or one of [`table`]'s other columns.
    pub(crate) reported: &'static str,
    /// What is wrong with that.
    pub(crate) problem: Option<String>,
}

impl Seen {
    /// What is wrong with the two kernels.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &String> {
        [&self.broken.problem, &self.correct.problem].into_iter().flatten()
    }

    /// When the broken kernel was caught, for the list of pairs.
    pub(crate) fn caught(&self) -> String {
        self.seed.map_or("not caught".to_owned(), |seed| format!("seed {seed}"))
    }
}

/// Runs both kernels of a pair; the correct one under more schedules in the full suite.
pub(crate) fn run(pair: &Pair, full: bool) -> Seen {
    let failed = |which: &str, problem: String| {
        let problem = Some(format!("{}, {which}: {problem}", pair.name));
        Verdict { reported: table::NOT_RUN, problem }
    };
    let (broken, seed) = match caught(|| run_broken(pair)).and_then(|result| result) {
        Ok(seen) => seen,
        Err(problem) => (failed("broken", problem), None),
    };
    let seeds = if full { SEEDS_IN_FULL } else { SEEDS };
    let correct = caught(|| run_correct(pair, seeds)).and_then(|result| result);
    Seen { broken, correct: correct.unwrap_or_else(|problem| failed("correct", problem)), seed }
}

/// Runs the broken kernel, one seed after the other, until it is reported as it must be.
fn run_broken(pair: &Pair) -> Result<(Verdict, Option<u32>), String> {
    let lines = Lines::of(pair)?;
    let (mut world, kernel) = make(pair, true)?;
    let mut others: Vec<Finding> = Vec::new();
    let mut seed = 0;
    // One that runs for ever does so under every schedule, and each takes its time.
    while seed < SEEDS && others.iter().all(|other| other.kind != Kind::NoProgress) {
        seed += 1;
        let options = CheckOptions { patience: PATIENCE, ..options(seed, 1) };
        let report = check(&mut world, pair, &kernel, &options);
        for (finding, _) in report.findings {
            if finding.kind == pair.kind && lines.named_by(&finding) {
                return Ok((Verdict { reported: pair.kind.name(), problem: None }, Some(seed)));
            }
            if others.iter().all(|other| other.key() != finding.key()) {
                others.push(finding);
            }
        }
    }
    let problem = format!(
        "{}, broken: expected {} at {lines}, saw {} in {seed} schedules",
        pair.name,
        pair.kind,
        places(&others)
    );
    let reported = others.first().map_or(table::NOTHING, |finding| finding.kind.name());
    Ok((Verdict { reported, problem: Some(problem) }, None))
}

/// Runs the correct kernel, of which nothing may be reported.
fn run_correct(pair: &Pair, seeds: u32) -> Result<Verdict, String> {
    let (mut world, kernel) = make(pair, false)?;
    let report = check(&mut world, pair, &kernel, &options(1, seeds));
    let Some((first, schedule)) = report.findings.first() else {
        return Ok(Verdict { reported: table::NOTHING, problem: None });
    };
    let findings: Vec<_> = report.findings.iter().map(|(finding, _)| finding.clone()).collect();
    let problem =
        format!("{}, correct: expected nothing, saw {}, first by {schedule:?}", pair.name, places(&findings));
    Ok(Verdict { reported: first.kind.name(), problem: Some(problem) })
}

fn make(pair: &Pair, broken: bool) -> Result<(World, Arc<Kernel>), String> {
    let mut world = World::new(pair.pes).map_err(|error| error.to_string())?;
    let kernel = Arc::new((pair.make)(&mut world, broken));
    Ok((world, kernel))
}

/// So many schedules, from this seed on.
fn options(first: u32, seeds: u32) -> CheckOptions {
    CheckOptions { schedule: Schedule::Seed(first.into()), seeds, minimise: false, ..CheckOptions::default() }
}

fn check(world: &mut World, pair: &Pair, kernel: &Arc<Kernel>, options: &CheckOptions) -> Report {
    let kernel = Arc::clone(kernel);
    world.check(options, pair.grid, move |shmem| kernel(shmem))
}

/// Kinds and places of findings, on one line.
fn places(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let waits = finding.waiters.iter().map(|waiter| &waiter.place);
        let places = [&finding.first, &finding.second].into_iter().flatten().chain(waits);
        let places: Vec<_> = places.map(|place| place.location.to_string()).collect();
        let between = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{between}{} at {}", finding.kind, places.join(" and "));
    }
    if text.is_empty() { "nothing".to_owned() } else { text }
}
