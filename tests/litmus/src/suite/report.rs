//! Rows, what the twins showed, and the verdict.

use super::shapes::SHAPES;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What one launch counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Rounds that every PE of a group went through, over all groups.
    pub(super) rounds: u64,
    /// Those in which a PE saw the forbidden outcome; more than one PE may have.
    pub(super) violations: u64,
}

/// One line of the output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) shape: &'static str,
    pub(super) pes: u32,
    pub(super) delays: bool,
    /// Rounds that should have been played.
    pub(super) asked: u64,
    pub(super) right: Count,
    pub(super) twin: Count,
}

impl Row {
    /// What is wrong with it.
    fn failure(&self) -> Option<String> {
        let Self { asked, right, twin, .. } = self;
        if right.violations > 0 {
            Some(format!("{} violations in {} rounds", right.violations, right.rounds))
        } else if right.rounds != *asked || twin.rounds != *asked {
            Some(format!(
                "{asked} rounds were asked for, {} were played, and {} by the twin",
                right.rounds, twin.rounds
            ))
        } else {
            None
        }
    }
}

/// All rows, over all numbers of PEs.
#[derive(Debug, Default)]
pub(super) struct Report(Mutex<Totals>);

#[derive(Debug, Default)]
struct Totals {
    passed: u64,
    failures: Vec<String>,
    violations: u64,
    /// Shapes that ran.
    shapes: BTreeSet<&'static str>,
    /// Shapes whose twin showed the outcome.
    shown: BTreeSet<&'static str>,
}

impl Report {
    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a row and counts it; called by one PE.
    pub(super) fn row(&self, row: Row) {
        let Row { shape, pes, right, twin, .. } = row;
        let delays = if row.delays { "yes" } else { "no" };
        println!(
            "{shape:42} PEs {pes}  delays {delays:3}  rounds {}  violations {}  twin: {} of {} rounds",
            right.rounds, right.violations, twin.violations, twin.rounds
        );
        let mut totals = self.totals();
        totals.shapes.insert(shape);
        totals.violations += right.violations;
        if twin.violations > 0 {
            totals.shown.insert(shape);
        }
        match row.failure() {
            None => totals.passed += 1,
            Some(why) => totals.failures.push(format!("{shape}, {pes} PEs, delays {delays}: {why}")),
        }
    }

    /// Records what kept rows from being run.
    pub(super) fn fail(&self, what: String) {
        self.totals().failures.push(what);
    }

    /// Prints the totals.
    pub(super) fn finish(&self) -> ExitCode {
        let totals = self.totals();
        for shape in totals.shapes.difference(&totals.shown) {
            println!("twin not seen: {shape}");
        }
        for failure in &totals.failures {
            println!("FAILED {failure}");
        }
        let (passed, failed) = (totals.passed, totals.failures.len() as u64);
        let shapes = totals.shapes.len();
        println!(
            "{shapes} of {} shapes, {} rows, {} violations",
            SHAPES.len(),
            passed + failed,
            totals.violations
        );
        println!("twins: {} of {shapes} showed the violation", totals.shown.len());
        println!("{passed} passed, {failed} failed");
        if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fails_by_a_violation_and_by_rounds_that_are_missing_and_by_nothing_that_the_twin_shows() {
        let count = |rounds, violations| Count { rounds, violations };
        let row = |right, twin| Row { shape: "", pes: 2, delays: false, asked: 10, right, twin };
        assert_eq!(row(count(10, 0), count(10, 0)).failure(), None);
        assert_eq!(row(count(10, 0), count(10, 10)).failure(), None);
        for (right, twin) in
            [(count(10, 1), count(10, 0)), (count(0, 0), count(10, 0)), (count(10, 0), count(9, 0))]
        {
            assert!(row(right, twin).failure().is_some());
        }
    }
}
