//! What a NIC has seen: violations, events, numbers.

use super::event::Event;
use super::regions::Broken;
use super::violation::{Rule, Violation};

/// Most violations and events that are kept: the first are the ones that tell.
const MOST: usize = 1024;

/// What a NIC has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Doorbells that were seen.
    pub doorbells: u64,
    /// Work requests that were read.
    pub requests: u64,
    /// Completions that were written, errors included.
    pub completions: u64,
    /// Requests of peers that were executed.
    pub served: u64,
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that were received.
    pub received: u64,
    /// Of these, dropped: for no queue pair, from a stranger, in a state that takes none, or out of sequence.
    pub dropped: u64,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) violations: Vec<Violation>,
    pub(super) events: Vec<Event>,
    pub(super) statistics: Statistics,
}

impl Log {
    pub(super) fn event(&mut self, event: Event) {
        if self.events.len() < MOST {
            self.events.push(event);
        }
    }

    pub(super) fn broken(&mut self, qpn: u32, index: Option<u16>, bytes: &[u8], broken: Broken) {
        if self.violations.len() < MOST {
            let Broken { rule, sentence } = broken;
            self.violations.push(Violation { qpn, index, bytes: bytes.to_vec(), rule, sentence });
        }
    }

    pub(super) fn violation(&mut self, qpn: u32, rule: Rule, bytes: &[u8], sentence: String) {
        self.broken(qpn, None, bytes, Broken::new(rule, sentence));
    }
}
