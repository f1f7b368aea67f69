//! What a checked run is asked: which rules, which schedule.

use std::time::Duration;

/// Which rules decide what is ordered. `docs/memory-model.md` states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The weakest of this library's contract, NVSHMEM's text and PTX.
    #[default]
    Oxshmem,
    /// OpenSHMEM 1.6: blocking gets and fetching atomics are complete when they return, for whoever learns of it.
    OpenShmem,
    /// As [`Oxshmem`](Self::Oxshmem), but a quiet makes data visible at its destination PE only, as NVSHMEM has it where
    /// some PEs are reached by a NIC.
    Mixed,
    /// As [`Oxshmem`](Self::Oxshmem), but a fence or strong signal covers updates of the PE that it names only, and not
    /// the caller's loads and stores of its own memory: the letter of OpenSHMEM 1.6, 9.12.1.
    Strict,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 4] = [Self::Oxshmem, Self::OpenShmem, Self::Mixed, Self::Strict];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Oxshmem => "oxshmem",
            Self::OpenShmem => "openshmem",
            Self::Mixed => "mixed",
            Self::Strict => "strict",
        }
    }

    /// The profile of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }
}

impl core::fmt::Display for Profile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// A choice that is not the default: at the `at`-th point of the run, the `option`-th option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which point, from 0.
    pub at: u64,
    /// Which option; 0 is the default.
    pub option: u32,
}

/// How a run's schedule is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Pseudo-random by this seed. The seed also picks how: updates delivered early, at random, or held back for one PE.
    Seed(u64),
    /// The default at every point (go on with the thread that runs, deliver late) but at these.
    Choices(Vec<Choice>),
}

/// What a checked run is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Which rules.
    pub profile: Profile,
    /// The schedule of the first run, or of the only one.
    pub schedule: Schedule,
    /// How many runs, with growing seeds. At least 1.
    pub seeds: u32,
    /// Whether a failing schedule is made smaller.
    pub minimise: bool,
    /// A run ends after so many scheduling steps, as one that makes no progress.
    pub steps: u64,
    /// A thread ends after so much processor time in which it comes to no operation.
    pub patience: Duration,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            schedule: Schedule::Seed(1),
            seeds: 200,
            minimise: true,
            steps: 100_000_000,
            patience: Duration::from_secs(2),
        }
    }
}

impl CheckOptions {
    /// `seeds` runs in all, with seeds from 1 on.
    #[must_use]
    pub fn seeds(self, seeds: u32) -> Self {
        Self { seeds, ..self }
    }

    /// These rules.
    #[must_use]
    pub fn profile(self, profile: Profile) -> Self {
        Self { profile, ..self }
    }
}
