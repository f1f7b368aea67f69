//! How a machine is checked, and where it hands in what it has found.

use super::baton::Baton;
use super::finding::Finding;
use super::options::{Choice, Profile, Schedule};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How a machine is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checking {
    /// Which rules.
    pub profile: Profile,
    /// The schedule.
    pub schedule: Schedule,
    /// See [`CheckOptions`](super::CheckOptions).
    pub steps: u64,
    /// See [`CheckOptions`](super::CheckOptions).
    pub patience: Duration,
    /// How many PEs there are, each with a host thread that registers before anything runs.
    pub pes: u32,
}

/// What a checked machine has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The findings.
    pub findings: Vec<Finding>,
    /// What was chosen, but for the defaults: the schedule that shows them again.
    pub choices: Vec<Choice>,
    /// Operations that threads came to.
    pub operations: u64,
}

/// What the engine's thread and the machine share.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) checking: Checking,
    pub(crate) baton: Arc<Baton>,
    /// Where the PEs' heaps are, once they are known.
    pub(crate) heaps: Mutex<Option<Heaps>>,
    result: Mutex<Option<Checked>>,
    ready: Condvar,
}

/// Where the PEs' heaps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heaps {
    /// Address of PE 0's.
    pub base: u64,
    /// From one PE's to the next one's, wrapping.
    pub stride: u64,
    /// Bytes of each.
    pub bytes: u64,
    /// How many there are.
    pub pes: u32,
}

impl Desk {
    pub(crate) fn new(checking: Checking) -> Arc<Self> {
        let baton = Baton::new(checking.pes as usize, checking.patience);
        Arc::new(Self {
            checking,
            baton,
            heaps: Mutex::default(),
            result: Mutex::new(None),
            ready: Condvar::new(),
        })
    }

    /// Hands in what was found.
    pub(super) fn hand_in(&self, found: Checked) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        self.ready.notify_all();
    }

    /// What was found, once all host threads have gone.
    pub(crate) fn result(&self) -> Checked {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*result {
                Some(found) => return found.clone(),
                None => result = self.ready.wait(result).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
