//! What the ring needs of memory: loads, stores and read-modify-writes, each with the edge that its order is for.
//!
//! The device carries them out by one instruction each, the emulator by the twins of these, and a test of the ring's order by
//! a memory of its own, in which each edge can be weakened.

use super::super::mlx5::Segment;

/// A happens-before edge of the ring: who has to see what. Each is there because without it something is read too early, or
/// written too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Release of `ready`: blocks, and what they name, are written before somebody rings for them.
    Published,
    /// Acquire of the `ready` before: whoever cleared the mark of the queue pair is seen by whoever publishes behind it.
    Chained,
    /// Acquire of `ready` by who rings: what was published is passed on to the NIC.
    Taken,
    /// Acquire of the ring lock: `produced` and the record are those of who rang before.
    RingLocked,
    /// Release of the ring lock.
    RingUnlocked,
    /// Release of the doorbell record: a NIC that reads it, at any time, finds the blocks before its index written.
    Record,
    /// The fence between record and doorbell: the NIC that hears the doorbell finds the record.
    Doorbell,
    /// Acquire of a completion: its other bytes, and what the NIC wrote before it, are read after.
    Completion,
    /// Acquire of the poll lock: `taken` and `completed` are those of who polled before.
    PollLocked,
    /// Release of the poll lock.
    PollUnlocked,
    /// Release of `completed`: what the NIC read is over, and what it wrote is there.
    Done,
    /// Acquire of `completed` by who reserves: blocks are written again after the NIC has read them.
    Free,
    /// Acquire of `completed` by who waits: what came back is read after it came.
    Waited,
    /// Release of a landing slot: its value was read.
    SlotFreed,
    /// Acquire of a landing slot: the NIC writes it after the value before was read.
    SlotTaken,
    /// Release of cleared marks: who finds a mark gone knows that somebody is clearing.
    Cleared,
    /// Release of `ready`, unchanged, by who has cleared the mark: who publishes behind it finds it gone.
    Rechecked,
    /// Release of the marks' count: marks that were set again stand.
    Settled,
    /// Acquire of the marks, and of their count: what was cleared is known to be under way or over.
    Marks,
}

impl Edge {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Published,
        Self::Chained,
        Self::Taken,
        Self::RingLocked,
        Self::RingUnlocked,
        Self::Record,
        Self::Doorbell,
        Self::Completion,
        Self::PollLocked,
        Self::PollUnlocked,
        Self::Done,
        Self::Free,
        Self::Waited,
        Self::SlotFreed,
        Self::SlotTaken,
        Self::Cleared,
        Self::Rechecked,
        Self::Settled,
        Self::Marks,
    ];
}

/// Who must see what is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible {
    /// The threads of this device; the NIC through the one that rings. Enough for queues and data in device memory.
    Device,
    /// The whole system: something lies in host memory.
    System,
}

/// Memory that a queue pair lies in. Addresses are its own affair; the ring only adds offsets to those that it finds in the
/// description.
///
/// "Shared" words are those of [`QueuePairState`](super::abi::QueuePairState), landing turns and marks, which the threads of
/// one device use. The others are what the NIC reads and writes.
pub trait Memory: Clone {
    /// A field of a description, which nobody writes.
    fn field_u32(&self, address: u64) -> u32;
    /// As [`field_u32`](Self::field_u32).
    fn field_u64(&self, address: u64) -> u64;

    /// A shared word, relaxed.
    fn look(&self, word: u64) -> u64;
    /// A shared word, with acquire.
    fn load(&self, word: u64, edge: Edge) -> u64;
    /// Writes a shared word, relaxed.
    fn write(&self, word: u64, value: u64);
    /// Writes a shared word, with release.
    fn store(&self, word: u64, value: u64, edge: Edge);
    /// Adds to a shared word, relaxed; the old value.
    fn add(&self, word: u64, value: u64) -> u64;
    /// Sets bits of a shared word, relaxed.
    fn set(&self, word: u64, bits: u64);
    /// Clears bits of a shared word, with release.
    fn clear(&self, word: u64, bits: u64, edge: Edge);
    /// Reads a shared word by a read-modify-write that leaves it as it is, with release: whoever changes it later has it
    /// happen before.
    fn recheck(&self, word: u64, edge: Edge) -> u64;
    /// Makes a shared word 1 if it is 0, with acquire; whether it was.
    fn lock(&self, word: u64, edge: Edge) -> bool;
    /// Makes `ready` `to` if it is `from`, with release and acquire ([`Edge::Published`] and [`Edge::Chained`]); whether it
    /// was.
    fn publish(&self, word: u64, from: u64, to: u64, visible: Visible) -> bool;
    /// Makes a shared word, which the host reads too, `value` if it is 0; what it was.
    fn claim(&self, word: u64, value: u64) -> u64;

    /// Writes 16 bytes of a work request.
    fn write_segment(&self, address: u64, segment: Segment);
    /// Writes the send queue's record, with release to the system ([`Edge::Record`]).
    fn write_record(&self, address: u64, word: u32);
    /// Orders the record before the doorbell ([`Edge::Doorbell`]).
    fn fence_doorbell(&self);
    /// Writes the doorbell register.
    fn write_doorbell(&self, address: u64, word: u64);
    /// Writes the next index for the thread of the host that rings, with release to the system ([`Edge::Record`]).
    fn write_next(&self, address: u64, next: u64);
    /// The tail of a completion, relaxed.
    fn look_completion(&self, address: u64) -> u32;
    /// The tail of a completion, with acquire from the system ([`Edge::Completion`]).
    fn load_completion(&self, address: u64) -> u32;
    /// Another word of a completion, or of landing memory, which the NIC wrote before what was acquired.
    fn read_u32(&self, address: u64) -> u32;
    /// As [`read_u32`](Self::read_u32).
    fn read_u64(&self, address: u64) -> u64;
    /// Writes the completion queue's record, relaxed: the acquire of the completions before it is order enough.
    fn write_consumer(&self, address: u64, word: u32);
}
