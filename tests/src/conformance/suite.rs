//! What the rules share: the report, the buffers, and launching on every PE.

use oxshmem::{DeviceVec, Result, Shmem, SymVec};
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::{LaunchConfig, Signal};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows run and what failed, over all PEs.
#[derive(Debug, Default)]
pub(super) struct Report {
    rows: AtomicU64,
    rules: Mutex<BTreeMap<&'static str, u64>>,
    failures: Mutex<Vec<String>>,
}

impl Report {
    /// Counts a row of `rule`; called by one PE.
    pub(super) fn row(&self, rule: &'static str) {
        self.rows.fetch_add(1, Ordering::Relaxed);
        *lock(&self.rules).entry(rule).or_default() += 1;
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Records a failure.
    pub(super) fn fail(&self, what: String) {
        lock(&self.failures).push(what);
    }

    /// Prints the rules, the failures and the totals.
    pub(super) fn finish(&self) -> ExitCode {
        let rules = lock(&self.rules);
        for (rule, rows) in rules.iter() {
            println!("rule {rule}: {rows} rows");
        }
        let failures = lock(&self.failures);
        for failure in failures.iter().take(50) {
            println!("FAILED {failure}");
        }
        let (rows, failed) = (self.rows(), failures.len() as u64);
        println!("{} rules, {rows} rows, {failed} failed", rules.len());
        println!("{} passed, {failed} failed", rows.saturating_sub(failed));
        if failed == 0 && rows > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Elements in the buffers of a [`Bench`], of 16 bytes at most.
pub(super) const ROOM: usize = 5000;

/// One PE's buffers, and where it reports.
pub(super) struct Bench<'a> {
    /// The context.
    pub shmem: &'a Shmem,
    /// The shared report.
    pub report: &'a Report,
    /// Four signals.
    pub signals: SymVec<Signal>,
}

impl<'a> Bench<'a> {
    /// Allocates; collective.
    pub(super) fn new(shmem: &'a Shmem, report: &'a Report) -> Result<Self> {
        Ok(Self { shmem, report, signals: shmem.alloc_signals(4)? })
    }

    /// Signals back to 0; collective.
    pub(super) fn reset_signals(&self) -> Result<()> {
        for i in 0..self.signals.len() {
            self.signals.set(i, 0)?;
        }
        self.shmem.barrier_all()
    }

    /// The PE after this one, and the one before.
    pub(super) fn neighbours(&self) -> (u32, u32) {
        let (me, n) = (self.shmem.my_pe(), self.shmem.n_pes());
        ((me + 1) % n, (me + n - 1) % n)
    }

    /// Launches, waits for all PEs, and checks: `expected` against `seen`, on this PE.
    pub(super) fn row<T: PartialEq + std::fmt::Debug>(
        &self,
        rule: &'static str,
        what: impl Fn() -> String,
        launch: impl FnOnce() -> Result<()>,
        seen: impl FnOnce() -> Result<Vec<T>>,
        expected: impl Fn(usize) -> T,
    ) -> Result<()> {
        self.shmem.barrier_all()?;
        launch()?;
        self.shmem.barrier_all()?;
        let seen = seen()?;
        let wrong = seen.iter().enumerate().find(|&(i, value)| *value != expected(i));
        if let Some((i, value)) = wrong {
            let (me, n) = (self.shmem.my_pe(), self.shmem.n_pes());
            let (rule, what, expected) = (rule, what(), expected(i));
            self.report
                .fail(format!("{rule}: {what}, PE {me} of {n}: element {i} is {value:?}, not {expected:?}"));
        }
        if self.shmem.my_pe() == 0 {
            self.report.row(rule);
        }
        Ok(())
    }

    /// A symmetric vector of [`ROOM`] zeros; collective.
    pub(super) fn symmetric<T: Pod>(&self) -> Result<SymVec<T>> {
        self.shmem.alloc_zeroed(ROOM)
    }

    /// Local zeros.
    pub(super) fn local<T: Pod>(&self, elements: usize) -> Result<DeviceVec<T>> {
        self.shmem.device_zeroed(elements)
    }
}

/// Two blocks of 96 threads: three full warps a block.
pub(super) const TWO_BLOCKS: LaunchConfig = LaunchConfig::blocks(2).threads(96);
/// Two blocks of 70 threads: the last warp has 6.
pub(super) const RAGGED: LaunchConfig = LaunchConfig::blocks(2).threads(70);
