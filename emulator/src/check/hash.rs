//! Hashes of addresses in tables.

use std::hash::{BuildHasher, Hasher};

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
