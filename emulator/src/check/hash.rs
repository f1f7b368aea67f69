//! Hashes: of states, and of addresses in tables.

use std::hash::{BuildHasher, Hasher};

/// A good hash of one word.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes an address by a multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Direct(u64);
impl BuildHasher for Direct {
    type Hasher = Self;
    fn build_hasher(&self) -> Self {
        Self(0)
    }
}
impl Hasher for Direct {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}
