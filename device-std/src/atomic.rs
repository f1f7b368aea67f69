//! Read-modify-writes on symmetric words, at thread scope. Relaxed, as OpenSHMEM 1.6 section 9.7 says: they
//! are exclusive among themselves and order nothing else.

use crate::abi::Operation;
use crate::arch::{Word, atomic};
use crate::context::Context;
use crate::scope::{Scoped, Thread};
use crate::seam;
use crate::sym::{self, Sym, Symmetric};
use core::marker::PhantomData;

/// A word of type `T` that atomics reach. A put cannot write one, and widths cannot mix.
#[derive(Debug)]
pub struct Atomic<T>(core::convert::Infallible, PhantomData<T>);

/// A type that atomics work on: `u32`, `u64`.
#[diagnostic::on_unimplemented(
    message = "atomics work on `u32` and `u64`, not on `{Self}`",
    label = "no atomics on this type"
)]
pub trait AtomicWord: bytemuck::Pod + Word + sealed::Rmw {}
impl AtomicWord for u32 {}
impl AtomicWord for u64 {}

impl<T: AtomicWord> sym::sealed::Sealed for Atomic<T> {}
impl<T: AtomicWord> Symmetric for Atomic<T> {
    type Len = ();
    const ELEMENT_BYTES: u64 = size_of::<T>() as u64;
}

mod sealed {
    use super::atomic;

    /// The instructions for one width. Each function's address must be mapped and aligned.
    pub trait Rmw: Sized {
        unsafe fn add(address: u64, value: Self);
        unsafe fn fetch_add(address: u64, value: Self) -> Self;
        unsafe fn compare_swap(address: u64, expected: Self, new: Self) -> Self;
        unsafe fn swap(address: u64, value: Self) -> Self;
    }

    macro_rules! rmw {
        ($($ty:ty: $add:ident $fetch_add:ident $compare_swap:ident $swap:ident;)*) => {
            $(
                impl Rmw for $ty {
                    #[inline(always)]
                    unsafe fn add(address: u64, value: Self) {
                        // SAFETY: passed on.
                        unsafe { atomic::$add(address, value) }
                    }
                    #[inline(always)]
                    unsafe fn fetch_add(address: u64, value: Self) -> Self {
                        // SAFETY: passed on.
                        unsafe { atomic::$fetch_add(address, value) }
                    }
                    #[inline(always)]
                    unsafe fn compare_swap(address: u64, expected: Self, new: Self) -> Self {
                        // SAFETY: passed on.
                        unsafe { atomic::$compare_swap(address, expected, new) }
                    }
                    #[inline(always)]
                    unsafe fn swap(address: u64, value: Self) -> Self {
                        // SAFETY: passed on.
                        unsafe { atomic::$swap(address, value) }
                    }
                }
            )*
        };
    }
    rmw! {
        u32: add_u32 fetch_add_u32 compare_swap_u32 swap_u32;
        u64: add_u64 fetch_add_u64 compare_swap_u64 swap_u64;
    }
}

impl<C: Context> Scoped<Thread, C> {
    /// Adds `value` to `word` on `pe`, wrapping. Returns at once; complete after a quiet or barrier.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_add<T: AtomicWord>(self, word: Sym<Atomic<T>>, value: T, pe: u32) {
        let address = self.atomic_address(word, pe, Operation::Atomic);
        // SAFETY: a mapped, aligned word of this width that only atomics reach.
        unsafe { T::add(address, value) }
    }

    /// Adds `value` to `word` on `pe`, wrapping, and returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch_add<T: AtomicWord>(self, word: Sym<Atomic<T>>, value: T, pe: u32) -> T {
        let address = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: as in `atomic_add`.
        unsafe { T::fetch_add(address, value) }
    }

    /// Stores `new` into `word` on `pe` if it equals `expected`; returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_compare_swap<T: AtomicWord>(self, word: Sym<Atomic<T>>, expected: T, new: T, pe: u32) -> T {
        let address = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: as in `atomic_add`.
        unsafe { T::compare_swap(address, expected, new) }
    }

    /// Stores `value` into `word` on `pe` and returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_swap<T: AtomicWord>(self, word: Sym<Atomic<T>>, value: T, pe: u32) -> T {
        let address = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: as in `atomic_add`.
        unsafe { T::swap(address, value) }
    }

    /// Returns the value of `word` on `pe`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch<T: AtomicWord>(self, word: Sym<Atomic<T>>, pe: u32) -> T {
        let address = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: as in `atomic_add`.
        unsafe { T::load_relaxed(address) }
    }

    /// Stores `value` into `word` on `pe`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_set<T: AtomicWord>(self, word: Sym<Atomic<T>>, value: T, pe: u32) {
        let address = self.atomic_address(word, pe, Operation::Atomic);
        // SAFETY: as in `atomic_add`.
        unsafe { T::store_relaxed(address, value) }
    }

    #[inline(always)]
    #[track_caller]
    fn atomic_address<T: AtomicWord>(self, word: Sym<Atomic<T>>, pe: u32, operation: Operation) -> u64 {
        seam::operation(operation, word.offset(), size_of::<T>() as u64, pe);
        self.remote(word.span(), pe, operation)
    }
}
