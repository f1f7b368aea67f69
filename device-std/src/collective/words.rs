//! Memory as words of 8 bytes, whatever its alignment.

use crate::copy::{self, GlobalSpace};
use bytemuck::Pod;

/// Word `index` of the `bytes` at `from`; the last one may be a part, whose rest is 0.
///
/// # Safety
/// `from` is the valid, aligned address of `bytes` of device memory that hold `T`s, and the word begins in them.
#[inline(always)]
pub(super) unsafe fn load<T: Pod>(from: u64, index: u64, bytes: u64) -> u64 {
    let (at, left) = (from + 8 * index, bytes - 8 * index);
    // SAFETY: every access below is of bytes of the range, aligned as `T`s or as whole words are.
    unsafe {
        if at & 7 == 0 && left >= 8 {
            return copy::load::<GlobalSpace, u64>(at);
        }
        match align_of::<T>() {
            1 => parts::<1>(left, |k| u64::from(copy::load::<GlobalSpace, u8>(at + k))),
            2 => parts::<2>(left, |k| u64::from(copy::load::<GlobalSpace, u16>(at + k))),
            4 => parts::<4>(left, |k| u64::from(copy::load::<GlobalSpace, u32>(at + k))),
            _ => copy::load::<GlobalSpace, u64>(at),
        }
    }
}

/// Writes word `index` of the `bytes` at `to`; of the last one as much as there is.
///
/// # Safety
/// As [`load`], and nobody else accesses the word meanwhile.
#[inline(always)]
pub(super) unsafe fn store<T: Pod>(to: u64, index: u64, bytes: u64, word: u64) {
    let (at, left) = (to + 8 * index, bytes - 8 * index);
    // SAFETY: as in `load`.
    unsafe {
        if at & 7 == 0 && left >= 8 {
            return copy::store::<GlobalSpace, u64>(at, word);
        }
        match align_of::<T>() {
            1 => each::<1>(left, |k| copy::store::<GlobalSpace, u8>(at + k, (word >> (8 * k)) as u8)),
            2 => each::<2>(left, |k| copy::store::<GlobalSpace, u16>(at + k, (word >> (8 * k)) as u16)),
            4 => each::<4>(left, |k| copy::store::<GlobalSpace, u32>(at + k, (word >> (8 * k)) as u32)),
            _ => copy::store::<GlobalSpace, u64>(at, word),
        }
    }
}

/// A word of parts of `BYTES` bytes, as many as lie in what is `left`.
#[inline(always)]
fn parts<const BYTES: u64>(left: u64, part: impl Fn(u64) -> u64) -> u64 {
    let mut word = 0;
    each::<BYTES>(left, |k| word |= part(k) << (8 * k));
    word
}

#[inline(always)]
fn each<const BYTES: u64>(left: u64, mut f: impl FnMut(u64)) {
    let end = left.min(8);
    let mut k = 0;
    while k < end {
        f(k);
        k += BYTES;
    }
}
