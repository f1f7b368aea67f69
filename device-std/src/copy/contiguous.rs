//! Contiguous copies, by all threads of a scope.
//!
//! | how target and source lie to the 16-byte grid | body | head and tail |
//! |---|---|---|
//! | the same | 16-byte loads and stores, `IN_FLIGHT` of each per thread | element by element, to the grid |
//! | differently | two aligned 16-byte loads, shifted together, and a 16-byte store; four such in flight per thread | element by element, to the target's grid, and as far that no load leaves the source |
//!
//! A scope of many threads has enough in flight with four each: more costs registers and gains nothing. A warp, and still
//! more one thread alone, moves what it has in flight per trip to memory: they take 12 and 16.

use super::space::Space;
use crate::arch::order::opaque;
use crate::arch::{V16, Word};
use bytemuck::Pod;

/// Copies `bytes` from `source` to `target`, which begin and end on `T`'s alignment, by the `size` threads of a scope,
/// of which the caller is number `rank`. The ranges do not overlap, or are the same.
///
/// # Safety
/// Both ranges are valid in their spaces and aligned for `T`; nothing else accesses the target meanwhile.
#[inline(always)]
pub(crate) unsafe fn copy<D: Space, S: Space, T: Pod, const IN_FLIGHT: u32>(
    target: u64,
    source: u64,
    bytes: u64,
    rank: u64,
    size: u64,
) {
    const { assert!(matches!(IN_FLIGHT, 4 | 12 | 16)) };
    // SAFETY: `T`'s alignment (a power of two, at most 16 here) divides both addresses and its size.
    unsafe {
        // Mostly all of it is words of 16 bytes: what is small is then soon done.
        if (target | source | bytes) & 15 == 0 {
            return strided::<D, S, IN_FLIGHT>(target, source, bytes / 16, rank, size);
        }
        match align_of::<T>() {
            1 => ragged::<D, S, u8, IN_FLIGHT>(target, source, bytes, rank, size),
            2 => ragged::<D, S, u16, IN_FLIGHT>(target, source, bytes, rank, size),
            4 => ragged::<D, S, u32, IN_FLIGHT>(target, source, bytes, rank, size),
            8 => ragged::<D, S, u64, IN_FLIGHT>(target, source, bytes, rank, size),
            _ => strided::<D, S, IN_FLIGHT>(target, source, bytes / 16, rank, size),
        }
    }
}

/// Copies bytes that are a whole number of aligned `W`s.
///
/// # Safety
/// As [`copy`], with `W` for the element.
#[inline(always)]
unsafe fn ragged<D: Space, S: Space, W: Word, const IN_FLIGHT: u32>(
    target: u64,
    source: u64,
    bytes: u64,
    rank: u64,
    size: u64,
) {
    let unit = size_of::<W>() as u64;
    // A chunk is 16 bytes on the target's grid; its bytes begin `shift` bytes behind the source's grid.
    let shift = source.wrapping_sub(target) & 15;
    let to_grid = target.wrapping_neg() & 15;
    // The loads of a chunk begin `shift` bytes before it, and end this many bytes behind its begin.
    let head = if to_grid < shift { to_grid + 16 } else { to_grid };
    let span = if shift == 0 { 16 } else { 32 - shift };
    let chunks = if bytes < head + span { 0 } else { (bytes - head - span) / 16 + 1 };
    let head = if chunks == 0 { bytes } else { head };
    let done = head + 16 * chunks;
    // SAFETY: head, body and tail are parts of the ranges, aligned as their accesses need.
    unsafe {
        each::<D, S, W>(target, source, head, rank * unit, size * unit);
        if shift == 0 {
            strided::<D, S, IN_FLIGHT>(target + head, source + head, chunks, rank, size);
        } else {
            shifted::<D, S>(target + head, source + head, shift, chunks, rank, size);
        }
        each::<D, S, W>(target + done, source + done, bytes - done, rank * unit, size * unit);
    }
}

/// Loads every word of a batch, then stores every word of it. Their addresses are computed here, from the first: as
/// counters of the loop around they would take two registers each.
macro_rules! batch {
    ($target:expr, $source:expr, $step:expr; $($word:ident $n:literal)*) => {
        let (target, source) = (opaque($target), opaque($source));
        // Of one thread alone it is a constant, and the addresses are offsets.
        let step = if IN_FLIGHT == 16 { $step } else { opaque($step) };
        $(let $word = S::load::<V16>(source + $n * step);)*
        $(D::store(target + $n * step, $word);)*
    };
}

/// Copies `count` words of 16 bytes, aligned on both sides, thread by thread.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
unsafe fn strided<D: Space, S: Space, const IN_FLIGHT: u32>(
    target: u64,
    source: u64,
    count: u64,
    rank: u64,
    size: u64,
) {
    let (step, end) = (size * 16, count * 16);
    let mut at = rank * 16;
    // SAFETY: every offset below is less than `end`.
    unsafe {
        while IN_FLIGHT == 16 && at + 15 * step < end {
            batch!(target + at, source + at, step; a 0 b 1 c 2 d 3 e 4 f 5 g 6 h 7 i 8 j 9 k 10 l 11 m 12 n 13 o 14 p 15);
            at += 16 * step;
        }
        while IN_FLIGHT == 12 && at + 11 * step < end {
            batch!(target + at, source + at, step; a 0 b 1 c 2 d 3 e 4 f 5 g 6 h 7 i 8 j 9 k 10 l 11);
            at += 12 * step;
        }
        while at + 3 * step < end {
            batch!(target + at, source + at, step; a 0 b 1 c 2 d 3);
            at += 4 * step;
        }
        each::<D, S, V16>(target, source, end, at, step);
    }
}

/// Copies the aligned words at `at`, `at + step`, … before `end`, in bytes, one by one.
///
/// # Safety
/// As [`copy`], with `W` for the element.
#[inline(always)]
unsafe fn each<D: Space, S: Space, W: Word>(target: u64, source: u64, end: u64, mut at: u64, step: u64) {
    while at < end {
        // SAFETY: the caller vouches for every offset below `end`.
        unsafe { D::store(target + at, S::load::<W>(source + at)) };
        at += step;
    }
}

/// Copies `count` chunks of 16 bytes, aligned at the target and `shift` bytes off at the source, four in flight.
///
/// # Safety
/// As [`copy`]; `shift` is 1 to 15; the source reaches from `shift` bytes before `source` to the end of the last load.
#[inline(always)]
unsafe fn shifted<D: Space, S: Space>(
    target: u64,
    source: u64,
    shift: u64,
    count: u64,
    rank: u64,
    size: u64,
) {
    let (source, late) = (source - shift, shift >= 8);
    let bits = 8 * (shift & 7);
    let (step, end) = (16 * size, 16 * count);
    let mut at = 16 * rank;
    // SAFETY: every offset below is less than `end`.
    unsafe {
        while at + 3 * step < end {
            let (to, from, step) = (opaque(target + at), opaque(source + at), opaque(step));
            let (a, b) = (S::load::<V16>(from), S::load::<V16>(from + 16));
            let (c, d) = (S::load::<V16>(from + step), S::load::<V16>(from + step + 16));
            let (e, f) = (S::load::<V16>(from + 2 * step), S::load::<V16>(from + 2 * step + 16));
            let (g, h) = (S::load::<V16>(from + 3 * step), S::load::<V16>(from + 3 * step + 16));
            D::store(to, joined(a, b, late, bits));
            D::store(to + step, joined(c, d, late, bits));
            D::store(to + 2 * step, joined(e, f, late, bits));
            D::store(to + 3 * step, joined(g, h, late, bits));
            at += 4 * step;
        }
        while at < end {
            let (a, b) = (S::load::<V16>(source + at), S::load::<V16>(source + at + 16));
            D::store(target + at, joined(a, b, late, bits));
            at += step;
        }
    }
}

/// The 16 bytes that begin `bits` bits behind the first word of 32 bytes; `late`: behind the second.
#[inline(always)]
fn joined(low: V16, high: V16, late: bool, bits: u64) -> V16 {
    let (first, second, third) = if late { (low.1, high.0, high.1) } else { (low.0, low.1, high.0) };
    // `bits` may be 0: the shift to the left is done in two parts.
    let join = |a: u64, b: u64| a >> bits | b << 1 << (63 - bits);
    V16(join(first, second), join(second, third))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bytes_are_cut_out_at_every_offset() {
        let bytes: [u8; 32] = core::array::from_fn(|i| i as u8 + 1);
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let (low, high) = (V16(word(0), word(8)), V16(word(16), word(24)));
        for shift in 0..16 {
            let V16(first, second) = joined(low, high, shift >= 8, 8 * (shift as u64 & 7));
            let mut out = first.to_le_bytes().to_vec();
            out.extend(second.to_le_bytes());
            assert_eq!(out, bytes[shift..shift + 16], "{shift}");
        }
    }
}
