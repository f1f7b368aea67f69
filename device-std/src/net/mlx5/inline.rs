//! Inline data: bytes that travel in the work request itself, behind a header of 4 bytes, padded to a whole segment.
//!
//! | offset | content |
//! |---|---|
//! | 0 | bytes, 4 bytes, with bit 31 set |
//! | 4 | the bytes, in the order of memory |

use super::Segment;

/// The bit that tells inline data from a data segment.
const IS_INLINE: u32 = 1 << 31;

/// The header, as a word of memory.
#[inline(always)]
pub const fn inline_header(bytes: u32) -> u32 {
    (bytes | IS_INLINE).to_be()
}

/// At most 12 bytes of inline data: with its header one segment, so that the work request fits into one basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inline {
    /// How many of the bytes count.
    bytes: u32,
    /// Words of memory.
    words: [u32; 3],
}

impl Inline {
    /// Most bytes.
    pub const MOST: u32 = 12;

    /// One byte.
    #[inline(always)]
    pub const fn of_u8(value: u8) -> Self {
        Self { bytes: 1, words: [value as u32, 0, 0] }
    }

    /// Two bytes, in the order of memory.
    #[inline(always)]
    pub const fn of_u16(value: u16) -> Self {
        Self { bytes: 2, words: [value as u32, 0, 0] }
    }

    /// Four bytes, in the order of memory.
    #[inline(always)]
    pub const fn of_u32(value: u32) -> Self {
        Self { bytes: 4, words: [value, 0, 0] }
    }

    /// Eight bytes, in the order of memory.
    #[inline(always)]
    pub const fn of_u64(value: u64) -> Self {
        Self { bytes: 8, words: [value as u32, (value >> 32) as u32, 0] }
    }

    /// The first `bytes` bytes of three words of memory. `None` if that is none of them or more than there are.
    #[inline(always)]
    pub const fn of_words(words: [u32; 3], bytes: u32) -> Option<Self> {
        if bytes == 0 || bytes > Self::MOST {
            return None;
        }
        Some(Self { bytes, words })
    }

    /// How many bytes it has, 1 to 12.
    #[inline(always)]
    pub const fn bytes(self) -> u32 {
        self.bytes
    }

    /// The segment, header included. What lies behind the bytes is not read by the NIC.
    #[inline(always)]
    pub const fn segment(self) -> Segment {
        let [a, b, c] = self.words;
        Segment::from_memory_words([inline_header(self.bytes), a, b, c])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_width_stands_behind_its_header_in_the_order_of_memory() {
        let cases = [
            (Inline::of_u8(0xa1), vec![0xa1]),
            (Inline::of_u16(0xa2a1), vec![0xa1, 0xa2]),
            (Inline::of_u32(0xa4a3_a2a1), vec![0xa1, 0xa2, 0xa3, 0xa4]),
            (Inline::of_u64(0xa8a7_a6a5_a4a3_a2a1), vec![0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8]),
        ];
        for (inline, data) in cases {
            let bytes = inline.segment().to_bytes();
            assert_eq!(bytes[..4], [0x80, 0, 0, data.len() as u8]);
            assert_eq!(bytes[4..][..data.len()], data);
            assert_eq!(bytes[4 + data.len()..], [0; 12][data.len()..]);
            assert_eq!(inline.bytes() as usize, data.len());
        }
    }

    #[test]
    fn words_of_any_length_up_to_twelve_bytes_are_taken() {
        for bytes in 0..20 {
            let inline = Inline::of_words([1, 2, 3], bytes);
            assert_eq!(inline.map(Inline::bytes), (1..=12).contains(&bytes).then_some(bytes));
        }
    }
}
