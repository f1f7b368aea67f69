//! What went wrong first with a queue pair: one word, so that it is there as a whole or not at all.
//!
//! | bits | content |
//! |---|---|
//! | 0 to 7 | kind: 1 a failed request, 3 a wait that ran out, 5 a completion that cannot be; odd, so that the word is not zero |
//! | 8 to 15 | the request's opcode; which wait; the completion's opcode |
//! | 16 to 31 | index of the request |
//! | 32 to 63 | of a failed request the [`ErrorWord`] |

use super::super::mlx5::cqe::{CqeOpcode, ErrorWord, Tail};
use super::super::mlx5::{Opcode, Syndrome};
use core::fmt;
use core::num::NonZeroU64;

const REQUEST: u64 = 1;
const EXPIRED: u64 = 3;
const IMPOSSIBLE: u64 = 5;

/// For what a thread waited.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Room in the send queue.
    Room = 1,
    /// That those who reserved before have published.
    Turn = 2,
    /// The ring lock.
    Ring = 3,
    /// Completion.
    Completion = 4,
    /// A landing slot.
    Slot = 5,
}

impl Waiting {
    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Room),
            2 => Some(Self::Turn),
            3 => Some(Self::Ring),
            4 => Some(Self::Completion),
            5 => Some(Self::Slot),
            _ => None,
        }
    }
}

/// The first failure of a queue pair, as it stands in
/// [`QueuePairState::failure`](super::abi::QueuePairState::failure).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Failure(NonZeroU64);

/// A [`Failure`], taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The NIC reported that a request failed.
    Request {
        /// Its opcode; `None` if it is none that oxshmem posts.
        opcode: Option<Opcode>,
        /// Index of its first basic block, lower 16 bits.
        index: u16,
        /// What the NIC said.
        error: ErrorWord,
    },
    /// A wait ran out.
    Expired(Waiting),
    /// The completion queue holds what no NIC should write there.
    Impossible {
        /// The completion's opcode.
        opcode: CqeOpcode,
        /// The index that it names.
        index: u16,
    },
    /// A word that this version does not write.
    Unknown(u64),
}

impl Failure {
    #[inline(always)]
    fn of(kind: u64, detail: u8, index: u16, error: u32) -> Self {
        let word = kind | u64::from(detail) << 8 | u64::from(index) << 16 | u64::from(error) << 32;
        Self(NonZeroU64::MIN | word)
    }

    #[inline(always)]
    pub(super) fn request(opcode: u8, index: u16, error: ErrorWord) -> Self {
        Self::of(REQUEST, opcode, index, error.to_memory())
    }

    #[inline(always)]
    pub(super) fn expired(waiting: Waiting) -> Self {
        Self::of(EXPIRED, waiting as u8, 0, 0)
    }

    #[inline(always)]
    pub(super) fn impossible(tail: u32) -> Self {
        Self::of(IMPOSSIBLE, (tail >> 24) as u8, Tail::from_memory(tail).counter(), 0)
    }

    /// Of the word in memory; `None` of 0, which says that nothing failed.
    #[inline(always)]
    pub const fn from_word(word: u64) -> Option<Self> {
        match NonZeroU64::new(word) {
            Some(word) => Some(Self(word)),
            None => None,
        }
    }

    /// The word in memory.
    #[inline(always)]
    pub const fn word(self) -> u64 {
        self.0.get()
    }

    /// Takes it apart.
    pub fn cause(self) -> Cause {
        let word = self.word();
        let (detail, index) = ((word >> 8) as u8, (word >> 16) as u16);
        match (word & 0xff, Waiting::from_code(detail)) {
            (REQUEST, _) => Cause::Request {
                opcode: Opcode::from_code(detail),
                index,
                error: ErrorWord::from_memory((word >> 32) as u32),
            },
            (EXPIRED, Some(waiting)) => Cause::Expired(waiting),
            (IMPOSSIBLE, _) => {
                Cause::Impossible { opcode: Tail::from_memory(u32::from(detail) << 24).opcode(), index }
            }
            _ => Cause::Unknown(word),
        }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failure").field(&self.cause()).finish()
    }
}

/// What happened and what to look at, as a sentence.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause() {
            Cause::Request { opcode, index, error } => {
                let name = opcode.map_or("a request", Opcode::name);
                write!(f, "{name} at index {index:#06x} failed: ")?;
                match error.syndrome() {
                    Some(syndrome) => write!(f, "{syndrome}")?,
                    None => write!(f, "syndrome {:#04x}, which is not known", error.code())?,
                }
                write!(f, " (vendor syndrome {:#04x}", error.vendor())?;
                if let Some(meaning) = Syndrome::vendor_meaning(error.vendor()) {
                    write!(f, ": {meaning}")?;
                }
                f.write_str(")")
            }
            Cause::Expired(waiting) => f.write_str(match waiting {
                Waiting::Room => {
                    "no room came up in the send queue in time: the NIC completes nothing; look at the peer and the link"
                }
                Waiting::Turn => {
                    "a thread that reserved earlier did not write its request in time: look for a kernel that ended or failed \
                     inside an operation"
                }
                Waiting::Ring => "the thread that rings the doorbell did not end in time",
                Waiting::Completion => {
                    "an operation did not complete in time: look at the peer and the link, or raise the deadline"
                }
                Waiting::Slot => {
                    "no landing slot came free in time: more values were asked for than the queue pair has slots, and not \
                     waited for"
                }
            }),
            Cause::Impossible { opcode, index } => write!(
                f,
                "the completion queue holds {opcode:?} for index {index:#06x}, which nothing that was posted can have: \
                 somebody else writes to this memory or uses this queue pair"
            ),
            Cause::Unknown(word) => write!(f, "a failure that this version does not know: {word:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_comes_back_with_what_it_was_made_of() {
        let error = ErrorWord::from_memory(u32::from_le_bytes([1, 2, 0x93, 0x13]));
        let failed = Failure::request(0x10, 0xfffe, error);
        let cause = Cause::Request { opcode: Some(Opcode::RdmaRead), index: 0xfffe, error };
        assert_eq!(failed.cause(), cause);
        let text = failed.to_string();
        for part in ["RDMA READ", "0xfffe", "0x13", "rkey", "0x93", "on demand"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        for waiting in [Waiting::Room, Waiting::Turn, Waiting::Ring, Waiting::Completion, Waiting::Slot] {
            let expired = Failure::expired(waiting);
            assert_eq!(expired.cause(), Cause::Expired(waiting));
            assert!(expired.to_string().contains("in time"));
        }
        let tail = u32::from_le_bytes([0x12, 0x34, 0, 0x21]);
        let impossible = Failure::impossible(tail);
        assert_eq!(impossible.cause(), Cause::Impossible { opcode: CqeOpcode::Other(2), index: 0x1234 });
        for failure in [failed, Failure::expired(Waiting::Turn), impossible] {
            assert_eq!(Failure::from_word(failure.word()), Some(failure));
        }
        assert_eq!(Failure::from_word(0), None);
        assert_eq!(Failure::from_word(0x77).map(Failure::cause), Some(Cause::Unknown(0x77)));
    }
}
