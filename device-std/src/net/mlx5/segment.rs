//! The unit of a work request, and the two kinds of number that are kept as they stand in one.

/// 16 bytes of a work request: what the device writes by one store.
///
/// It holds the bytes as two words of memory, the lower addresses in the lower bits.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    low: u64,
    high: u64,
}

const _: () = assert!(size_of::<Segment>() == 16 && align_of::<Segment>() == 16);
const _: () = assert!(cfg!(target_endian = "little"), "words of memory are put together lower bytes first");

impl Segment {
    /// 16 zero bytes.
    pub const ZERO: Self = Self { low: 0, high: 0 };

    /// Of two words of memory.
    #[inline(always)]
    pub const fn from_memory(low: u64, high: u64) -> Self {
        Self { low, high }
    }

    /// Of four words of memory.
    #[inline(always)]
    pub const fn from_memory_words(words: [u32; 4]) -> Self {
        let [a, b, c, d] = words;
        Self { low: a as u64 | (b as u64) << 32, high: c as u64 | (d as u64) << 32 }
    }

    /// Of two numbers of 8 bytes.
    #[inline(always)]
    pub const fn from_u64(first: u64, second: u64) -> Self {
        Self { low: first.to_be(), high: second.to_be() }
    }

    /// The two words of memory.
    #[inline(always)]
    pub const fn to_memory(self) -> [u64; 2] {
        [self.low, self.high]
    }

    /// The bytes, in the order of their addresses.
    pub const fn to_bytes(self) -> [u8; 16] {
        ((self.high as u128) << 64 | self.low as u128).to_le_bytes()
    }
}

/// A memory key (lkey or rkey), kept as it stands in a work request: swapped once, on the host.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u32);

impl Key {
    /// Of the number that the driver gave: index in the upper 24 bits, variant in the lower 8.
    #[inline(always)]
    pub const fn new(number: u32) -> Self {
        Self(number.to_be())
    }

    /// Of what [`to_memory`](Self::to_memory) said.
    #[inline(always)]
    pub const fn from_memory(word: u32) -> Self {
        Self(word)
    }

    /// The word of memory.
    #[inline(always)]
    pub const fn to_memory(self) -> u32 {
        self.0
    }

    /// The number that the driver gave.
    pub const fn number(self) -> u32 {
        u32::from_be(self.0)
    }
}

/// A queue pair's number, kept as it stands in the control segment and the doorbell: shifted by 8 bits and swapped.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueNumber(u32);

impl QueueNumber {
    /// Of the queue pair number, of which the lower 24 bits count: it has no more.
    #[inline(always)]
    pub const fn new(qpn: u32) -> Self {
        Self((qpn << 8).to_be())
    }

    /// Of what [`to_memory`](Self::to_memory) said.
    #[inline(always)]
    pub const fn from_memory(word: u32) -> Self {
        Self(word & 0x00ff_ffff)
    }

    /// The word of memory; its byte at the highest address is zero.
    #[inline(always)]
    pub const fn to_memory(self) -> u32 {
        self.0
    }

    /// The queue pair number.
    pub const fn number(self) -> u32 {
        u32::from_be(self.0) >> 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stand_in_the_order_of_their_addresses() {
        let bytes = Segment::from_u64(0x0102_0304_0506_0708, 0x090a_0b0c_0d0e_0f10).to_bytes();
        assert_eq!(bytes, core::array::from_fn(|at| at as u8 + 1));
        let words = Segment::from_memory_words([0x0403_0201, 0x0807_0605, 0x0c0b_0a09, 0x100f_0e0d]);
        assert_eq!(words.to_bytes(), bytes);
        let [low, high] = words.to_memory();
        assert_eq!(Segment::from_memory(low, high), words);
        assert_eq!(Segment::ZERO.to_bytes(), [0; 16]);
    }

    #[test]
    fn keys_and_queue_numbers_come_back() {
        assert_eq!(Key::new(0x1800a5).to_memory().to_ne_bytes(), [0x00, 0x18, 0x00, 0xa5]);
        assert_eq!(Key::from_memory(Key::new(0x1800a5).to_memory()).number(), 0x1800a5);
        let queue = QueueNumber::new(0x00ab_cdef);
        assert_eq!(queue.to_memory().to_ne_bytes(), [0xab, 0xcd, 0xef, 0]);
        assert_eq!(QueueNumber::from_memory(queue.to_memory()).number(), 0x00ab_cdef);
        assert_eq!(QueueNumber::new(0xffab_cdef), queue);
    }
}
