//! Completion: whoever waits polls, one thread at a time, and tells the others by `completed`.
//!
//! A completion names the first block of its request by 16 bits. Only a reservation's last request asks for one, and it has one
//! block, so that the index behind it is the reservation's end; and a send queue has at most half of what 16 bits tell apart, so
//! that the distance from `completed` is known.

use super::super::mlx5::cqe::{self, CqeOpcode, ErrorWord, Tail};
use super::super::mlx5::doorbell;
use super::abi::{QueuePairAbi, flags};
use super::deadline::Deadline;
use super::failure::{Failure, Waiting};
use super::memory::{Edge, Memory};
use super::queue::{QueuePair, field, word};

impl<M: Memory> QueuePair<M> {
    /// Returns when everything is completed that was published before the call: data has arrived, sources may be used again.
    ///
    /// By one thread. It covers operations of other threads whose return happens before.
    ///
    /// # Errors
    /// The queue pair's first failure, which may be that something did not complete within `deadline`.
    #[inline(always)]
    pub fn quiet(&self, deadline: &mut impl Deadline) -> Result<(), Failure> {
        let end = self.memory.look(word!(self, ready));
        self.until_completed(end, Edge::Waited, Waiting::Completion, deadline)
    }

    /// Whether nothing that the calling thread knows of is under way.
    #[inline(always)]
    pub(super) fn is_idle(&self) -> bool {
        self.memory.load(word!(self, completed), Edge::Waited) >= self.memory.look(word!(self, ready))
    }

    /// Waits until the blocks before `end` are completed, and meanwhile rings for them and polls.
    #[inline(always)]
    pub(super) fn until_completed(
        &self,
        end: u64,
        edge: Edge,
        waiting: Waiting,
        deadline: &mut impl Deadline,
    ) -> Result<(), Failure> {
        let memory = &self.memory;
        let mut failed = 0;
        loop {
            if memory.load(word!(self, completed), edge) >= end {
                return Ok(());
            }
            // Somebody may have left the ringing to this very thread.
            let produced = memory.look(word!(self, produced));
            if produced < end && produced < memory.look(word!(self, ready)) {
                self.try_ring();
            }
            if !self.poll() {
                self.goes_on(&mut failed, waiting, deadline)?;
            }
        }
    }

    /// Takes the completions that are there, unless another thread is at it; whether there were any.
    #[inline(always)]
    fn poll(&self) -> bool {
        let memory = &self.memory;
        if !memory.lock(word!(self, poll_lock), Edge::PollLocked) {
            return false;
        }
        let (before, taken) = (memory.look(word!(self, completed)), memory.look(word!(self, taken)));
        let (completed, now_taken) =
            if self.has(flags::COLLAPSED) { self.newest(before, taken) } else { self.all(before, taken) };
        if now_taken != taken {
            memory.write(word!(self, taken), now_taken);
            memory.store(word!(self, completed), completed, Edge::Done);
        }
        memory.store(word!(self, poll_lock), 0, Edge::PollUnlocked);
        now_taken != taken
    }

    /// Takes entries in order until one is not written, or is no success. The new `completed` and `taken`.
    #[inline(always)]
    fn all(&self, mut completed: u64, mut taken: u64) -> (u64, u64) {
        let (entries, log) = (field!(self, u64 completions), field!(self, u32 log_completions));
        let last = taken + (1 << log);
        let first = taken;
        while taken != last {
            let entry = entries + (taken & ((1 << log) - 1)) * cqe::BYTES;
            if !Tail::from_memory(self.memory.look_completion(entry + cqe::TAIL)).is_written(taken, log) {
                break;
            }
            match self.take(entry, completed) {
                Some(next) if next != completed => completed = next,
                _ => break,
            }
            taken += 1;
        }
        if taken != first {
            self.memory.write_consumer(field!(self, u64 completion_record), doorbell::consumer_record(taken));
        }
        (completed, taken)
    }

    /// Looks at the one entry that there is, which always holds the newest completion. Only who holds the lock moves
    /// `completed`, so that an old entry is at distance 0.
    #[inline(always)]
    fn newest(&self, completed: u64, taken: u64) -> (u64, u64) {
        let entry = field!(self, u64 completions);
        let tail = Tail::from_memory(self.memory.look_completion(entry + cqe::TAIL));
        let is_new = !matches!(tail.opcode(), CqeOpcode::Requester) || distance(completed, tail) != 0;
        if matches!(tail.opcode(), CqeOpcode::Invalid) || !is_new {
            return (completed, taken);
        }
        match self.take(entry, completed) {
            Some(next) if next != completed => (next, taken + 1),
            _ => (completed, taken),
        }
    }

    /// Reads an entry that is written; the new `completed`, or `None` after a failure, which is then kept.
    #[inline(always)]
    fn take(&self, entry: u64, completed: u64) -> Option<u64> {
        let memory = &self.memory;
        let word = memory.load_completion(entry + cqe::TAIL);
        let tail = Tail::from_memory(word);
        let distance = distance(completed, tail);
        let is_posted = distance != 0 && distance <= self.depth();
        match tail.opcode() {
            CqeOpcode::Requester if is_posted => return Some(completed + distance),
            CqeOpcode::RequesterError => {
                let error = ErrorWord::from_memory(memory.read_u32(entry + cqe::ERROR));
                let opcode = cqe::request_opcode(memory.read_u32(entry + cqe::REQUEST));
                self.fail(Failure::request(opcode, tail.counter(), error))
            }
            _ => self.fail(Failure::impossible(word)),
        };
        None
    }
}

/// From `completed` to the index behind the request that a completion names, modulo 2^16.
#[inline(always)]
fn distance(completed: u64, tail: Tail) -> u64 {
    u64::from(tail.counter().wrapping_add(1).wrapping_sub(completed as u16))
}
