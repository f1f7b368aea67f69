//! How a host thread stands to the clock: whether it may still make something happen.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

const RUNNING: u8 = 0;
pub(crate) const BLOCKED: u8 = 1;
pub(crate) const WAITING: u8 = 2;

/// A polling host thread has been seen to poll when it ticked this often while nothing else happened.
const TICKS: u64 = 2;

/// What a host thread is doing, as its devices see it.
#[derive(Debug, Default)]
pub(crate) struct HostState {
    pub(crate) state: AtomicU8,
    pub(crate) ticks: AtomicU64,
    marked: AtomicU64,
}

/// How a host thread stands to quiescence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits for a device, which will say so when it lets it go.
    Waits,
    /// It waits for something unknown, or only polls: it may come back any moment.
    MayReturn,
    /// It runs user code.
    Runs,
}

impl HostState {
    pub(crate) fn set_running(&self) {
        self.state.store(RUNNING, Ordering::Release);
    }

    pub(crate) fn set_waiting(&self) {
        self.state.store(WAITING, Ordering::Release);
    }

    pub(crate) fn mark_ticks(&self) {
        self.marked.store(self.ticks.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(crate) fn standing(&self) -> Standing {
        let ticked = || self.ticks.load(Ordering::Relaxed) - self.marked.load(Ordering::Relaxed) >= TICKS;
        match self.state.load(Ordering::Acquire) {
            WAITING => Standing::Waits,
            BLOCKED => Standing::MayReturn,
            _ if ticked() => Standing::MayReturn,
            _ => Standing::Runs,
        }
    }
}
