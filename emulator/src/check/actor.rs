//! Who acts: threads, with the operation that each is in, what it knows and what it has promised; and blocks.

use super::clock::{Clock, Time, Who};
use super::event::EventId;
use super::judge::Known;
use super::know::{Class, Know, Own};
use core::panic::Location;
use oxshmem_device::Together;
use oxshmem_device::abi::Operation;
use oxshmem_device::hooks::{Access, Position};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// The operation that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Op {
    pub(crate) together: Together,
    pub(crate) operation: Operation,
    /// Heap offset of what it names at `pe`.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) pe: u32,
    pub(crate) location: &'static Location<'static>,
    /// What else it is called with.
    pub(crate) value: u64,
    /// The put_signal that it is.
    pub(crate) own: Option<Own>,
    /// Which operation of its thread it is.
    pub(crate) number: u64,
}

/// An event that a thread may use again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recent {
    pub(super) event: EventId,
    pub(super) what: (Class, bool, u8, Option<Own>, *const Location<'static>, Operation),
    pub(super) time: Time,
}

/// A signal that a thread has seen: who wrote it, and what that thread had issued or knew to be issued.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) event: EventId,
    pub(crate) issued: Rc<Clock>,
    pub(crate) message: Option<Rc<Know>>,
}

/// Most signals of which a thread remembers that it has seen them.
pub(crate) const HEARD: usize = 12;

/// A thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) who: Who,
    pub(crate) pe: u32,
    pub(crate) block: usize,
    /// On a GPU; `None` for a host thread.
    pub(crate) position: Option<Position>,
    pub(crate) know: Know,
    /// What its last fence for all PEs covers, and those for one.
    pub(crate) fenced: Option<Rc<Fence>>,
    pub(crate) fenced_for: Vec<(u32, Rc<Fence>)>,
    /// Updates that had been carried out when it fenced last.
    pub(crate) fence_stamp: u64,
    pub(crate) own: u32,
    pub(crate) op: Op,
    pub(super) ops: u64,
    pub(super) recent: [Option<Recent>; 4],
    pub(super) next_recent: usize,
    pub(super) known: Known,
    pub(super) numbers: HashMap<u32, u32>,
    /// What relaxed reads brought, until a fence acquires it.
    pub(crate) read: Vec<(u64, Rc<Know>)>,
    /// What an acquiring read of a test brought, until it is known whether the test was true.
    pub(crate) tested: Vec<Rc<Know>>,
    /// Words looked at since it polled last.
    pub(crate) polled: Vec<u64>,
    /// Whether one of them was not its newest value.
    pub(crate) stale: bool,
    pub(crate) heard: Rc<VecDeque<Heard>>,
    /// Loads of a non-blocking operation, whose stores come later.
    pub(crate) loads: VecDeque<(u64, u32, [u64; 2])>,
    /// Accesses since it yielded.
    pub(crate) steps: u32,
    /// Times that it ran without anything having changed.
    pub(crate) idle: u32,
    pub(crate) progress: u64,
    /// Hash of all that it has read, and of what it had read before its operation.
    pub(crate) log: u64,
    pub(crate) before: u64,
    /// Operation in which it has decided whether to issue the next update early.
    pub(crate) decided: u64,
    /// Its last relaxed read.
    pub(crate) fetched: u64,
    /// The update that it has issued before its time.
    pub(crate) promised: Option<Promise>,
    /// Whether it has ended.
    pub(crate) gone: bool,
}

impl Thread {
    /// Remembers a word that it has looked at in its operation: a change of it may let the thread go on.
    pub(crate) fn looks_at(&mut self, address: u64) {
        if !self.polled.contains(&address) {
            self.polled.push(address);
        }
    }

    /// Remembers a signal that it has seen.
    pub(crate) fn hear(&mut self, heard: Heard) {
        if self.heard.back().is_some_and(|last| last.event == heard.event) {
            return;
        }
        let all = Rc::make_mut(&mut self.heard);
        all.retain(|other| other.event != heard.event);
        if all.len() == HEARD {
            all.pop_front();
        }
        all.push_back(heard);
    }
}

/// What a fence covers.
#[derive(Debug)]
pub(crate) struct Fence {
    pub(crate) know: Know,
    /// What its PE had issued.
    pub(crate) here: Rc<Clock>,
}

/// A block.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) first_warp: usize,
    pub(crate) threads: u32,
    pub(crate) launch: u64,
    /// Address of its stream; 0 if there is no host program.
    pub(crate) stream: usize,
    /// Threads that have not ended, and what the others knew together.
    pub(crate) living: u32,
    pub(crate) ended: Option<Know>,
    /// Shared memory: address and bytes.
    pub(crate) shared: (u64, u32),
}

/// An update that follows a relaxed read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Promise {
    pub(crate) op: Op,
    pub(crate) access: Access,
    pub(crate) bits: [u64; 2],
}

/// What a search knows of such updates.
#[derive(Debug, Default)]
pub(crate) struct Early {
    /// By thread and number of the read.
    pub(super) noted: HashMap<(Who, u64), Vec<Promise>>,
    /// Whether they are tried.
    pub(crate) tries: bool,
    /// Whether a promise was broken in this run.
    pub(crate) broken: bool,
}

impl Early {
    /// Whether there is anything to try.
    pub(crate) fn has_some(&self) -> bool {
        !self.noted.is_empty()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
