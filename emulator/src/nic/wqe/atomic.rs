//! Operands of atomics, and what they do to a word.

use super::control::{long, word};
use crate::nic::memory::Span;
use crate::nic::regions::Broken;
use crate::nic::violation::Rule;
use std::sync::atomic::Ordering;

/// An atomic operation; operands are numbers of 8 bytes, or of 4 in the lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::nic) struct Atomic {
    /// 4 or 8.
    pub(in crate::nic) size: u32,
    does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Adds; a carry does not leave the fields whose highest bits `boundary` has.
    Add { add: u64, boundary: u64 },
    /// Where the bits of `compare_mask` are those of `compare`, the bits of `swap_mask` become those of `swap`.
    Swap { swap: u64, compare: u64, swap_mask: u64, compare_mask: u64 },
}

const PLAIN_SWAP: u8 = 0x11;
const PLAIN_ADD: u8 = 0x12;
const MASKED_SWAP: u8 = 0x14;
const MASKED_ADD: u8 = 0x15;

impl Atomic {
    pub(super) fn is_atomic(opcode: u8) -> bool {
        matches!(opcode, PLAIN_SWAP | PLAIN_ADD | MASKED_SWAP | MASKED_ADD)
    }

    /// Bytes of the operand by opcode and modifier.
    pub(super) fn size(opcode: u8, opmod: u8) -> Result<u32, Broken> {
        match (matches!(opcode, MASKED_SWAP | MASKED_ADD), opmod) {
            (false, 0) | (true, 9) => Ok(8),
            (true, 8) => Ok(4),
            (masked, _) => {
                let right =
                    if masked { "8 (for 4 bytes) or 9 (for 8)" } else { "0 (this is no masked atomic)" };
                let sentence = format!("operation {opcode:#04x} has modifier {opmod}; it must be {right}");
                Err(Broken::new(Rule::OpMod, sentence))
            }
        }
    }

    /// Segments of operands.
    pub(super) fn segments(opcode: u8, size: u32) -> usize {
        if opcode == MASKED_SWAP && size == 8 { 2 } else { 1 }
    }

    /// Reads the operands.
    pub(super) fn read(opcode: u8, size: u32, bytes: &[u8]) -> Result<Self, Broken> {
        let short = |at| u64::from(word(bytes, at));
        let does = match (opcode, size) {
            // The second half of a fetch-and-add is not looked at: drivers leave it as it was.
            (PLAIN_ADD, _) => Does::Add { add: long(bytes, 0), boundary: 0 },
            (PLAIN_SWAP, _) => Does::Swap {
                swap: long(bytes, 0),
                compare: long(bytes, 8),
                swap_mask: u64::MAX,
                compare_mask: u64::MAX,
            },
            (MASKED_ADD, 4) => {
                if long(bytes, 8) != 0 {
                    let sentence = format!(
                        "the upper 8 bytes behind a masked add of 4 bytes are reserved, and are {:#x}",
                        long(bytes, 8)
                    );
                    return Err(Broken::new(Rule::Reserved, sentence));
                }
                Does::Add { add: short(0), boundary: short(4) }
            }
            (MASKED_ADD, _) => Does::Add { add: long(bytes, 0), boundary: long(bytes, 8) },
            (_, 4) => {
                Does::Swap { swap: short(0), compare: short(4), swap_mask: short(8), compare_mask: short(12) }
            }
            _ => Does::Swap {
                swap: long(bytes, 0),
                compare: long(bytes, 8),
                swap_mask: long(bytes, 16),
                compare_mask: long(bytes, 24),
            },
        };
        Ok(Self { size, does })
    }

    /// The operation as it travels.
    pub(in crate::nic) fn pack(self) -> (u32, [u64; 4]) {
        match self.does {
            Does::Add { add, boundary } => (self.size, [add, boundary, 0, 0]),
            Does::Swap { swap, compare, swap_mask, compare_mask } => {
                (self.size | 0x100, [swap, compare, swap_mask, compare_mask])
            }
        }
    }

    /// `None` for what no NIC of this version sends.
    pub(in crate::nic) fn unpack(extra: u32, [a, b, c, d]: [u64; 4]) -> Option<Self> {
        let size = extra & 0xff;
        let does = match extra >> 8 {
            0 => Does::Add { add: a, boundary: b },
            1 => Does::Swap { swap: a, compare: b, swap_mask: c, compare_mask: d },
            _ => return None,
        };
        matches!(size, 4 | 8).then_some(Self { size, does })
    }

    /// The word's next value.
    fn next(self, old: u64) -> u64 {
        match self.does {
            Does::Add { add, boundary } => {
                // Without the highest bits of the fields no carry leaves a field; they are added without carry.
                ((old & !boundary).wrapping_add(add & !boundary)) ^ ((old ^ add) & boundary)
            }
            Does::Swap { swap, compare, swap_mask, compare_mask } => {
                if (old ^ compare) & compare_mask == 0 {
                    old & !swap_mask | swap & swap_mask
                } else {
                    old
                }
            }
        }
    }

    /// Changes the word at the span's start in one step, and returns what it was; `None` if it is not aligned.
    pub(in crate::nic) fn apply(self, span: &Span) -> Option<u64> {
        let (set, fetch) = (Ordering::AcqRel, Ordering::Acquire);
        if self.size == 8 {
            return span.word64(0)?.fetch_update(set, fetch, |old| Some(self.next(old))).ok();
        }
        let old = span.word32(0)?.fetch_update(set, fetch, |old| Some(self.next(u64::from(old)) as u32));
        old.ok().map(u64::from)
    }

    /// The result's bytes as they land: 8 bytes as the memory has them, 4 bytes big endian.
    pub(in crate::nic) fn landed(self, old: u64) -> Vec<u8> {
        if self.size == 8 { old.to_ne_bytes().to_vec() } else { (old as u32).to_be_bytes().to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Atomic, Does};

    #[test]
    fn a_boundary_cuts_the_carry() {
        let add = |add, boundary| Atomic { size: 8, does: Does::Add { add, boundary } };
        assert_eq!(add(1, 0).next(u64::MAX), 0);
        assert_eq!(
            add(0x1234, u64::MAX).next(0xff00),
            0x1234 ^ 0xff00,
            "cut everywhere, it is an exclusive or"
        );
        // Two fields of 32 bits.
        let halves = add(0x0000_0001_0000_0001, 0x8000_0000_8000_0000);
        assert_eq!(halves.next(0x0000_0000_ffff_ffff), 0x0000_0001_0000_0000);
        assert_eq!(halves.next(0x7fff_ffff_7fff_ffff), 0x8000_0000_8000_0000);
        // The same field by field.
        let fields = add(0x80, 0x8080_8080_8080_8080);
        assert_eq!(fields.next(0x80), 0, "the carry out of the lowest byte is lost");
    }

    #[test]
    fn masks_say_what_is_compared_and_what_is_swapped() {
        let swap = |swap_mask, compare_mask| Atomic {
            size: 8,
            does: Does::Swap { swap: 0xaaaa, compare: 0x1200, swap_mask, compare_mask },
        };
        assert_eq!(swap(0xff, 0xff00).next(0x1234), 0x12aa);
        assert_eq!(swap(0xff, 0xffff).next(0x1234), 0x1234);
        assert_eq!(swap(u64::MAX, 0).next(0x1234), 0xaaaa);
    }

    #[test]
    fn what_travels_comes_out() {
        let swap = Does::Swap { swap: 1, compare: 2, swap_mask: 3, compare_mask: 4 };
        for does in [Does::Add { add: 5, boundary: 6 }, swap] {
            for size in [4, 8] {
                let atomic = Atomic { size, does };
                let (extra, operands) = atomic.pack();
                assert_eq!(Atomic::unpack(extra, operands), Some(atomic));
            }
        }
        assert_eq!(Atomic::unpack(7, [0; 4]), None);
        assert_eq!(Atomic::unpack(0x208, [0; 4]), None);
    }
}
