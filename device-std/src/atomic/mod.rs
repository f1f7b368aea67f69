//! Atomics on symmetric words, by one thread (OpenSHMEM 1.6, 9.7). They are exclusive among themselves, at system scope;
//! a word's type fixes its width. By default they are relaxed and order nothing else; an order is asked for by
//! [`acquire`](crate::Scoped::acquire), [`release`](crate::Scoped::release) or [`acq_rel`](crate::Scoped::acq_rel):
//!
//! ```
//! # use oxshmem_device::prelude::*;
//! # fn kernel(shmem: Shmem, count: Sym<Atomic<u64>>, pe: u32) {
//! let t = shmem.thread();
//! t.atomic_add(count, 1, pe); // relaxed
//! t.release().atomic_add(count, 1, pe); // what this thread did before is visible to whoever acquires the sum
//! # }
//! ```
//!
//! | operation | types | orders |
//! |---|---|---|
//! | `atomic_fetch` | all | relaxed, acquire |
//! | `atomic_set`, `atomic_add` | all | relaxed, release |
//! | `atomic_swap`, `atomic_fetch_add` | all | relaxed, acquire, release, both |
//! | `atomic_inc`, `atomic_and`, `atomic_or`, `atomic_xor` | integers | relaxed, release |
//! | `atomic_compare_swap`, `atomic_fetch_inc`, `atomic_fetch_and`, `atomic_fetch_or`, `atomic_fetch_xor` | integers | relaxed, acquire, release, both |
//!
//! Integers wrap. Floating-point sums are rounded to nearest even; of `f32`, subnormal values and sums count as zero, as
//! the instruction has it (PTX ISA, `atom`), of the others not. `f16` and `bf16` leave the other half of their 32-bit
//! word alone. A NaN's bits are not specified.
//!
//! An operation that returns nothing returns at once and is complete after a quiet or barrier. A word of
//! [`Reach::Node`](crate::Reach::Node) is updated by PEs that reach it by load and store; from elsewhere it is an error.

mod order;
mod word;

use crate::abi::Operation;
use crate::arch::{Bitwise, Exchange, Semantic, Word, bulk};
use crate::context::Context;
use crate::scope::Scoped;

use crate::sym::Sym;
use crate::trace::Recorded;
pub use order::{AcqRel, Acquire, AtomicOrder, ReadOrder, Release, WriteOrder};
pub(crate) use word::sealed;
pub use word::{Atomic, AtomicInteger, AtomicWord};

impl<O: AtomicOrder, C: Context> Scoped<O, C> {
    /// The value of `word` on `pe`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch<T: AtomicWord>(self, word: Sym<Atomic<T>>, pe: u32) -> T
    where
        O: ReadOrder,
    {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        T::of(unsafe { if O::ACQUIRES { Word::load_acquire(address) } else { Word::load_relaxed(address) } })
    }

    /// Stores `value` into `word` on `pe`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_set<T: AtomicWord>(self, word: Sym<Atomic<T>>, value: T, pe: u32)
    where
        O: WriteOrder,
    {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::Atomic);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe {
            if O::RELEASES {
                T::Bits::store_release(address, value.bits())
            } else {
                T::Bits::store_relaxed(address, value.bits())
            }
        }
    }

    /// Stores `value` into `word` on `pe`; returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_swap<T: AtomicWord>(self, word: Sym<Atomic<T>>, value: T, pe: u32) -> T {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::of(T::Bits::swap(O::SEMANTIC, address, value.bits())) }
    }

    /// Stores `new` into `word` on `pe` if it equals `expected`; returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_compare_swap<T: AtomicInteger>(
        self,
        word: Sym<Atomic<T>>,
        expected: T,
        new: T,
        pe: u32,
    ) -> T {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::of(T::Bits::compare_swap(O::SEMANTIC, address, expected.bits(), new.bits())) }
    }

    /// Adds `value` to `word` on `pe`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_add<T: AtomicWord>(self, word: Sym<Atomic<T>>, value: T, pe: u32)
    where
        O: WriteOrder,
    {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::Atomic);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::add(O::SEMANTIC, address, value) }
    }

    /// Adds `value` to `word` on `pe`; returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch_add<T: AtomicWord>(self, word: Sym<Atomic<T>>, value: T, pe: u32) -> T {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::fetch_add(O::SEMANTIC, address, value) }
    }

    /// Adds 1 to `word` on `pe`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_inc<T: AtomicInteger>(self, word: Sym<Atomic<T>>, pe: u32)
    where
        O: WriteOrder,
    {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::Atomic);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::add(O::SEMANTIC, address, T::ONE) }
    }

    /// Adds 1 to `word` on `pe`; returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch_inc<T: AtomicInteger>(self, word: Sym<Atomic<T>>, pe: u32) -> T {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::fetch_add(O::SEMANTIC, address, T::ONE) }
    }

    /// Makes `word` on `pe` its bitwise and with `value`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_and<T: AtomicInteger>(self, word: Sym<Atomic<T>>, value: T, pe: u32)
    where
        O: WriteOrder,
    {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::Atomic);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::Bits::and(O::SEMANTIC, address, value.bits()) }
    }

    /// Makes `word` on `pe` its bitwise and with `value`; returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch_and<T: AtomicInteger>(self, word: Sym<Atomic<T>>, value: T, pe: u32) -> T {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::of(T::Bits::fetch_and(O::SEMANTIC, address, value.bits())) }
    }

    /// Makes `word` on `pe` its bitwise or with `value`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_or<T: AtomicInteger>(self, word: Sym<Atomic<T>>, value: T, pe: u32)
    where
        O: WriteOrder,
    {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::Atomic);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::Bits::or(O::SEMANTIC, address, value.bits()) }
    }

    /// Makes `word` on `pe` its bitwise or with `value`; returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch_or<T: AtomicInteger>(self, word: Sym<Atomic<T>>, value: T, pe: u32) -> T {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::of(T::Bits::fetch_or(O::SEMANTIC, address, value.bits())) }
    }

    /// Makes `word` on `pe` its bitwise exclusive or with `value`.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_xor<T: AtomicInteger>(self, word: Sym<Atomic<T>>, value: T, pe: u32)
    where
        O: WriteOrder,
    {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::Atomic);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::Bits::xor(O::SEMANTIC, address, value.bits()) }
    }

    /// Makes `word` on `pe` its bitwise exclusive or with `value`; returns the value before.
    #[inline(always)]
    #[track_caller]
    pub fn atomic_fetch_xor<T: AtomicInteger>(self, word: Sym<Atomic<T>>, value: T, pe: u32) -> T {
        let (address, _recorded) = self.atomic_address(word, pe, Operation::AtomicFetch);
        // SAFETY: a mapped, aligned word of this width, which only atomics reach.
        unsafe { T::of(T::Bits::fetch_xor(O::SEMANTIC, address, value.bits())) }
    }

    #[inline(always)]
    #[track_caller]
    fn atomic_address<T: AtomicWord>(
        self,
        word: Sym<Atomic<T>>,
        pe: u32,
        operation: Operation,
    ) -> (u64, Recorded) {
        let recorded = self.enter_alone(operation, word.offset(), size_of::<T>() as u64, pe);
        if self.context.shmem().has_engine() && matches!(O::SEMANTIC, Semantic::Release | Semantic::AcqRel) {
            // What it covers is complete also where it went through the bulk engine.
            bulk::wait_stores();
        }
        (self.context.shmem().remote_address(word.span(), self.context, pe, operation), recorded)
    }
}
