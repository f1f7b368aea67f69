//! One element, in one access where its size and alignment allow.

use super::space::Access;
use crate::arch::V16;
use bytemuck::Pod;
use core::mem::{MaybeUninit, transmute_copy};

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
