//! What the rules share: the report, the buffers, and launching on every PE.

use super::coverage::Coverage;
use super::element::Element;
use crate::kernels::scope;
use oxshmem::{DeviceVec, Result, Shmem, SymVec};
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::{LaunchConfig, Signal};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Checks made and what failed, over all PEs.
#[derive(Debug, Default)]
pub(super) struct Report {
    checks: AtomicU64,
    /// Rows: a rule at a scope, and how many checks of it there were.
    rows: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    failures: Mutex<Vec<String>>,
}

impl Report {
    /// Counts a check of `rule` at `scope`; called by one PE.
    pub(super) fn check(&self, rule: &'static str, scope: &'static str) {
        self.checks.fetch_add(1, Ordering::Relaxed);
        *lock(&self.rows).entry((rule, scope)).or_default() += 1;
    }

    /// Checks so far.
    pub(super) fn checks(&self) -> u64 {
        self.checks.load(Ordering::Relaxed)
    }

    /// Records a failure.
    pub(super) fn fail(&self, what: String) {
        lock(&self.failures).push(what);
    }

    /// Prints the rules, the failures and the totals. `called` is what the scan of the public functions found.
    pub(super) fn finish(&self, called: &Coverage) -> ExitCode {
        let rows = lock(&self.rows);
        let mut rules: BTreeMap<&str, (Vec<&str>, u64)> = BTreeMap::new();
        for (&(rule, scope), checks) in rows.iter() {
            let (scopes, sum) = rules.entry(rule).or_default();
            scopes.push(scope);
            *sum += checks;
        }
        for (rule, (scopes, checks)) in &rules {
            println!("rule {rule}: {}, {checks} checks", scopes.join(" "));
        }
        let failures = lock(&self.failures);
        for failure in failures.iter().take(50) {
            println!("FAILED {failure}");
        }
        for function in called.missing {
            println!("NOT CALLED {function}");
        }
        let (checks, failed) = (self.checks(), failures.len() as u64);
        println!("{} rules", rules.len());
        println!("{} rows, {failed} failed", rows.len());
        println!("public functions {}, called {}", called.public, called.public - called.missing.len());
        println!("{} passed, {failed} failed", checks.saturating_sub(failed));
        if failed == 0 && checks > 0 && called.missing.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Under which rows count that belong to no scope.
pub(super) const NO_SCOPE: &str = "-";

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
    /// The scope that rows are counted under.
    scope: Cell<&'static str>,
}

impl<'a> Bench<'a> {
    /// Allocates; collective.
    pub(super) fn new(shmem: &'a Shmem, report: &'a Report) -> Result<Self> {
        Ok(Self { shmem, report, signals: shmem.alloc_signals(4)?, scope: Cell::new(NO_SCOPE) })
    }

    /// The scopes, as kernels number them, and their names. Rows count under the one that was given last, and under
    /// none once all were.
    pub(super) fn scopes(&self) -> impl Iterator<Item = (u32, &'static str)> + use<'_, 'a> {
        self.scopes_of(&scope::ALL)
    }

    /// As [`scopes`](Self::scopes), of some.
    pub(super) fn scopes_of<'s>(
        &'s self,
        scopes: &'s [(u32, &'static str)],
    ) -> impl Iterator<Item = (u32, &'static str)> + 's {
        let scopes = scopes.iter().copied().map(Some).chain([None]);
        scopes.map_while(|scope| {
            self.scope.set(scope.map_or(NO_SCOPE, |(_, name)| name));
            scope
        })
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
            self.report.check(rule, self.scope.get());
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

/// Three symmetric vectors of one length: a source, where it is sent, and what a kernel saw there.
pub(super) struct Vecs {
    /// Where.
    pub dst: SymVec<u32>,
    /// From where.
    pub src: SymVec<u32>,
    /// What was seen.
    pub seen: SymVec<u32>,
}

impl Vecs {
    /// Allocates; collective.
    pub(super) fn new(shmem: &Shmem, len: usize) -> Result<Self> {
        let vec = || shmem.alloc_zeroed::<u32>(len);
        Ok(Self { dst: vec()?, src: vec()?, seen: vec()? })
    }

    /// The source is `pe`'s and `round`'s, the others are zero.
    pub(super) fn fill(&self, pe: u32, round: u32) -> Result<()> {
        self.src.write(&(0..self.src.len()).map(|i| u32::value(pe, i, round)).collect::<Vec<_>>())?;
        self.dst.fill(0)?;
        self.seen.fill(0)
    }

    /// Frees; collective.
    pub(super) fn free(self, shmem: &Shmem) -> Result<()> {
        [self.dst, self.src, self.seen].into_iter().try_for_each(|vec| shmem.free(vec))
    }
}

/// Two blocks of 96 threads: three full warps a block.
pub(super) const TWO_BLOCKS: LaunchConfig = LaunchConfig::blocks(2).threads(96);
/// Two blocks of 70 threads: the last warp has 6.
pub(super) const RAGGED: LaunchConfig = LaunchConfig::blocks(2).threads(70);
