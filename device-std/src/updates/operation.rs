//! What an update does to its word.

use crate::arch::{Bitwise, Semantic};
use crate::atomic::sealed::Machine;
use crate::atomic::{AtomicInteger, AtomicWord};

/// What updates do to words of type `T`: [`Add`], and of integers [`And`], [`Or`], [`Xor`]. Each is the relaxed atomic of
/// this name, exclusive with all other atomics on the word.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no update of a `{T}`: use `updates::Add`, or for integers `And`, `Or` or `Xor`",
    label = "not an update of `{T}`"
)]
pub trait UpdateOp<T: AtomicWord>: Copy + sealed::Sealed {
    /// Updates a word.
    ///
    /// # Safety
    /// `address` is that of a mapped `T`.
    #[doc(hidden)]
    unsafe fn apply(address: u64, value: T);
}

/// Adds; integers wrap.
#[derive(Clone, Copy, Debug)]
pub struct Add;
/// Bitwise and.
#[derive(Clone, Copy, Debug)]
pub struct And;
/// Bitwise or.
#[derive(Clone, Copy, Debug)]
pub struct Or;
/// Bitwise exclusive or.
#[derive(Clone, Copy, Debug)]
pub struct Xor;

impl<T: AtomicWord> UpdateOp<T> for Add {
    #[inline(always)]
    unsafe fn apply(address: u64, value: T) {
        // SAFETY: passed on.
        unsafe { T::add(Semantic::Relaxed, address, value) }
    }
}

macro_rules! bitwise {
    ($($op:ident $method:ident)*) => {
        $(
            impl<T: AtomicInteger> UpdateOp<T> for $op {
                #[inline(always)]
                unsafe fn apply(address: u64, value: T) {
                    // SAFETY: passed on.
                    unsafe { <<T as Machine>::Bits as Bitwise>::$method(Semantic::Relaxed, address, value.bits()) }
                }
            }
        )*
    };
}
bitwise!(And and Or or Xor xor);

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Add {}
    impl Sealed for super::And {}
    impl Sealed for super::Or {}
    impl Sealed for super::Xor {}
}
