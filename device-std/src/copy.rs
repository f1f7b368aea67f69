//! Copies between state spaces, by all threads of a scope: the body in 16-byte accesses with four independent
//! ones in flight per thread, head and tail peeled to alignment.
//!
//! Nothing here is a loop over bytes unless the elements are bytes that lie differently to each other's
//! 16-byte grid, and `core`'s copies are not used at all: with a run-time length they become byte loops.

use crate::arch::{V16, Word};
use bytemuck::Pod;
use core::mem::{MaybeUninit, transmute_copy};

/// A state space, chosen at compile time.
pub(crate) trait Space: Copy {
    /// # Safety
    /// `address` is a valid, aligned address of this space; weak access.
    unsafe fn load<W: Word>(address: u64) -> W;
    /// # Safety
    /// As `load`.
    unsafe fn store<W: Word>(address: u64, value: W);
}

/// Device memory: the heap, peers' heaps, local buffers.
#[derive(Clone, Copy)]
pub struct GlobalSpace;
/// The block's shared memory.
#[derive(Clone, Copy)]
pub struct SharedSpace;
/// Memory private to the thread.
#[derive(Clone, Copy)]
pub struct PrivateSpace;

impl Space for GlobalSpace {
    #[inline(always)]
    unsafe fn load<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { W::load_global(address) }
    }
    #[inline(always)]
    unsafe fn store<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { W::store_global(address, value) }
    }
}
impl Space for SharedSpace {
    #[inline(always)]
    unsafe fn load<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { W::load_shared(address) }
    }
    #[inline(always)]
    unsafe fn store<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { W::store_shared(address, value) }
    }
}
impl Space for PrivateSpace {
    #[inline(always)]
    unsafe fn load<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { W::load_generic(address) }
    }
    #[inline(always)]
    unsafe fn store<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { W::store_generic(address, value) }
    }
}

/// How one element is accessed. Implemented by the spaces, and by [`Racing`] for scalar puts and gets.
pub(crate) trait Access {
    /// # Safety
    /// `address` is valid and aligned.
    unsafe fn load_word<W: Word>(address: u64) -> W;
    /// # Safety
    /// `address` is valid and aligned.
    unsafe fn store_word<W: Word>(address: u64, value: W);
}
impl<S: Space> Access for S {
    #[inline(always)]
    unsafe fn load_word<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { S::load(address) }
    }
    #[inline(always)]
    unsafe fn store_word<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { S::store(address, value) }
    }
}

/// Strong relaxed accesses of global memory: `p` and `g`.
pub(crate) struct Racing;
impl Access for Racing {
    #[inline(always)]
    unsafe fn load_word<W: Word>(address: u64) -> W {
        // SAFETY: passed on.
        unsafe { W::load_relaxed(address) }
    }
    #[inline(always)]
    unsafe fn store_word<W: Word>(address: u64, value: W) {
        // SAFETY: passed on.
        unsafe { W::store_relaxed(address, value) }
    }
}

/// Loads one element, in one access where its size and alignment allow.
///
/// # Safety
/// `address` is the valid, aligned address of a `T`.
#[inline(always)]
pub(crate) unsafe fn load<A: Access, T: Pod>(address: u64) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let to = value.as_mut_ptr();
    // SAFETY: each arm writes all bytes of `value` and reads only the element; the words are unsigned
    // integers, of which `T: Pod` may be made.
    unsafe {
        match (size_of::<T>(), align_of::<T>()) {
            (1, _) => return transmute_copy(&A::load_word::<u8>(address)),
            (2, 2) => return transmute_copy(&A::load_word::<u16>(address)),
            (4, 4) => return transmute_copy(&A::load_word::<u32>(address)),
            (8, 8) => return transmute_copy(&A::load_word::<u64>(address)),
            (16, 16) => return transmute_copy(&A::load_word::<V16>(address)),
            (_, 1) => words::<T, u8>(|at| to.cast::<u8>().add(at).write(A::load_word(address + at as u64))),
            (_, 2) => {
                words::<T, u16>(|at| to.cast::<u16>().add(at / 2).write(A::load_word(address + at as u64)))
            }
            (_, 4) => {
                words::<T, u32>(|at| to.cast::<u32>().add(at / 4).write(A::load_word(address + at as u64)))
            }
            (_, 8) => {
                words::<T, u64>(|at| to.cast::<u64>().add(at / 8).write(A::load_word(address + at as u64)))
            }
            _ => words::<T, V16>(|at| to.cast::<V16>().add(at / 16).write(A::load_word(address + at as u64))),
        }
        value.assume_init()
    }
}

/// Stores one element, in one access where its size and alignment allow.
///
/// # Safety
/// `address` is the valid, aligned address of a `T`.
#[inline(always)]
pub(crate) unsafe fn store<A: Access, T: Pod>(address: u64, value: T) {
    let from = &raw const value;
    // SAFETY: each arm reads the bytes of `value` only, all of which are initialised (`T: Pod` has no padding),
    // and writes the element.
    unsafe {
        match (size_of::<T>(), align_of::<T>()) {
            (1, _) => A::store_word::<u8>(address, transmute_copy(&value)),
            (2, 2) => A::store_word::<u16>(address, transmute_copy(&value)),
            (4, 4) => A::store_word::<u32>(address, transmute_copy(&value)),
            (8, 8) => A::store_word::<u64>(address, transmute_copy(&value)),
            (16, 16) => A::store_word::<V16>(address, transmute_copy(&value)),
            (_, 1) => {
                words::<T, u8>(|at| A::store_word(address + at as u64, from.cast::<u8>().add(at).read()))
            }
            (_, 2) => words::<T, u16>(|at| {
                A::store_word(address + at as u64, from.cast::<u16>().add(at / 2).read())
            }),
            (_, 4) => words::<T, u32>(|at| {
                A::store_word(address + at as u64, from.cast::<u32>().add(at / 4).read())
            }),
            (_, 8) => words::<T, u64>(|at| {
                A::store_word(address + at as u64, from.cast::<u64>().add(at / 8).read())
            }),
            _ => words::<T, V16>(|at| {
                A::store_word(address + at as u64, from.cast::<V16>().add(at / 16).read())
            }),
        }
    }
}

/// Calls `each` with the byte offset of every word of a `T`.
#[inline(always)]
fn words<T, W>(mut each: impl FnMut(usize)) {
    let mut at = 0;
    while at < size_of::<T>() {
        each(at);
        at += size_of::<W>();
    }
}

/// Copies `elements` of `T` from `source` to `target` by the `size` threads of a scope, of which the caller is
/// number `rank`. The ranges do not overlap, or are the same.
///
/// # Safety
/// Both ranges are valid in their spaces and aligned for `T`; nothing else accesses the target meanwhile.
#[inline(always)]
pub(crate) unsafe fn copy<D: Space, S: Space, T: Pod>(
    target: u64,
    source: u64,
    elements: u64,
    rank: u64,
    size: u64,
) {
    let bytes = elements * size_of::<T>() as u64;
    // SAFETY: `T`'s alignment (a power of two, at most 16 here) divides both addresses and its size.
    unsafe {
        match align_of::<T>() {
            1 => ragged::<D, S, u8>(target, source, bytes, rank, size),
            2 => ragged::<D, S, u16>(target, source, bytes, rank, size),
            4 => ragged::<D, S, u32>(target, source, bytes, rank, size),
            8 => ragged::<D, S, u64>(target, source, bytes, rank, size),
            _ => strided::<D, S, V16>(target, source, bytes / 16, rank, size),
        }
    }
}

/// Copies bytes that are a whole number of aligned `W`s.
///
/// # Safety
/// As [`copy`], with `W` for the element.
#[inline(always)]
unsafe fn ragged<D: Space, S: Space, W: Word>(target: u64, source: u64, bytes: u64, rank: u64, size: u64) {
    let unit = size_of::<W>() as u64;
    // SAFETY: head, body and tail are parts of the ranges, aligned as their accesses need.
    unsafe {
        if (target ^ source) & 15 == 0 {
            let to_grid = target.wrapping_neg() & 15;
            let head = if to_grid < bytes { to_grid } else { bytes };
            let body = (bytes - head) & !15;
            let tail = bytes - head - body;
            each::<D, S, W>(target, source, head, rank * unit, size * unit);
            strided::<D, S, V16>(target + head, source + head, body / 16, rank, size);
            each::<D, S, W>(target + head + body, source + head + body, tail, rank * unit, size * unit);
        } else {
            strided::<D, S, W>(target, source, bytes / unit, rank, size);
        }
    }
}

/// Copies `count` aligned words, thread by thread, four in flight.
///
/// # Safety
/// As [`copy`], with `W` for the element.
#[inline(always)]
unsafe fn strided<D: Space, S: Space, W: Word>(target: u64, source: u64, count: u64, rank: u64, size: u64) {
    let unit = size_of::<W>() as u64;
    let (step, end) = (size * unit, count * unit);
    let mut at = rank * unit;
    // SAFETY: every offset below is less than `end`.
    unsafe {
        while at + 3 * step < end {
            let a = S::load::<W>(source + at);
            let b = S::load::<W>(source + at + step);
            let c = S::load::<W>(source + at + 2 * step);
            let d = S::load::<W>(source + at + 3 * step);
            D::store(target + at, a);
            D::store(target + at + step, b);
            D::store(target + at + 2 * step, c);
            D::store(target + at + 3 * step, d);
            at += 4 * step;
        }
        each::<D, S, W>(target, source, end, at, step);
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
