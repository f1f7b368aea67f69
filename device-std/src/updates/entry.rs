//! An update as it is sent: the index of its word and the value, in one access of 8 or 16 bytes.

use crate::arch::{Exchange, V16, Word};

/// Bits that an update carries.
#[doc(hidden)]
pub trait Carried: Exchange {
    /// An update on its way.
    type Entry: Word;
    /// Words of a table that an entry can name: indices of values of up to 4 bytes have 32 bits, so that an update takes 8
    /// bytes and not 16.
    const INDICES: u64;
    /// An update of the word at `index`, which is less than [`INDICES`](Self::INDICES).
    fn pack(self, index: u64) -> Self::Entry;
    /// Index and value.
    fn unpack(entry: Self::Entry) -> (u64, Self);
}

macro_rules! narrow {
    ($($ty:ty)*) => {
        $(
            impl Carried for $ty {
                type Entry = u64;
                const INDICES: u64 = 1 << 32;
                #[inline(always)]
                fn pack(self, index: u64) -> u64 {
                    index | u64::from(self) << 32
                }
                #[inline(always)]
                fn unpack(entry: u64) -> (u64, Self) {
                    (entry & 0xffff_ffff, (entry >> 32) as $ty)
                }
            }
        )*
    };
}
narrow!(u16 u32);

impl Carried for u64 {
    type Entry = V16;
    const INDICES: u64 = u64::MAX;
    #[inline(always)]
    fn pack(self, index: u64) -> V16 {
        V16(index, self)
    }
    #[inline(always)]
    fn unpack(V16(index, value): V16) -> (u64, Self) {
        (index, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<W: Carried + PartialEq + core::fmt::Debug>(index: u64, value: W) {
        assert_eq!(W::unpack(value.pack(index)), (index, value));
    }

    #[test]
    fn an_entry_keeps_index_and_value() {
        for index in [0, 1, 0x8000_0001, 0xffff_ffff] {
            there_and_back(index, 0xfffeu16);
            there_and_back(index, 0xffff_fffeu32);
            there_and_back(index, u64::MAX - 1);
        }
        there_and_back(u64::MAX - 1, 7u64);
    }
}
