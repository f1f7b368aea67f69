//! The lists that a wait for several words takes: which words count, a value per word, and where the indices of the
//! satisfied ones go. They lie in memory of the calling PE that all threads of the scope see.
//!
//! | list | scopes |
//! |---|---|
//! | `Sym<[T]>` (this PE's copy), `Global<[T]>` | all |
//! | `&SharedSlice<T>` | within a block |
//! | `&[T]`, `&[T; N]`; for indices `&mut [u64]`, `&mut [u64; N]` | thread |

use crate::abi::{Cause, Operation};
use crate::context::Shmem;
use crate::copy::{self, GlobalSpace, PrivateSpace, SharedSpace, Space};
use crate::fault::{Fault, fail};
use crate::global::Global;
use crate::scope::{Block, Scope, Thread, Warp, Warps};
use crate::shared::SharedSlice;
use crate::sym::Sym;
use bytemuck::Pod;

/// No status array: every word counts. What a null pointer is in OpenSHMEM.
#[derive(Clone, Copy, Debug)]
pub struct Every;

/// Which words count: [`Every`] one, or a list of `u32` with one element per word, where non-zero says that the word is
/// ignored (OpenSHMEM's `status`). It is read while the operation runs, and not written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the status of a wait or test of a `{S}`: pass `Every`, or a list of `u32`",
    label = "not a list of `u32`, non-zero for a word to be ignored",
    note = "a list is `Sym<[u32]>` or `Global<[u32]>`; within a block also `&SharedSlice<u32>`; at thread scope also `&[u32]`"
)]
pub trait Status<S>: Mask {}

/// A value per word: a list as long as that of the words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the values of a wait or test of a `{S}`: pass a list of `{T}`, one per word",
    label = "not a list of `{T}`",
    note = "a list is `Sym<[T]>` or `Global<[T]>`; within a block also `&SharedSlice<T>`; at thread scope also `&[T]`"
)]
pub trait Values<T: Pod, S>: List<T> {}

/// Where the indices of the satisfied words go: a list of `u64` with room for all words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot take the indices that a wait or test of a `{S}` finds: pass a list of `u64`",
    label = "not a list of `u64` that can be written",
    note = "a list is `Sym<[u64]>` or `Global<[u64]>`; within a block also `&SharedSlice<u64>`; at thread scope also `&mut [u64]`"
)]
pub trait Indices<S>: List<u64> {}

mod sealed {
    use super::*;

    /// A list of `T` in memory of the calling PE.
    #[expect(private_bounds, reason = "sealed: the space is this crate's business")]
    pub trait List<T> {
        /// Its state space.
        type Space: Space;
        /// Address and elements.
        fn locate(self, shmem: Shmem, operation: Operation) -> (u64, u64);
    }

    /// Which words count.
    pub trait Mask {
        /// Whether it lies in memory.
        const LISTED: bool;
        /// Its address; ends the kernel thread if it is not for this many words.
        fn locate(self, shmem: Shmem, operation: Operation, words: u64) -> u64;
        /// Whether the word at `index` is ignored.
        ///
        /// # Safety
        /// `address` comes from `locate`, `index` is less than its `words`.
        unsafe fn ignores(address: u64, index: u64) -> bool;
    }

    /// Scopes whose threads share a block's memory.
    pub trait InBlock: Scope {}
    impl InBlock for Thread {}
    impl InBlock for Warp {}
    impl InBlock for Warps {}
    impl InBlock for Block {}
}
pub(super) use sealed::{InBlock, List, Mask};

impl Mask for Every {
    const LISTED: bool = false;
    #[inline(always)]
    fn locate(self, _: Shmem, _: Operation, _: u64) -> u64 {
        0
    }
    #[inline(always)]
    unsafe fn ignores(_: u64, _: u64) -> bool {
        false
    }
}
impl<S> Status<S> for Every {}

/// Reads element `index` of a list.
///
/// # Safety
/// `address` is that of an `L`, which has such an element.
#[inline(always)]
pub(super) unsafe fn element<T: Pod, L: List<T>>(address: u64, index: u64) -> T {
    // SAFETY: passed on; a list is aligned for its elements.
    unsafe { copy::load::<L::Space, T>(address + index * size_of::<T>() as u64) }
}

/// Ends the kernel thread if a list of `found` elements does not go with `words` words.
#[inline(always)]
pub(super) fn check_length(shmem: Shmem, operation: Operation, words: u64, found: u64) {
    if words != found {
        let fault = Fault { peer: shmem.my_pe(), ..Fault::new(Cause::LengthMismatch, operation) };
        fail(shmem, Fault { expected: words, seen: found, ..fault });
    }
}

/// Writes element `index` of a list.
///
/// # Safety
/// As [`element`], and nobody else accesses the element meanwhile.
#[inline(always)]
pub(super) unsafe fn set_element<T: Pod, L: List<T>>(address: u64, index: u64, value: T) {
    // SAFETY: passed on.
    unsafe { copy::store::<L::Space, T>(address + index * size_of::<T>() as u64, value) }
}

impl<T: Pod> List<T> for Sym<[T]> {
    type Space = GlobalSpace;
    #[inline(always)]
    fn locate(self, shmem: Shmem, operation: Operation) -> (u64, u64) {
        (shmem.own_address(self.span(), operation), self.len())
    }
}
impl<T: Pod> List<T> for Global<[T]> {
    type Space = GlobalSpace;
    #[inline(always)]
    fn locate(self, _: Shmem, _: Operation) -> (u64, u64) {
        (self.address, self.len)
    }
}
impl<T: Pod> List<T> for &SharedSlice<T> {
    type Space = SharedSpace;
    #[inline(always)]
    fn locate(self, _: Shmem, _: Operation) -> (u64, u64) {
        (self.address(), u64::from(self.len()))
    }
}

macro_rules! private {
    ($([$($n:ident)?] $list:ty, $pointer:ident;)*) => {
        $(
            impl<T: Pod, $(const $n: usize)?> List<T> for $list {
                type Space = PrivateSpace;
                #[inline(always)]
                fn locate(self, _: Shmem, _: Operation) -> (u64, u64) {
                    let len = self.len() as u64;
                    (self.$pointer() as u64, len)
                }
            }
        )*
    };
}
private! {
    [] &[T], as_ptr;
    [N] &[T; N], as_ptr;
    [] &mut [T], as_mut_ptr;
    [N] &mut [T; N], as_mut_ptr;
}

impl<S: Scope> Status<S> for Sym<[u32]> {}
impl<S: Scope> Status<S> for Global<[u32]> {}
impl<S: InBlock> Status<S> for &SharedSlice<u32> {}
impl Status<Thread> for &[u32] {}
impl<const N: usize> Status<Thread> for &[u32; N] {}

impl<T: Pod, S: Scope> Values<T, S> for Sym<[T]> {}
impl<T: Pod, S: Scope> Values<T, S> for Global<[T]> {}
impl<T: Pod, S: InBlock> Values<T, S> for &SharedSlice<T> {}
impl<T: Pod> Values<T, Thread> for &[T] {}
impl<T: Pod, const N: usize> Values<T, Thread> for &[T; N] {}

impl<S: Scope> Indices<S> for Sym<[u64]> {}
impl<S: Scope> Indices<S> for Global<[u64]> {}
impl<S: InBlock> Indices<S> for &SharedSlice<u64> {}
impl Indices<Thread> for &mut [u64] {}
impl<const N: usize> Indices<Thread> for &mut [u64; N] {}

#[diagnostic::do_not_recommend]
impl<L: List<u32>> Mask for L {
    const LISTED: bool = true;
    #[inline(always)]
    fn locate(self, shmem: Shmem, operation: Operation, words: u64) -> u64 {
        let (address, len) = List::locate(self, shmem, operation);
        check_length(shmem, operation, words, len);
        address
    }
    #[inline(always)]
    unsafe fn ignores(address: u64, index: u64) -> bool {
        // SAFETY: the list has an element for each word.
        unsafe { element::<u32, L>(address, index) != 0 }
    }
}
