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
pub(crate) struct Events(Vec<Event>);

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
        Self(vec![nobody; 2])
    }

    pub(crate) fn get(&self, id: EventId) -> &Event {
        &self.0[id as usize]
    }

    pub(crate) fn add(&mut self, event: Event) -> EventId {
        self.0.push(event);
        (self.0.len() - 1) as EventId
    }

    pub(crate) fn clear(&mut self) {
        self.0.truncate(2);
    }
}
