//! Completions: what the NIC writes when a work request is over, 64 bytes each.
//!
//! | offset | content |
//! |---|---|
//! | 32 | user index, 4 bytes |
//! | 44 | bytes, 4 bytes |
//! | 52 to 55 | of an error: hardware syndrome, its type, vendor syndrome, [`Syndrome`] |
//! | 56 | opcode of the request 8 bits, queue pair number 24 bits |
//! | 60 | index of the request's first basic block, 2 bytes |
//! | 62 | signature |
//! | 63 | [`CqeOpcode`] in bits 7 to 4, owner in bit 0 |
//!
//! The word at 60 is written last and is the only one that is polled: [`Tail`]. Everything else is read behind an acquire.

use super::Syndrome;

/// Bytes of a completion.
pub const BYTES: u64 = 64;
/// Where the [`Tail`] stands.
pub const TAIL: u64 = 60;
/// Where the [`ErrorWord`] stands.
pub const ERROR: u64 = 52;
/// Where the word with the request's opcode and the queue pair number stands.
pub const REQUEST: u64 = 56;
/// What every byte of a completion queue is before the first use: opcode 15, owned by the hardware.
pub const EMPTY: u8 = 0xff;

/// Of what kind a completion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqeOpcode {
    /// A request of a send queue is done.
    Requester,
    /// A request of a send queue has failed.
    RequesterError,
    /// What a peer sent to this queue pair has failed.
    ResponderError,
    /// No completion was written here yet.
    Invalid,
    /// One that a queue pair that only posts one-sided operations never gets, with its code.
    Other(u8),
}

/// The last 4 bytes of a completion, as a word of memory.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail(u32);

impl Tail {
    /// Of the word of memory.
    #[inline(always)]
    pub const fn from_memory(word: u32) -> Self {
        Self(word)
    }

    /// Of what kind the completion is.
    #[inline(always)]
    pub const fn opcode(self) -> CqeOpcode {
        match self.0 >> 28 {
            0 => CqeOpcode::Requester,
            13 => CqeOpcode::RequesterError,
            14 => CqeOpcode::ResponderError,
            15 => CqeOpcode::Invalid,
            other => CqeOpcode::Other(other as u8),
        }
    }

    /// The owner bit. In round `r` of a completion queue, counted from 0, software owns an entry whose bit is `r & 1`.
    #[inline(always)]
    pub const fn owner(self) -> u32 {
        self.0 >> 24 & 1
    }

    /// Whether entry `index` of a queue of `1 << log_entries`, counted on and on, has been written.
    #[inline(always)]
    pub const fn is_written(self, index: u64, log_entries: u32) -> bool {
        !matches!(self.opcode(), CqeOpcode::Invalid) && self.owner() == (index >> log_entries) as u32 & 1
    }

    /// Index of the request's **first** basic block.
    #[inline(always)]
    pub const fn counter(self) -> u16 {
        (self.0 as u16).swap_bytes()
    }
}

/// The 4 bytes that say why a request failed, as a word of memory.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorWord(u32);

impl ErrorWord {
    /// Of the word of memory.
    #[inline(always)]
    pub const fn from_memory(word: u32) -> Self {
        Self(word)
    }

    /// The word of memory.
    #[inline(always)]
    pub const fn to_memory(self) -> u32 {
        self.0
    }

    /// The hardware's syndrome, which its maker can read.
    #[inline(always)]
    pub const fn hardware(self) -> u8 {
        self.0 as u8
    }

    /// The type of the hardware's syndrome.
    #[inline(always)]
    pub const fn hardware_type(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// The vendor's syndrome: [`Syndrome::vendor_meaning`] knows some.
    #[inline(always)]
    pub const fn vendor(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// The code of the [`Syndrome`].
    #[inline(always)]
    pub const fn code(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// Why the request failed, if the code is one that is known.
    pub const fn syndrome(self) -> Option<Syndrome> {
        Syndrome::from_code(self.code())
    }
}

/// Of the word of memory at [`REQUEST`]: the opcode of the request.
#[inline(always)]
pub const fn request_opcode(word: u32) -> u8 {
    word as u8
}

/// Of the word of memory at [`REQUEST`]: the queue pair number.
#[inline(always)]
pub const fn request_qpn(word: u32) -> u32 {
    word.swap_bytes() & 0x00ff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word(bytes: &[u8; 64], at: u64) -> u32 {
        let at = at as usize;
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }

    #[test]
    fn what_a_queue_is_filled_with_is_no_completion_in_any_round() {
        let tail = Tail::from_memory(word(&[EMPTY; 64], TAIL));
        assert_eq!(tail.opcode(), CqeOpcode::Invalid);
        for index in 0..64 {
            assert!(!tail.is_written(index, 4));
        }
    }

    #[test]
    fn an_entry_is_there_when_its_owner_is_the_round() {
        let round = |owner: u8| Tail::from_memory(u32::from_le_bytes([0, 7, 0, owner]));
        assert_eq!(round(0).counter(), 7);
        for index in 0..64u64 {
            let is_odd = index / 8 % 2 == 1;
            assert_eq!((round(0).is_written(index, 3), round(1).is_written(index, 3)), (!is_odd, is_odd));
        }
    }

    proptest! {
        #[test]
        fn each_field_is_read_from_where_the_table_says(
            counter: u16, opcode in 0u8..16, owner in 0u8..2, hw: u8, kind: u8, vendor: u8, code: u8,
            request: u8, qpn in 0u32..1 << 24,
        ) {
            let mut bytes = [0x5a; 64];
            bytes[52..56].copy_from_slice(&[hw, kind, vendor, code]);
            bytes[56..60].copy_from_slice(&(u32::from(request) << 24 | qpn).to_be_bytes());
            bytes[60..62].copy_from_slice(&counter.to_be_bytes());
            bytes[63] = opcode << 4 | owner;
            let tail = Tail::from_memory(word(&bytes, TAIL));
            prop_assert_eq!((tail.counter(), tail.owner()), (counter, u32::from(owner)));
            let expected = match opcode {
                0 => CqeOpcode::Requester,
                13 => CqeOpcode::RequesterError,
                14 => CqeOpcode::ResponderError,
                15 => CqeOpcode::Invalid,
                other => CqeOpcode::Other(other),
            };
            prop_assert_eq!(tail.opcode(), expected);
            let error = ErrorWord::from_memory(word(&bytes, ERROR));
            prop_assert_eq!(
                (error.hardware(), error.hardware_type(), error.vendor(), error.code()),
                (hw, kind, vendor, code)
            );
            let at = word(&bytes, REQUEST);
            prop_assert_eq!((request_opcode(at), request_qpn(at)), (request, qpn));
        }
    }
}
