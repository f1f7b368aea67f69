//! The shape of a world's launches, and what searches see.

use super::{Finding, Kind, Profile};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks and threads of a launch, and the dynamic shared memory of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldGrid {
    /// Blocks.
    pub blocks: u32,
    /// Threads per block.
    pub threads: u32,
    /// Bytes of shared memory per block.
    pub shared: u32,
}

impl WorldGrid {
    /// `blocks` blocks of `threads` threads.
    pub const fn of(blocks: u32, threads: u32) -> Self {
        Self { blocks, threads, shared: 0 }
    }

    /// With so many bytes of dynamic shared memory per block.
    #[must_use]
    pub const fn shared(self, shared: u32) -> Self {
        Self { shared, ..self }
    }
}

/// Values that kernel threads leave for the host: `UNSET` at the start of every run.
#[derive(Clone, Debug)]
pub struct Registers(pub(super) Arc<[AtomicU64]>);

impl Registers {
    /// What a register holds that nobody set.
    pub const UNSET: u64 = u64::MAX;

    /// Sets register `index`. An index that there is none for is ignored.
    pub fn set(&self, index: usize, value: u64) {
        if let Some(register) = self.0.get(index) {
            register.store(value, Ordering::Relaxed);
        }
    }

    pub(super) fn reset(&self) {
        self.0.iter().for_each(|register| register.store(Self::UNSET, Ordering::Relaxed));
    }

    pub(super) fn values(&self) -> Vec<u64> {
        self.0.iter().map(|register| register.load(Ordering::Relaxed)).collect()
    }
}

/// How an exhaustive search is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Which rules.
    pub profile: Profile,
    /// Most runs.
    pub runs: u64,
}

/// What an exhaustive search saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// How many runs there were.
    pub runs: u64,
    /// Whether every schedule was covered.
    pub complete: bool,
    /// The registers, then the watched words, after each run that ended; and how many runs ended so.
    pub outcomes: BTreeMap<Vec<u64>, u64>,
    /// The kinds of all findings.
    pub kinds: BTreeSet<Kind>,
    /// Each finding once.
    pub findings: Vec<Finding>,
}
