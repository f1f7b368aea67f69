//! Events: what a thread did at one time, at one line. Accesses of one thread that nothing can tell apart share one.

use super::clock::{Time, Who};
use super::know::{Class, Own};
use core::panic::Location;
use oxshmem_device::abi::Operation;

/// Number of an event.
pub(crate) type EventId = u32;

/// Nobody has done it: memory that was never written, or that nobody has read.
pub(crate) const NONE: EventId = 0;
/// What the memory holds at the start of a run. Everybody knows it.
pub(crate) const INITIAL: EventId = 1;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) who: Who,
    pub(crate) time: Time,
    pub(crate) class: Class,
    pub(crate) operation: Operation,
    pub(crate) writes: bool,
    /// Width in bytes if it is an atomic access, signal, wait or test; else 0.
    pub(crate) strong: u8,
    /// The put_signal that it belongs to.
    pub(crate) own: Option<Own>,
    pub(crate) location: &'static Location<'static>,
}

/// All events of a run.
#[derive(Debug)]
pub(crate) struct Events {
    /// Those from `from` on, and in front of them two that stand for all others.
    all: Vec<Event>,
    /// Everybody knows those below to be over.
    from: EventId,
}

/// The first numbers are [`NONE`] and [`INITIAL`].
const FIRST: EventId = 2;

impl Events {
    pub(crate) fn new() -> Self {
        let nobody = Event {
            who: Who::MAX,
            time: Time::default(),
            class: Class::Local,
            operation: Operation::Access,
            writes: true,
            strong: 0,
            own: None,
            location: Location::caller(),
        };
        Self { all: vec![nobody; FIRST as usize], from: FIRST }
    }

    pub(crate) fn get(&self, id: EventId) -> &Event {
        match id.checked_sub(self.from) {
            Some(at) => &self.all[(at + FIRST) as usize],
            None => &self.all[INITIAL as usize],
        }
    }

    /// Whether everybody knows an event to be over.
    pub(crate) fn is_old(&self, id: EventId) -> bool {
        id < self.from
    }

    pub(crate) fn add(&mut self, event: Event) -> EventId {
        self.all.push(event);
        self.from + (self.all.len() as EventId - FIRST) - 1
    }

    /// From now on everybody knows all events so far to be over.
    pub(crate) fn retire(&mut self) {
        self.from += self.all.len() as EventId - FIRST;
        self.all.truncate(FIRST as usize);
    }

    pub(crate) fn clear(&mut self) {
        self.all.truncate(FIRST as usize);
        self.from = FIRST;
    }
}
