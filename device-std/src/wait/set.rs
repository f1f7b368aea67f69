//! Several words, what each is compared with, and which count.

use super::list::{List, Mask, check_length, element, set_element};
use super::{Cmp, WaitWord, acquire, look};
use crate::abi::{Cause, Operation};
use crate::arch::order;
use crate::atomic::AtomicInteger;
use crate::context::Shmem;
use crate::fault::{Expired, Fault};
use bytemuck::Pod;
use core::marker::PhantomData;

/// What word `index` is compared with.
pub(super) trait Goals<T>: Copy {
    fn of(self, index: u64) -> T;
}

/// The same value for every word.
#[derive(Clone, Copy)]
pub(super) struct One<T>(pub(super) T);
impl<T: Copy> Goals<T> for One<T> {
    #[inline(always)]
    fn of(self, _: u64) -> T {
        self.0
    }
}

/// A value per word, in an `L` at this address that is as long as the words.
pub(super) struct Each<L>(u64, PhantomData<L>);
impl<L> Clone for Each<L> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<L> Copy for Each<L> {}
impl<T: Pod, L: List<T>> Goals<T> for Each<L> {
    #[inline(always)]
    fn of(self, index: u64) -> T {
        // SAFETY: the list has an element for each word.
        unsafe { element::<T, L>(self.0, index) }
    }
}

/// The words of one call, with all that is asked of them.
pub(super) struct Set<W, M, G> {
    pub(super) shmem: Shmem,
    pub(super) operation: Operation,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) mask: u64,
    pub(super) cmp: Cmp,
    pub(super) goals: G,
    pub(super) of: PhantomData<(W, M)>,
}
impl<W, M, G: Copy> Clone for Set<W, M, G> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<W, M, G: Copy> Copy for Set<W, M, G> {}

impl<W: WaitWord, M: Mask> Set<W, M, ()> {
    /// All against the same value.
    #[inline(always)]
    pub(super) fn one(self, value: W::Value) -> Set<W, M, One<W::Value>> {
        self.against(One(value))
    }

    /// Each against its own.
    #[inline(always)]
    pub(super) fn each<L: List<W::Value>>(self, values: L) -> Set<W, M, Each<L>> {
        let (address, len) = values.locate(self.shmem, self.operation);
        check_length(self.shmem, self.operation, self.len, len);
        self.against(Each(address, PhantomData))
    }

    #[inline(always)]
    pub(super) fn against<G>(self, goals: G) -> Set<W, M, G> {
        let Self { shmem, operation, address, offset, len, mask, cmp, goals: (), of } = self;
        Set { shmem, operation, address, offset, len, mask, cmp, goals, of }
    }
}

impl<W: WaitWord, M: Mask, G: Goals<W::Value>> Set<W, M, G> {
    #[inline(always)]
    pub(super) fn counts(self, index: u64) -> bool {
        // SAFETY: the list has an element for each word, and callers pass an index less than `len`.
        unsafe { !M::ignores(self.mask, index) }
    }

    /// Heap offset and bytes of all words.
    #[inline(always)]
    pub(super) fn range(self) -> (u64, u64) {
        (self.offset, self.len * W::ELEMENT_BYTES)
    }

    #[inline(always)]
    pub(super) fn word(self, index: u64) -> u64 {
        self.address + index * W::ELEMENT_BYTES
    }

    /// Whether the condition holds for word `index`, and what is in it.
    #[inline(always)]
    pub(super) fn look(self, index: u64) -> (bool, u64) {
        // SAFETY: a mapped, aligned word: callers pass an index less than `len`.
        let seen = unsafe { look::<W>(self.word(index)) };
        (self.cmp.holds(seen, self.goals.of(index)), seen.recorded())
    }

    /// The index of the one word that was found, or `NOTHING`; acquires the word.
    #[inline(always)]
    pub(super) fn acquired(self, found: Found) -> u64 {
        if found.answer == 0 {
            return NOTHING;
        }
        // SAFETY: as in `look`.
        unsafe { acquire::<W>(self.word(found.index)) };
        found.index
    }

    /// Where a list of indices lies that has room for all words; ends the kernel thread if it has not.
    #[inline(always)]
    pub(super) fn room<I: List<u64>>(self, indices: I) -> u64 {
        let (address, room) = indices.locate(self.shmem, self.operation);
        if room < self.len {
            check_length(self.shmem, self.operation, self.len, room);
        }
        address
    }

    /// Acquires word `index` where no fence will do it for all.
    #[inline(always)]
    pub(super) fn acquire_unless_fenced(self, index: u64) {
        if !order::HAS_FENCE_ACQUIRE {
            // SAFETY: as in `look`.
            unsafe { acquire::<W>(self.word(index)) };
        }
    }

    /// What is reported if word `index` is the one that was waited for in vain.
    #[inline(always)]
    pub(super) fn unmet(self, index: u64) -> Unmet<W, M, G> {
        Unmet { set: self, index }
    }

    /// The first word from `start` on, going round, for which the condition holds.
    #[inline(always)]
    pub(super) fn find(self, start: u64) -> Found {
        let mut found = Found::none();
        let (mut index, mut left) = (if start < self.len { start } else { 0 }, self.len);
        while left > 0 {
            if self.counts(index) {
                let (holds, seen) = self.look(index);
                if holds {
                    return Found { index, answer: 1, ..found };
                }
                found.note(index, seen);
            }
            index += 1;
            if index == self.len {
                index = 0;
            }
            left -= 1;
        }
        found
    }

    /// Writes the indices of all words for which the condition holds to the `I` at `indices`.
    #[inline(always)]
    pub(super) fn collect<I: List<u64>>(self, indices: u64) -> Found {
        let mut found = Found::none();
        let mut index = 0;
        while index < self.len {
            if self.counts(index) {
                let (holds, seen) = self.look(index);
                if holds {
                    // SAFETY: the list has room for an index per word; only this thread writes it.
                    unsafe { set_element::<u64, I>(indices, found.answer, index) };
                    self.acquire_unless_fenced(index);
                    found.answer += 1;
                } else {
                    found.note(index, seen);
                }
            }
            index += 1;
        }
        found
    }
}

/// A word that was waited for in vain.
pub(super) struct Unmet<W, M, G> {
    set: Set<W, M, G>,
    index: u64,
}

impl<W: WaitWord, M: Mask, G: Goals<W::Value>> Expired for Unmet<W, M, G> {
    #[inline(always)]
    fn fault(self, seen: u64) -> Fault {
        let Self { set, index } = self;
        Fault {
            cmp: set.cmp as u32,
            peer: set.shmem.my_pe(),
            offset: set.offset + index * W::ELEMENT_BYTES,
            expected: set.goals.of(index).recorded(),
            seen,
            ..Fault::new(Cause::Deadline, set.operation)
        }
    }
}

/// What one look at all words found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// How many words satisfied the condition.
    pub(super) answer: u64,
    /// The satisfied word, or else the first unsatisfied one; `NOTHING` if no word counts.
    pub(super) index: u64,
    /// What was in that unsatisfied word.
    pub(super) seen: u64,
}

/// No index.
pub(super) const NOTHING: u64 = u64::MAX;

impl Found {
    #[inline(always)]
    pub(super) fn none() -> Self {
        Self { answer: 0, index: NOTHING, seen: 0 }
    }

    /// Keeps the first unsatisfied word.
    #[inline(always)]
    pub(super) fn note(&mut self, index: u64, seen: u64) {
        if self.index == NOTHING {
            (self.index, self.seen) = (index, seen);
        }
    }

    /// Whether there is nothing to wait for.
    #[inline(always)]
    pub(super) fn ends(self) -> bool {
        self.answer > 0 || self.index == NOTHING
    }
}
