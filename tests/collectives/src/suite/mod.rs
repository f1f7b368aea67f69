//! The suite. A row is a collective operation by a scope, with an element type, an operator, a number of PEs, a count, teams,
//! source and target apart or the same memory, and a place in memory. Every row is checked on every PE by what is in memory
//! afterwards: results, what must stay as it was, and the elements around.
//!
//! | file | what it holds |
//! |---|---|
//! | `axes` | the axes, and which rows there are |
//! | `covering` | rows in which every two values of different axes meet |
//! | `expected` | what a row must give, computed by the host |
//! | `case` | one row |
//! | `follow` | schedules that a kernel follows |
//! | `long` | many operations one behind the other, many teams, several operations at once |

mod axes;
mod case;
mod covering;
mod expected;
mod follow;
mod long;

use axes::{Extent, PES, Row};
use oxshmem::{Config, Result, Shmem};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Hardware queues for the streams of a GPU, unless the environment says how many: with fewer, PEs that share a GPU would hold
/// each other's streams back (CUDA C++ Programming Guide, environment variables).
const CONNECTIONS: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// What was checked, and what was wrong.
#[derive(Debug, Default)]
pub(crate) struct Report {
    passed: AtomicU64,
    failures: Mutex<Vec<String>>,
}

impl Report {
    pub(crate) fn judge(&self, what: impl FnOnce() -> String, wrong: Option<String>) {
        match wrong {
            None => drop(self.passed.fetch_add(1, Ordering::Relaxed)),
            Some(wrong) => self.fail(format!("{}: {wrong}", what())),
        }
    }

    pub(crate) fn fail(&self, what: String) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    fn failed(&self) -> usize {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Runs the suite with the numbers of PEs in the arguments (default 1, 2, 3, 4, 5 and 8); with `OXSHMEM_TEST_FULL` every row
/// there is. Under the checker (`OXSHMEM_CHECK=1`) a part of the rows, which the seed chooses, so that all are run by so many
/// seeds as it is a part.
pub fn main() -> ExitCode {
    if std::env::var_os(CONNECTIONS).is_none() {
        // SAFETY: the program has no other thread yet.
        unsafe { std::env::set_var(CONNECTIONS, "32") };
    }
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let numbers = if numbers.is_empty() { PES.to_vec() } else { numbers };
    let extent = Extent::from_env();
    let report = Report::default();
    let covering = covering::rows();
    println!("covering array: {} rows, {} pairs of values of two axes", covering.rows.len(), covering.pairs);
    if covering.missing > 0 {
        report.fail(format!("{} pairs of values are in no row", covering.missing));
    }
    for n in numbers {
        let mut rows: Vec<Row> = covering.rows.iter().filter(|row| row.pes() == n).copied().collect();
        if !PES.contains(&n) {
            // Of another number of PEs every row.
            rows = covering.rows.clone();
        }
        rows.extend(axes::product(n, extent));
        rows = extent.of(rows);
        let (start, before) = (Instant::now(), report.passed.load(Ordering::Relaxed));
        let result = Config::from_env()
            .and_then(|config| config.pes(n).run(|shmem| all(&shmem, &rows, &report, extent)));
        if let Err(error) = result {
            report.fail(format!("{n} PEs: {error}"));
        }
        let checks = report.passed.load(Ordering::Relaxed) - before;
        println!("{n} PEs: {} rows, {checks} checks in {:.1} s", rows.len(), start.elapsed().as_secs_f64());
    }
    for failure in report.failures.lock().unwrap_or_else(PoisonError::into_inner).iter().take(40) {
        println!("FAILED {failure}");
    }
    let (passed, failed) = (report.passed.load(Ordering::Relaxed), report.failed());
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn all(shmem: &Shmem, rows: &[Row], report: &Report, extent: Extent) -> Result<()> {
    if shmem.my_pe() == 0 {
        println!("device: {}", shmem.device_name());
    }
    let mut bench = case::Bench::new(shmem, report)?;
    for row in rows {
        bench.run(row)?;
    }
    bench.operators(extent)?;
    bench.end()?;
    follow::all(shmem, report, extent)?;
    long::all(shmem, report, extent)
}
