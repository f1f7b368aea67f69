//! What checked runs found, as text and as JSON.

use super::finding::{Finding, Place};
use super::options::Schedule;
use core::fmt;
use serde_json::{Value, json};

/// What checked runs found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many runs there were.
    pub runs: u64,
    /// How many operations they came to, accesses of the own memory among them.
    pub operations: u64,
    /// Each finding once, with the schedule that shows it.
    pub findings: Vec<(Finding, Schedule)>,
    /// The error of a closure that ended the runs though nothing was found in its run, with that run's schedule.
    pub error: Option<(String, Schedule)>,
}

impl Report {
    /// As JSON: `runs`, `operations`, `findings`, `error`.
    pub fn to_json(&self) -> Value {
        let findings: Vec<Value> =
            self.findings.iter().map(|(finding, schedule)| one(finding, schedule)).collect();
        let error =
            self.error.as_ref().map(|(what, again)| json!({ "what": what, "replay": again.to_string() }));
        json!({ "runs": self.runs, "operations": self.operations, "findings": findings, "error": error })
    }
}

fn one(finding: &Finding, schedule: &Schedule) -> Value {
    let waiters: Vec<Value> = finding
        .waiters
        .iter()
        .map(|waiter| {
            json!({
                "place": place(&waiter.place),
                "for": waiter.waits_for,
                "seen": waiter.seen,
                "by": waiter.by,
                "count": waiter.count,
            })
        })
        .collect();
    json!({
        "kind": finding.kind.name(),
        "what": finding.kind.what(),
        "memory": finding.memory,
        "first": finding.first.as_ref().map(place),
        "second": finding.second.as_ref().map(place),
        "detail": finding.detail,
        "remedy": finding.remedy,
        "waiters": waiters,
        "replay": schedule.to_string(),
    })
}

fn place(place: &Place) -> Value {
    json!({
        "operation": place.operation.name(),
        "writes": place.writes,
        "file": place.location.file(),
        "line": place.location.line(),
        "column": place.location.column(),
        "pe": place.pe,
        "block": place.thread.map(|(block, _)| block),
        "thread": place.thread.map(|(_, thread)| thread),
    })
}

/// As the variables of the environment that ask for it.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "OXSHMEM_CHECK=1 OXSHMEM_CHECK_SEED={seed}"),
            Self::Choices(choices) => {
                let all: Vec<String> =
                    choices.iter().map(|choice| format!("{}:{}", choice.at, choice.option)).collect();
                let all = if all.is_empty() { "none".to_owned() } else { all.join(",") };
                write!(f, "OXSHMEM_CHECK=1 OXSHMEM_CHECK_CHOICES={all}")
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (finding, schedule)) in self.findings.iter().enumerate() {
            write!(f, "{}. {finding}", number + 1)?;
            writeln!(f, "    again: {schedule}")?;
        }
        if let Some((what, schedule)) = &self.error {
            writeln!(f, "error of the program, after which no more runs were made: {what}")?;
            writeln!(f, "    again: {schedule}")?;
        }
        let s = |count: u64| if count == 1 { "" } else { "s" };
        let (runs, found) = (self.runs, self.findings.len() as u64);
        write!(f, "oxshmem checker: {runs} run{}, {} operations, ", s(runs), self.operations)?;
        match found {
            0 => f.write_str("nothing found"),
            found => write!(f, "{found} finding{}", s(found)),
        }
    }
}
