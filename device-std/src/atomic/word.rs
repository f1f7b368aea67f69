//! The words that atomics and waits reach, and the types that such a word may hold.

use crate::arch::{Add, Bitwise, Exchange, Semantic};
use crate::sym::{self, Symmetric};
use crate::updates::entry::Carried;
use crate::{bf16, f16};
use core::marker::PhantomData;

/// A word of type `T` that atomics reach. A put cannot write one, and widths cannot mix.
#[derive(Debug)]
pub struct Atomic<T: AtomicWord>(core::convert::Infallible, PhantomData<T>);

impl<T: AtomicWord> sym::sealed::Sealed for Atomic<T> {}
impl<T: AtomicWord> Symmetric for Atomic<T> {
    type Len = ();
    const ELEMENT_BYTES: u64 = size_of::<T>() as u64;
}

/// A type that atomics work on: `i32`, `u32`, `i64`, `u64`, `isize`, `usize`, of which the last two have 64 bits; and
/// `f32`, `f64`, `f16`, `bf16`, which can be fetched, set, swapped and added to.
#[diagnostic::on_unimplemented(
    message = "there are no atomics on `{Self}`: use an integer of 4 or 8 bytes, or a floating-point type",
    label = "not a type that atomics work on",
    note = "`Atomic<T>` takes `i32`, `u32`, `i64`, `u64`, `isize`, `usize`, `f32`, `f64`, `f16` and `bf16`"
)]
pub trait AtomicWord: bytemuck::Pod + Machine {
    /// What reports call a vector of such words.
    #[doc(hidden)]
    const HOLDS: &'static str;
}

/// An integer that atomics work on: what waits compare.
#[diagnostic::on_unimplemented(
    message = "this needs an integer, not `{Self}`: use `i32`, `u32`, `i64`, `u64`, `isize` or `usize`",
    label = "not an integer of 4 or 8 bytes",
    note = "floating-point words can be fetched, set, swapped and added to"
)]
pub trait AtomicInteger: AtomicWord + Ord + Machine<Bits: Bitwise> {
    #[doc(hidden)]
    const ONE: Self;
    /// The value in the 64 bits of an error record: a signed one is extended.
    #[doc(hidden)]
    fn recorded(self) -> u64;
}

pub(crate) mod sealed {
    use super::*;

    /// A value as the bits of a machine word.
    pub trait Machine: Copy {
        /// The machine word.
        type Bits: Exchange + Carried;
        /// To bits.
        fn bits(self) -> Self::Bits;
        /// From bits.
        fn of(bits: Self::Bits) -> Self;
        /// Adds.
        ///
        /// # Safety
        /// `address` is aligned and mapped for this device.
        unsafe fn add(order: Semantic, address: u64, value: Self);
        /// Adds, returns the old value.
        ///
        /// # Safety
        /// As `add`.
        unsafe fn fetch_add(order: Semantic, address: u64, value: Self) -> Self;
    }
}
use sealed::Machine;

macro_rules! integers {
    ($($ty:ty as $bits:ty, $holds:literal;)*) => {
        $(
            impl Machine for $ty {
                type Bits = $bits;
                #[inline(always)]
                fn bits(self) -> $bits {
                    self as $bits
                }
                #[inline(always)]
                fn of(bits: $bits) -> Self {
                    bits as Self
                }
                #[inline(always)]
                unsafe fn add(order: Semantic, address: u64, value: Self) {
                    // SAFETY: passed on.
                    unsafe { Add::add(order, address, value.bits()) }
                }
                #[inline(always)]
                unsafe fn fetch_add(order: Semantic, address: u64, value: Self) -> Self {
                    // SAFETY: passed on.
                    Self::of(unsafe { Add::fetch_add(order, address, value.bits()) })
                }
            }
            impl AtomicWord for $ty {
                const HOLDS: &'static str = $holds;
            }
            impl AtomicInteger for $ty {
                const ONE: Self = 1;
                #[inline(always)]
                fn recorded(self) -> u64 {
                    self as u64
                }
            }
        )*
    };
}
integers! {
    i32 as u32, "i32 atomic";
    u32 as u32, "u32 atomic";
    i64 as u64, "i64 atomic";
    u64 as u64, "u64 atomic";
    isize as u64, "isize atomic";
    usize as u64, "usize atomic";
}

macro_rules! floats {
    ($($ty:ty as $bits:ty, $holds:literal;)*) => {
        $(
            impl Machine for $ty {
                type Bits = $bits;
                #[inline(always)]
                fn bits(self) -> $bits {
                    self.to_bits()
                }
                #[inline(always)]
                fn of(bits: $bits) -> Self {
                    Self::from_bits(bits)
                }
                #[inline(always)]
                unsafe fn add(order: Semantic, address: u64, value: Self) {
                    // SAFETY: passed on.
                    unsafe { Add::add(order, address, value) }
                }
                #[inline(always)]
                unsafe fn fetch_add(order: Semantic, address: u64, value: Self) -> Self {
                    // SAFETY: passed on.
                    unsafe { Add::fetch_add(order, address, value) }
                }
            }
            impl AtomicWord for $ty {
                const HOLDS: &'static str = $holds;
            }
        )*
    };
}
floats! {
    f32 as u32, "f32 atomic";
    f64 as u64, "f64 atomic";
    f16 as u16, "f16 atomic";
    bf16 as u16, "bf16 atomic";
}
const _: () = assert!(size_of::<usize>() == 8, "PEs are 64-bit machines");
