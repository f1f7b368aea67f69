//! Updates under way: what puts, signals and atomics will do at other PEs, and what non-blocking operations will do at
//! all. Each is an agent of the schedule, which carries it out at any time that the model lets it.

use super::clock::{Clock, Time, Who};
use super::event::EventId;
use super::know::{Know, Own};
use super::words::How;
use oxshmem_device::hooks::Change;
use std::rc::Rc;

/// Bytes that an update writes.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
    /// Where they are read anew when the update is carried out.
    pub(crate) source: Option<u64>,
}

/// What an update does.
pub(crate) enum Body {
    Data(Vec<Piece>),
    Store { address: u64, bytes: u32, bits: [u64; 2], message: Option<Rc<Know>>, how: Option<How> },
    Change { address: u64, bytes: u32, change: Change, message: Option<Rc<Know>>, how: Option<How> },
}

impl core::fmt::Debug for Body {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Data(pieces) => write!(f, "Data({} pieces)", pieces.len()),
            Self::Store { address, bits, .. } => write!(f, "Store({address:#x} = {bits:?})"),
            Self::Change { address, .. } => write!(f, "Change({address:#x})"),
        }
    }
}

/// An update under way.
#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) who: Who,
    pub(crate) time: Time,
    /// Operation of its thread.
    pub(crate) number: u64,
    pub(crate) event: EventId,
    /// Updates that are issued in here go first; a get goes first for none.
    pub(crate) after: Option<Rc<Clock>>,
    pub(crate) own: Option<Own>,
    /// Whether it is a non-blocking get, which nothing but a quiet orders.
    pub(crate) is_get: bool,
    /// Whether a fence of its thread came before it.
    pub(crate) fenced: bool,
    /// What its thread knew, for its place among the values of a word.
    pub(crate) know: Know,
    pub(crate) body: Body,
}

impl Update {
    /// How many of its pieces are yet to be read.
    pub(crate) fn sources(&self) -> u64 {
        match &self.body {
            Body::Data(pieces) => pieces.iter().filter(|piece| piece.source.is_some()).count() as u64,
            _ => 0,
        }
    }

    /// Whether `self` must wait for `earlier`, which was issued before it.
    pub(crate) fn waits_for(&self, earlier: &Self) -> bool {
        if self.is_get || earlier.is_get {
            return false;
        }
        let fenced = self.after.as_ref().is_some_and(|after| after.knows(earlier.who, earlier.time));
        fenced || self.own.is_some() && self.own == earlier.own && !matches!(self.body, Body::Data(_))
    }
}

/// All updates under way, by issuing PE and target, in the order of their issue.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    pes: u32,
    queues: Vec<Vec<Update>>,
    pub(crate) count: u32,
}

impl Updates {
    pub(crate) fn new(pes: u32) -> Self {
        Self { pes, queues: (0..pes * pes).map(|_| Vec::new()).collect(), count: 0 }
    }

    pub(crate) fn queue(&mut self, from: u32, to: u32) -> &mut Vec<Update> {
        &mut self.queues[(from * self.pes + to) as usize]
    }

    /// Number of the queue of `from` to `to`.
    pub(crate) fn index(&self, from: u32, to: u32) -> usize {
        (from * self.pes + to) as usize
    }

    pub(crate) fn push(&mut self, from: u32, to: u32, update: Update) {
        self.queue(from, to).push(update);
        self.count += 1;
    }

    pub(crate) fn take(&mut self, queue: usize, at: usize) -> Update {
        self.count -= 1;
        self.queues[queue].remove(at)
    }

    pub(crate) fn queues(&self) -> &[Vec<Update>] {
        &self.queues
    }

    /// Queue and place of the `n`-th update.
    pub(crate) fn nth(&self, mut n: u32) -> Option<(usize, usize)> {
        for (at, queue) in self.queues.iter().enumerate() {
            if n < queue.len() as u32 {
                return Some((at, n as usize));
            }
            n -= queue.len() as u32;
        }
        None
    }

    /// How many go to other PEs than `starved`.
    pub(crate) fn count_but(&self, starved: u32) -> u32 {
        let to = |at: usize| at as u32 % self.pes;
        let queues = self.queues.iter().enumerate().filter(|&(at, _)| to(at) != starved);
        queues.map(|(_, queue)| queue.len() as u32).sum()
    }

    /// Number, among all, of the `n`-th of those that go to other PEs than `starved`.
    pub(crate) fn number_but(&self, mut n: u32, starved: u32) -> u32 {
        let mut number = 0;
        for (at, queue) in self.queues.iter().enumerate() {
            let count = queue.len() as u32;
            if at as u32 % self.pes != starved {
                if n < count {
                    return number + n;
                }
                n -= count;
            }
            number += count;
        }
        0
    }

    pub(crate) fn clear(&mut self) {
        self.queues.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }
}
