//! Values that come back: `g` and fetching atomics.
//!
//! Each has a slot of the landing memory, from its request until its value was read. Slots are given out in turn; the next user
//! of one waits until the one before has read its value, whatever the others do.
//!
//! | step | edge |
//! |---|---|
//! | take a number; wait until its slot's turn has come | acquire of the turn ([`Edge::SlotTaken`]) |
//! | post; the NIC writes the slot, then the completion | as any request |
//! | wait for the completion, read the slot | [`Edge::Waited`] |
//! | count the slot's turn | release of the turn ([`Edge::SlotFreed`]) |

use super::super::mlx5::{Completion, Fence, wqe};
use super::abi::{QueuePairAbi, flags};
use super::atomic::NicAtomic;
use super::deadline::Deadline;
use super::failure::{Failure, Waiting};
use super::memory::{Edge, Memory};
use super::queue::{QueuePair, field, word};
use wqe::Place;

/// A value that is on its way, with the slot that it comes to. Only [`QueuePair::wait`] gives the slot back: a queue pair of `n`
/// slots has at most `n` of these at once, and who asks for more waits until the deadline.
#[must_use = "the value and its slot stay on the way until `wait`"]
#[derive(Debug)]
pub struct Awaited {
    /// Number of the slot's use.
    ticket: u64,
    /// Behind the request's blocks.
    end: u64,
    /// How many of the slot's bytes count.
    bytes: u32,
    /// Whether they are big endian.
    is_swapped: bool,
}

impl<M: Memory> QueuePair<M> {
    /// Asks for the first `bytes` bytes at the peer, 1 to 8; more count as 8, none as 1.
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn issue_g(&self, from: Place, bytes: u32, deadline: &mut impl Deadline) -> Result<Awaited, Failure> {
        let bytes = bytes.clamp(1, 8);
        let ticket = self.take_slot(deadline)?;
        let flushes = self.has(flags::FLUSH);
        let blocks = self.reserve(1 + flushes as u32, deadline)?;
        let completion = if flushes { Completion::OnError } else { Completion::Always };
        let control = self.control(blocks.first, completion);
        self.write_at(blocks.first, wqe::read(control, from, self.landing(1 + self.slot(ticket)), bytes));
        if flushes {
            self.write_flush(blocks.end - 1);
        }
        self.publish(blocks, deadline)?;
        Ok(Awaited { ticket, end: blocks.end, bytes, is_swapped: false })
    }

    /// Performs an atomic at the peer, and asks for the old value.
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn issue(
        &self,
        at: Place,
        atomic: NicAtomic,
        deadline: &mut impl Deadline,
    ) -> Result<Awaited, Failure> {
        let ticket = self.take_slot(deadline)?;
        let flushes = self.has(flags::FLUSH);
        // A flush completes, too; else one block must stand behind a request of two.
        let behind = if flushes { 1 } else { atomic.blocks() - 1 };
        let blocks = self.reserve(atomic.blocks() + behind, deadline)?;
        let old = self.landing(1 + self.slot(ticket));
        self.write_atomic(blocks.first, at, atomic, old, behind == 0);
        if flushes {
            self.write_flush(blocks.end - 1);
        } else if behind != 0 {
            self.write_nop(blocks.end - 1);
        }
        self.publish(blocks, deadline)?;
        let is_narrow = atomic.is_narrow();
        let bytes = if is_narrow { 4 } else { 8 };
        // What an atomic of 4 bytes returns is big endian, of 8 bytes the machine's.
        Ok(Awaited { ticket, end: blocks.end, bytes, is_swapped: is_narrow })
    }

    /// The value, in its lower bytes; the others are zero.
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn wait(&self, awaited: Awaited, deadline: &mut impl Deadline) -> Result<u64, Failure> {
        let Awaited { ticket, end, bytes, is_swapped } = awaited;
        self.until_completed(end, Edge::Waited, Waiting::Completion, deadline)?;
        let slot = self.slot(ticket);
        let value = self.memory.read_u64(field!(self, u64 landing) + 8 * (1 + slot));
        let turn = (ticket >> field!(self, u32 log_landing)) + 1;
        self.memory.store(self.turn(slot), turn, Edge::SlotFreed);
        if is_swapped {
            return Ok(u64::from((value as u32).swap_bytes()));
        }
        Ok(value & (u64::MAX >> (64 - 8 * bytes)))
    }

    /// [`issue_g`](Self::issue_g) and [`wait`](Self::wait).
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn g(&self, from: Place, bytes: u32, deadline: &mut impl Deadline) -> Result<u64, Failure> {
        let awaited = self.issue_g(from, bytes, deadline)?;
        self.wait(awaited, deadline)
    }

    /// [`issue`](Self::issue) and [`wait`](Self::wait).
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn fetch(&self, at: Place, atomic: NicAtomic, deadline: &mut impl Deadline) -> Result<u64, Failure> {
        let awaited = self.issue(at, atomic, deadline)?;
        self.wait(awaited, deadline)
    }

    /// The number of a slot's use, after the value of its use before was read.
    #[inline(always)]
    fn take_slot(&self, deadline: &mut impl Deadline) -> Result<u64, Failure> {
        let ticket = self.memory.add(word!(self, landing), 1);
        let (turn, at) = (ticket >> field!(self, u32 log_landing), self.turn(self.slot(ticket)));
        let mut failed = 0;
        while self.memory.load(at, Edge::SlotTaken) != turn {
            self.goes_on(&mut failed, Waiting::Slot, deadline)?;
        }
        Ok(ticket)
    }

    /// The slot of a number.
    #[inline(always)]
    fn slot(&self, ticket: u64) -> u64 {
        ticket & ((1 << field!(self, u32 log_landing)) - 1)
    }

    /// The word that counts a slot's uses.
    #[inline(always)]
    fn turn(&self, slot: u64) -> u64 {
        field!(self, u64 landing_turns) + 8 * slot
    }

    /// Writes a request that completes when what came back before it has arrived.
    #[inline(always)]
    pub(super) fn write_flush(&self, index: u64) {
        let mut control = self.control(index, Completion::Always);
        control.fence = Fence::Fence;
        self.write_at(index, wqe::dump(control, self.landing(0), 8));
    }
}
