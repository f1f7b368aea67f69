//! Posting: reserve, write, publish, ring.

use super::super::mlx5::wqe::SEGMENTS_PER_BLOCK;
use super::super::mlx5::{Completion, Control, Fence, QueueNumber, Segment, doorbell};
use super::abi::{QueuePairAbi, QueuePairState, flags};
use super::deadline::Deadline;
use super::device::DeviceMemory;
use super::failure::{Failure, Waiting};
use super::memory::{Edge, Memory, Visible};
use core::mem::offset_of;

/// A queue pair in some memory. A value: copies are the same queue pair, and any number of threads may use it.
#[derive(Clone, Copy, Debug)]
pub struct QueuePair<M: Memory = DeviceMemory> {
    pub(super) memory: M,
    /// Of its [`QueuePairAbi`].
    pub(super) abi: u64,
    /// Of its [`QueuePairState`].
    state: u64,
}

/// Blocks of the send queue that belong to one operation, counted on and on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The first one.
    pub first: u64,
    /// The one behind the last one.
    pub end: u64,
}

/// Reads a field of the description.
macro_rules! field {
    ($queue:expr, u32 $name:ident) => {
        $queue.memory.field_u32($queue.abi + core::mem::offset_of!(QueuePairAbi, $name) as u64)
    };
    ($queue:expr, u64 $name:ident) => {
        $queue.memory.field_u64($queue.abi + core::mem::offset_of!(QueuePairAbi, $name) as u64)
    };
}
pub(super) use field;

/// The address of a shared word.
macro_rules! word {
    ($queue:expr, $name:ident) => {
        $queue.state_at(core::mem::offset_of!(super::abi::QueuePairState, $name) as u64)
    };
}
pub(super) use word;

const _: () = assert!(offset_of!(QueuePairAbi, queue) == 8 && offset_of!(QueuePairState, ready) == 32);

impl<M: Memory> QueuePair<M> {
    /// The queue pair whose [`QueuePairAbi`] is at `abi`.
    ///
    /// # Safety
    /// There is a description that [`check`](QueuePairAbi::check) accepts, everything that it names is mapped and, where a NIC
    /// uses it, known to that NIC, and stays so as long as any copy of this value is used.
    #[inline(always)]
    pub unsafe fn new(memory: M, abi: u64) -> Self {
        let state = memory.field_u64(abi + offset_of!(QueuePairAbi, state) as u64);
        Self { memory, abi, state }
    }

    #[inline(always)]
    pub(super) fn state_at(&self, offset: u64) -> u64 {
        self.state + offset
    }

    /// Blocks of the send queue.
    #[inline(always)]
    pub(super) fn depth(&self) -> u64 {
        1 << field!(self, u32 log_blocks)
    }

    #[inline(always)]
    pub(super) fn has(&self, flag: u32) -> bool {
        field!(self, u32 flags) & flag != 0
    }

    /// Its number in the table, and in the map of [`Dirty`](super::Dirty).
    #[inline(always)]
    pub(super) fn number(&self) -> u32 {
        field!(self, u32 number)
    }

    /// The control segment's part of what an operation writes at `index`.
    #[inline(always)]
    pub(super) fn control(&self, index: u64, completion: Completion) -> Control {
        let queue = QueueNumber::from_memory(field!(self, u32 queue));
        Control { queue, index, fence: Fence::None, completion }
    }

    /// Takes `count` blocks, at most half of the send queue, and waits until it has room for them.
    ///
    /// The calling thread must [`write_at`](Self::write_at) and [`publish`](Self::publish) them: those that reserve after it
    /// wait for that.
    ///
    /// # Errors
    /// The queue pair's first failure, which may be that no room came up within `deadline`.
    #[inline(always)]
    pub fn reserve(&self, count: u32, deadline: &mut impl Deadline) -> Result<Reserved, Failure> {
        let first = self.memory.add(word!(self, reserved), u64::from(count));
        let end = first + u64::from(count);
        // Blocks of the round before are free once they are completed.
        let free = end.saturating_sub(self.depth());
        self.until_completed(free, Edge::Free, Waiting::Room, deadline)?;
        Ok(Reserved { first, end })
    }

    /// The send queue's address, and how many segments it has less one.
    #[inline(always)]
    fn ring_of_segments(&self) -> (u64, u64) {
        (field!(self, u64 blocks), self.depth() * u64::from(SEGMENTS_PER_BLOCK) - 1)
    }

    /// Writes a work request's segments from block `index` on, which belongs to the calling thread. Behind the last block
    /// of the send queue comes its first one.
    #[inline(always)]
    pub fn write_at<const N: usize>(&self, index: u64, segments: [Segment; N]) {
        let (blocks, mask) = self.ring_of_segments();
        let first = index * u64::from(SEGMENTS_PER_BLOCK);
        for (at, segment) in (first..).zip(segments) {
            self.memory.write_segment(blocks + (at & mask) * 16, segment);
        }
    }

    /// Writes segment `at` of the work request at block `index`, which belongs to the calling thread or to one of its warp.
    #[inline(always)]
    pub(super) fn write_segment_at(&self, index: u64, at: u32, segment: Segment) {
        let (blocks, mask) = self.ring_of_segments();
        let at = index * u64::from(SEGMENTS_PER_BLOCK) + u64::from(at);
        self.memory.write_segment(blocks + (at & mask) * 16, segment);
    }

    /// Publishes blocks that are written, in the order in which they were reserved, and rings for them, unless another thread
    /// that has reserved is sure to.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    #[inline(always)]
    pub fn publish(&self, blocks: Reserved, deadline: &mut impl Deadline) -> Result<(), Failure> {
        let (ready, Reserved { first, end }) = (word!(self, ready), blocks);
        let visible = if self.has(flags::HOST_MEMORY) { Visible::System } else { Visible::Device };
        let mut failed = 0;
        while self.memory.look(ready) != first || !self.memory.publish(ready, first, end, visible) {
            self.goes_on(&mut failed, Waiting::Turn, deadline)?;
        }
        // Whoever has reserved behind this will publish later, and then looks likewise: the last one rings.
        let log_batch = field!(self, u32 log_batch);
        let crosses = first >> log_batch != end >> log_batch;
        if crosses || self.memory.look(word!(self, reserved)) == end {
            self.ring(end, deadline)?;
        }
        Ok(())
    }

    /// Returns when somebody has rung, or is ringing, for the blocks before `end`, which are published.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    #[inline(always)]
    fn ring(&self, end: u64, deadline: &mut impl Deadline) -> Result<(), Failure> {
        let mut failed = 0;
        while self.memory.look(word!(self, produced)) < end && !self.try_ring() {
            self.goes_on(&mut failed, Waiting::Ring, deadline)?;
        }
        Ok(())
    }

    /// Rings for all that is published, unless somebody else is ringing; whether it did.
    #[inline(always)]
    pub(super) fn try_ring(&self) -> bool {
        let memory = &self.memory;
        if !memory.lock(word!(self, ring_lock), Edge::RingLocked) {
            return false;
        }
        let next = memory.load(word!(self, ready), Edge::Taken);
        // Somebody may have rung for more in the meantime: an older index must not follow a newer one.
        if next > memory.look(word!(self, produced)) {
            memory.write(word!(self, produced), next);
            let register = field!(self, u64 doorbell);
            if self.has(flags::DOORBELL_BY_HOST) {
                memory.write_next(register, next);
            } else {
                memory.write_record(field!(self, u64 record), doorbell::send_record(next));
                let queue = QueueNumber::from_memory(field!(self, u32 queue));
                memory.fence_doorbell();
                memory.write_doorbell(register, doorbell::send_doorbell(next, queue));
            }
        }
        memory.store(word!(self, ring_lock), 0, Edge::RingUnlocked);
        true
    }

    /// After a look that found nothing: whether to look again.
    #[inline(always)]
    pub(super) fn goes_on(
        &self,
        failed: &mut u32,
        waiting: Waiting,
        deadline: &mut impl Deadline,
    ) -> Result<(), Failure> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        *failed = failed.wrapping_add(1);
        if deadline.goes_on(*failed) { Ok(()) } else { Err(self.fail(Failure::expired(waiting))) }
    }

    /// Keeps the first failure, and returns it.
    #[inline(always)]
    pub(super) fn fail(&self, failure: Failure) -> Failure {
        let before = self.memory.claim(word!(self, failure), failure.word());
        Failure::from_word(before).unwrap_or(failure)
    }

    /// What went wrong first, if anything did. Orders nothing.
    #[inline(always)]
    pub fn failure(&self) -> Option<Failure> {
        Failure::from_word(self.memory.look(word!(self, failure)))
    }
}
