//! What travels between NICs: a header of fixed size and up to an MTU of bytes.

/// Longest payload of a packet in bytes: the largest MTU.
pub(super) const MTU: usize = 4096;

/// A message is at most 1 GiB.
pub(super) const LONGEST: u64 = 1 << 30;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    /// Part of a write: `address`, `key`; on the first packet `length` is the message's.
    Write = 1,
    /// Asks for `length` bytes.
    Read,
    /// Asks for an atomic: `operands`, `extra` as [`super::atomic`] packs it.
    Atomic,
    /// Every write up to this number is done.
    Ack,
    /// Bytes of a read's answer; `address` is their offset in the message.
    ReadData,
    /// An atomic's old value in `operands[0]`.
    AtomicResult,
    /// Refused; `extra` is the syndrome.
    Nak,
    /// No receive; `extra` is the code of the wait.
    Rnr,
}

impl Kind {
    fn of(number: u32) -> Option<Self> {
        use Kind::{Ack, Atomic, AtomicResult, Nak, Read, ReadData, Rnr, Write};
        [Write, Read, Atomic, Ack, ReadData, AtomicResult, Nak, Rnr]
            .into_iter()
            .find(|&kind| kind as u32 == number)
    }

    /// Whether it asks, rather than answers.
    pub(super) fn is_request(self) -> bool {
        matches!(self, Self::Write | Self::Read | Self::Atomic)
    }
}

/// The first packet of a message.
pub(super) const FIRST: u32 = 1;
/// The last packet of a message.
pub(super) const LAST: u32 = 2;
/// The message has an immediate value.
pub(super) const IMMEDIATE: u32 = 4;

/// A packet's header, as it lies in a mailbox: integers without gaps, so any bytes are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Header {
    /// A [`Kind`], if it is one.
    pub(super) kind: u32,
    pub(super) flags: u32,
    /// The sender's place on the fabric, and which NIC at this place it is.
    pub(super) source_slot: u32,
    pub(super) source_generation: u32,
    /// Which NIC at the receiver's place is meant.
    pub(super) target_generation: u32,
    pub(super) source_qpn: u32,
    pub(super) target_qpn: u32,
    /// 24 bits.
    pub(super) psn: u32,
    pub(super) key: u32,
    pub(super) length: u32,
    pub(super) immediate: u32,
    pub(super) extra: u32,
    pub(super) address: u64,
    pub(super) operands: [u64; 4],
}

/// Bytes of a header.
pub(super) const HEADER: usize = size_of::<Header>();
const _: () = assert!(HEADER == 12 * 4 + 5 * 8, "no gaps");

impl Header {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind: kind as u32, ..Self::default() }
    }

    /// `None` for what no NIC of this version sends.
    pub(super) fn kind(&self) -> Option<Kind> {
        Kind::of(self.kind)
    }

    pub(super) fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        // SAFETY: `repr(C)` integers without gaps (checked above): every byte is initialised.
        unsafe { std::mem::transmute(self) }
    }

    pub(super) fn of_bytes(bytes: [u8; HEADER]) -> Self {
        // SAFETY: integers of any value.
        unsafe { std::mem::transmute(bytes) }
    }
}
