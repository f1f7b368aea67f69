//! A queue pair as the host hands it to the device: a description that does not change, and the words that threads share.
//!
//! All addresses are those by which the device reaches the memory, unless the name says that the NIC uses it.

use super::super::mlx5::wqe::BLOCK_BYTES;
use super::super::mlx5::{MAX_MESSAGE, QueueNumber, cqe, doorbell};
use core::fmt;

/// Version of the layouts in this file. The device code and the host compare it before the first use.
pub const VERSION: u32 = 1;

/// Least basic blocks of a send queue, as a power of two: half of them hold the longest request, with what follows it.
pub const LEAST_LOG_BLOCKS: u32 = 4;
/// Most basic blocks of a send queue, as a power of two.
pub const MOST_LOG_BLOCKS: u32 = doorbell::MOST_BLOCKS.ilog2();

/// Bits of [`QueuePairAbi::flags`].
pub mod flags {
    /// The send queue, or memory that is sent, lies in host memory: what is published is released to the whole system.
    pub const HOST_MEMORY: u32 = 1 << 0;
    /// The completion queue is collapsed: the newest completion is always in its first entry. It loses the first cause of a
    /// failure when others follow before it is read.
    pub const COLLAPSED: u32 = 1 << 1;
    /// `doorbell` is a word of host memory in which the device writes the next index, in 64 bits, and a thread of the host
    /// writes record and doorbell.
    pub const DOORBELL_BY_HOST: u32 = 1 << 2;
    /// What the NIC writes into this device's memory may arrive after its completion, unless a fenced DUMP stands between.
    pub const FLUSH: u32 = 1 << 3;
    /// All of them.
    pub const ALL: u32 = HOST_MEMORY | COLLAPSED | DOORBELL_BY_HOST | FLUSH;
}

/// What a thread must know of a queue pair. Queue pairs stand one behind the other in a table.
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairAbi {
    /// [`VERSION`].
    pub version: u32,
    /// Of [`flags`].
    pub flags: u32,
    /// The queue pair number, as it stands in a control segment.
    pub queue: QueueNumber,
    /// Basic blocks of the send queue, as a power of two.
    pub log_blocks: u32,
    /// The send queue.
    pub blocks: u64,
    /// The word of the send queue in the doorbell record.
    pub record: u64,
    /// The doorbell register; see [`flags::DOORBELL_BY_HOST`].
    pub doorbell: u64,
    /// The completion queue.
    pub completions: u64,
    /// The word of the consumer index in the completion queue's record.
    pub completion_record: u64,
    /// Entries of the completion queue, as a power of two. At least as many as the send queue has blocks.
    pub log_completions: u32,
    /// After so many blocks, as a power of two, a publisher rings even if others are about to.
    pub log_batch: u32,
    /// Its [`QueuePairState`].
    pub state: u64,
    /// Where values come to: 8 bytes that nobody reads, then a slot of 8 bytes for each operation under way.
    pub landing: u64,
    /// The same as the NIC names it.
    pub landing_registered: u64,
    /// A word for each slot: how often it was used up.
    pub landing_turns: u64,
    /// Key of the landing memory, as it stands in a data segment.
    pub landing_key: super::super::mlx5::Key,
    /// Slots, as a power of two.
    pub log_landing: u32,
    /// Most bytes of a message, as a power of two: 30, and less only in tests.
    pub log_max_message: u32,
    /// The peer.
    pub pe: u32,
    /// Its number in the table, and its bit in the map of [`Dirty`](super::Dirty).
    pub number: u32,
    /// Zero.
    pub unused: u32,
}

const _: () = assert!(size_of::<QueuePairAbi>() == 128);

/// The words that the threads of a device share. Zero at the start, and after a recovery; then the completion queue is filled
/// with [`cqe::EMPTY`]. What is changed together stands in one sector of 32 bytes.
#[repr(C, align(128))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairState {
    /// Blocks before this belong to somebody.
    pub reserved: u64,
    /// Landing slots given out.
    pub landing: u64,
    pad_reserved: [u64; 2],
    /// Blocks before this are written.
    pub ready: u64,
    pad_ready: [u64; 3],
    /// 1 while somebody rings.
    pub ring_lock: u64,
    /// Blocks before this were rung for.
    pub produced: u64,
    pad_ring: [u64; 2],
    /// 1 while somebody polls.
    pub poll_lock: u64,
    /// Completions taken.
    pub taken: u64,
    pad_poll: [u64; 2],
    /// Blocks before this are free again.
    pub completed: u64,
    /// 0, or the first [`Failure`](super::Failure).
    pub failure: u64,
    pad_completed: [u64; 14],
}

const _: () = assert!(size_of::<QueuePairState>() == 256);

/// What is wrong with a [`QueuePairAbi`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadQueuePair {
    /// It was made by another version.
    Version(u32),
    /// A flag that is not known.
    Flags(u32),
    /// The send queue's size.
    Blocks(u32),
    /// The completion queue's size.
    Completions(u32),
    /// The batch is not smaller than half of the send queue.
    Batch(u32),
    /// The most bytes of a message.
    Message(u32),
    /// The number of landing slots.
    Landing(u32),
    /// An address is null or not aligned.
    Address(&'static str, u64),
}

impl fmt::Display for BadQueuePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                f,
                "a queue pair of layout {version} was given to code for layout {VERSION}: build host and kernels from \
                 the same version of oxshmem"
            ),
            Self::Flags(flags) => {
                write!(f, "the queue pair has flags that are not known: {:#x}", flags & !flags::ALL)
            }
            Self::Blocks(log) => write!(
                f,
                "a send queue has 2^{LEAST_LOG_BLOCKS} to 2^{MOST_LOG_BLOCKS} basic blocks, not 2^{log}: more could not be \
                 told apart by an index of 16 bits"
            ),
            Self::Completions(log) => write!(
                f,
                "a completion queue of 2^{log} entries may overflow: it needs one for each basic block of the send queue, \
                 and at most 2^23"
            ),
            Self::Batch(log) => {
                write!(f, "a batch of 2^{log} basic blocks is more than half of the send queue")
            }
            Self::Message(log) => write!(f, "a message has at most 2^{log} bytes; the NIC takes 2^0 to 2^30"),
            Self::Landing(log) => write!(f, "a queue pair has 2^0 to 2^20 landing slots, not 2^{log}"),
            Self::Address(name, address) => {
                write!(
                    f,
                    "the address of `{name}` is {address:#x}: it is null, or not aligned as the NIC or the device need it"
                )
            }
        }
    }
}

impl core::error::Error for BadQueuePair {}

impl QueuePairAbi {
    /// Whether device code may use it: versions, sizes and alignments, not what the addresses lead to.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), BadQueuePair> {
        let most_message = MAX_MESSAGE.ilog2();
        if self.version != VERSION {
            return Err(BadQueuePair::Version(self.version));
        }
        if self.flags & !flags::ALL != 0 {
            return Err(BadQueuePair::Flags(self.flags));
        }
        if !(LEAST_LOG_BLOCKS..=MOST_LOG_BLOCKS).contains(&self.log_blocks) {
            return Err(BadQueuePair::Blocks(self.log_blocks));
        }
        let entries = if self.is(flags::COLLAPSED) { 0..=23 } else { self.log_blocks..=23 };
        if !entries.contains(&self.log_completions) {
            return Err(BadQueuePair::Completions(self.log_completions));
        }
        if self.log_batch >= self.log_blocks {
            return Err(BadQueuePair::Batch(self.log_batch));
        }
        if self.log_max_message > most_message {
            return Err(BadQueuePair::Message(self.log_max_message));
        }
        if self.log_landing > 20 {
            return Err(BadQueuePair::Landing(self.log_landing));
        }
        let records = !self.is(flags::DOORBELL_BY_HOST);
        let addresses = [
            ("blocks", self.blocks, BLOCK_BYTES, true),
            ("record", self.record, 4, records),
            ("doorbell", self.doorbell, 8, true),
            ("completions", self.completions, cqe::BYTES, true),
            ("completion_record", self.completion_record, 4, !self.is(flags::COLLAPSED)),
            ("state", self.state, align_of::<QueuePairState>() as u64, true),
            ("landing", self.landing, 8, true),
            ("landing_registered", self.landing_registered, 8, true),
            ("landing_turns", self.landing_turns, 8, true),
        ];
        let bad = |&&(_, at, align, is_used): &&(_, u64, u64, bool)| {
            is_used && (at == 0 || !at.is_multiple_of(align))
        };
        addresses.iter().find(bad).map_or(Ok(()), |&(name, at, ..)| Err(BadQueuePair::Address(name, at)))
    }

    /// Whether it has one of [`flags`].
    pub const fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::mlx5::Key;
    use super::*;

    const GOOD: QueuePairAbi = QueuePairAbi {
        version: VERSION,
        flags: 0,
        queue: QueueNumber::new(7),
        log_blocks: 7,
        blocks: 0x1000,
        record: 0x2004,
        doorbell: 0x3800,
        completions: 0x4000,
        completion_record: 0x5000,
        log_completions: 7,
        log_batch: 5,
        state: 0x6000,
        landing: 0x7000,
        landing_registered: 0x7000,
        landing_turns: 0x8000,
        landing_key: Key::new(1),
        log_landing: 5,
        log_max_message: 30,
        pe: 0,
        number: 0,
        unused: 0,
    };

    #[test]
    fn each_thing_that_is_wrong_is_named() {
        assert_eq!(GOOD.check(), Ok(()));
        let cases = [
            (QueuePairAbi { version: 2, ..GOOD }, BadQueuePair::Version(2)),
            (QueuePairAbi { flags: 1 << 9, ..GOOD }, BadQueuePair::Flags(1 << 9)),
            (QueuePairAbi { log_blocks: 3, ..GOOD }, BadQueuePair::Blocks(3)),
            (QueuePairAbi { log_blocks: 16, ..GOOD }, BadQueuePair::Blocks(16)),
            (QueuePairAbi { log_completions: 6, ..GOOD }, BadQueuePair::Completions(6)),
            (QueuePairAbi { log_completions: 24, ..GOOD }, BadQueuePair::Completions(24)),
            (QueuePairAbi { log_batch: 7, ..GOOD }, BadQueuePair::Batch(7)),
            (QueuePairAbi { log_max_message: 31, ..GOOD }, BadQueuePair::Message(31)),
            (QueuePairAbi { log_landing: 21, ..GOOD }, BadQueuePair::Landing(21)),
            (QueuePairAbi { blocks: 0x1020, ..GOOD }, BadQueuePair::Address("blocks", 0x1020)),
            (QueuePairAbi { record: 0, ..GOOD }, BadQueuePair::Address("record", 0)),
            (QueuePairAbi { state: 0x6040, ..GOOD }, BadQueuePair::Address("state", 0x6040)),
        ];
        for (abi, wrong) in cases {
            assert_eq!(abi.check(), Err(wrong));
            assert!(wrong.to_string().len() > 40, "{wrong}");
        }
    }

    #[test]
    fn what_a_mode_does_not_use_need_not_be_there() {
        let by_host = QueuePairAbi { flags: flags::DOORBELL_BY_HOST, record: 0, ..GOOD };
        assert_eq!(by_host.check(), Ok(()));
        let collapsed =
            QueuePairAbi { flags: flags::COLLAPSED, completion_record: 0, log_completions: 0, ..GOOD };
        assert_eq!(collapsed.check(), Ok(()));
    }
}
