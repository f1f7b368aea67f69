//! Waiting for several words: all, any, or some of them, each compared with one value or with its own.
//!
//! `all` is looked at by all threads of the scope, each at its part of the words, and the scope's barrier joins what
//! each acquired. `any` and `some` are looked at by the leader, which gives its answer to all.

use super::list::{Indices, Mask, Status, Values};
use super::set::{Found, Goals, NOTHING, Set};
use super::{Cmp, WaitWord};
use crate::abi::Operation;
use crate::arch::order;
use crate::context::{Context, MayWait};
use crate::poll::{Polled, Until, poll_until};
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::sym::Sym;
use crate::trace::Recorded;
use core::marker::PhantomData;

/// An index as users see it.
#[inline(always)]
fn some_index(index: u64) -> Option<u64> {
    if index == NOTHING { None } else { Some(index) }
}

/// The word after the one that was returned last.
#[inline(always)]
fn next(last: Option<u64>) -> u64 {
    match last {
        Some(last) => last.wrapping_add(1),
        None => 0,
    }
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Waits until each of this PE's own `words` that `status` does not ignore has compared with `value`. Returns at once if
    /// there is none. What the updates that made it so cover is visible to the whole scope afterwards. All threads of the
    /// scope call it, and share the words among them. (OpenSHMEM 1.6, 9.11.2.)
    ///
    /// Does not return if the deadline passes, which all words share, or if a peer fails: the error record names a word
    /// that did not compare.
    #[inline(always)]
    #[track_caller]
    pub fn wait_until_all<W: WaitWord, M: Status<S>>(
        self,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        value: W::Value,
    ) where
        C: MayWait,
    {
        let set = self.set(Operation::WaitUntilAll, words, status, cmp, M::LISTED).one(value);
        self.do_wait_all(set)
    }

    /// Waits until one of this PE's own `words` that `status` does not ignore compares with `value`, and returns its index;
    /// `None`, at once, if there is none. Fair: it looks first at the word after `last`, which is what the call before
    /// returned, or `None` at first; so a word that stays satisfied is returned within as many calls as there are words.
    ///
    /// What the update of the returned word covers is visible to the whole scope afterwards; nothing is said of other words.
    /// All threads of the scope call it and get the same answer. (OpenSHMEM 1.6, 9.11.3.)
    ///
    /// Does not return if the deadline passes or a peer fails: the error record names the first word that was looked at.
    #[inline(always)]
    #[track_caller]
    pub fn wait_until_any<W: WaitWord, M: Status<S>>(
        self,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        value: W::Value,
        last: Option<u64>,
    ) -> Option<u64>
    where
        C: MayWait,
    {
        let set = self.set(Operation::WaitUntilAny, words, status, cmp, M::LISTED).one(value);
        self.do_wait_any(set, last)
    }

    /// Waits until at least one of this PE's own `words` that `status` does not ignore compares with `value`; writes the
    /// indices of all that do to `indices`, growing, and returns how many; 0, at once, if there is none. `indices` has room
    /// for as many as there are words.
    ///
    /// What the updates of the returned words cover is visible to the whole scope afterwards, and so are the indices. All
    /// threads of the scope call it and get the same answer. (OpenSHMEM 1.6, 9.11.4.)
    ///
    /// Does not return if the deadline passes or a peer fails: the error record names the first word that counts.
    #[inline(always)]
    #[track_caller]
    pub fn wait_until_some<W: WaitWord, M: Status<S>, I: Indices<S>>(
        self,
        words: Sym<[W]>,
        indices: I,
        status: M,
        cmp: Cmp,
        value: W::Value,
    ) -> u64
    where
        C: MayWait,
    {
        let set = self.set(Operation::WaitUntilSome, words, status, cmp, true).one(value);
        self.do_wait_some(set, indices)
    }

    /// [`wait_until_all`](Self::wait_until_all) with a value for each word. (OpenSHMEM 1.6, 9.11.5.)
    #[inline(always)]
    #[track_caller]
    pub fn wait_until_all_vector<W: WaitWord, M: Status<S>, V: Values<W::Value, S>>(
        self,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        values: V,
    ) where
        C: MayWait,
    {
        let set = self.set(Operation::WaitUntilAll, words, status, cmp, true).each(values);
        self.do_wait_all(set)
    }

    /// [`wait_until_any`](Self::wait_until_any) with a value for each word. (OpenSHMEM 1.6, 9.11.6.)
    #[inline(always)]
    #[track_caller]
    pub fn wait_until_any_vector<W: WaitWord, M: Status<S>, V: Values<W::Value, S>>(
        self,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        values: V,
        last: Option<u64>,
    ) -> Option<u64>
    where
        C: MayWait,
    {
        let set = self.set(Operation::WaitUntilAny, words, status, cmp, true).each(values);
        self.do_wait_any(set, last)
    }

    /// [`wait_until_some`](Self::wait_until_some) with a value for each word. (OpenSHMEM 1.6, 9.11.7.)
    #[inline(always)]
    #[track_caller]
    pub fn wait_until_some_vector<W: WaitWord, M: Status<S>, I: Indices<S>, V: Values<W::Value, S>>(
        self,
        words: Sym<[W]>,
        indices: I,
        status: M,
        cmp: Cmp,
        values: V,
    ) -> u64
    where
        C: MayWait,
    {
        let set = self.set(Operation::WaitUntilSome, words, status, cmp, true).each(values);
        self.do_wait_some(set, indices)
    }

    /// Whether each of this PE's own `words` that `status` does not ignore compares with `value` now; true if there is none.
    /// If so, it orders as [`wait_until_all`](Self::wait_until_all) does; if not, it orders nothing. All threads of the scope
    /// call it and get the same answer. (OpenSHMEM 1.6, 9.11.9.)
    #[inline(always)]
    #[track_caller]
    pub fn test_all<W: WaitWord, M: Status<S>>(
        self,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        value: W::Value,
    ) -> bool {
        let set = self.set(Operation::TestAll, words, status, cmp, M::LISTED).one(value);
        self.do_test_all(set)
    }

    /// The index of one of this PE's own `words` that `status` does not ignore and that compares with `value` now; `None` if
    /// there is none. Fair, and ordering, as [`wait_until_any`](Self::wait_until_any): `last` is the index that was returned
    /// last. All threads of the scope call it and get the same answer. (OpenSHMEM 1.6, 9.11.10.)
    #[inline(always)]
    #[track_caller]
    pub fn test_any<W: WaitWord, M: Status<S>>(
        self,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        value: W::Value,
        last: Option<u64>,
    ) -> Option<u64> {
        let set = self.set(Operation::TestAny, words, status, cmp, M::LISTED).one(value);
        self.do_test_any(set, last)
    }

    /// Writes the indices of all of this PE's own `words` that `status` does not ignore and that compare with `value` now to
    /// `indices`, and returns how many. Otherwise as [`wait_until_some`](Self::wait_until_some). All threads of the scope
    /// call it and get the same answer. (OpenSHMEM 1.6, 9.11.11.)
    #[inline(always)]
    #[track_caller]
    pub fn test_some<W: WaitWord, M: Status<S>, I: Indices<S>>(
        self,
        words: Sym<[W]>,
        indices: I,
        status: M,
        cmp: Cmp,
        value: W::Value,
    ) -> u64 {
        let set = self.set(Operation::TestSome, words, status, cmp, true).one(value);
        self.do_test_some(set, indices)
    }

    /// [`test_all`](Self::test_all) with a value for each word. (OpenSHMEM 1.6, 9.11.12.)
    #[inline(always)]
    #[track_caller]
    pub fn test_all_vector<W: WaitWord, M: Status<S>, V: Values<W::Value, S>>(
        self,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        values: V,
    ) -> bool {
        let set = self.set(Operation::TestAll, words, status, cmp, true).each(values);
        self.do_test_all(set)
    }

    /// [`test_any`](Self::test_any) with a value for each word. (OpenSHMEM 1.6, 9.11.13.)
    #[inline(always)]
    #[track_caller]
    pub fn test_any_vector<W: WaitWord, M: Status<S>, V: Values<W::Value, S>>(
        self,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        values: V,
        last: Option<u64>,
    ) -> Option<u64> {
        let set = self.set(Operation::TestAny, words, status, cmp, true).each(values);
        self.do_test_any(set, last)
    }

    /// [`test_some`](Self::test_some) with a value for each word. (OpenSHMEM 1.6, 9.11.14.)
    #[inline(always)]
    #[track_caller]
    pub fn test_some_vector<W: WaitWord, M: Status<S>, I: Indices<S>, V: Values<W::Value, S>>(
        self,
        words: Sym<[W]>,
        indices: I,
        status: M,
        cmp: Cmp,
        values: V,
    ) -> u64 {
        let set = self.set(Operation::TestSome, words, status, cmp, true).each(values);
        self.do_test_some(set, indices)
    }

    /// Begins an operation. `joins` says whether the scope's threads meet first: for lists that they have just written,
    /// and for indices that they may still be reading.
    #[inline(always)]
    #[track_caller]
    fn set<W: WaitWord, M: Status<S>>(
        self,
        operation: Operation,
        words: Sym<[W]>,
        status: M,
        cmp: Cmp,
        joins: bool,
    ) -> Set<W, M, ()> {
        let (shmem, len) = (self.shmem(), words.len());
        seam::operation(S::TOGETHER, operation, words.offset(), len * W::ELEMENT_BYTES, shmem.my_pe());
        let address = shmem.own_address(words.span(), operation);
        let mask = status.locate(shmem, operation, len);
        if joins {
            self.settle();
        }
        Set { shmem, operation, address, offset: words.offset(), len, mask, cmp, goals: (), of: PhantomData }
    }

    #[inline(always)]
    fn do_wait_all<W: WaitWord, M: Mask, G: Goals<W::Value>>(self, set: Set<W, M, G>) {
        let _recorded = Recorded::here(self, set.operation, set.range());
        let mut polled = Polled::Held;
        let mut until = Until::within(set.shmem.abi.deadline);
        let mut index = self.scope.rank();
        while index < set.len {
            if set.counts(index) {
                polled = poll_until(set.shmem, &mut until, || set.look(index));
                if !matches!(polled, Polled::Held) {
                    break;
                }
                set.acquire_unless_fenced(index);
            }
            index += self.scope.size();
        }
        order::fence_acquire_sys();
        self.scope.join(set.shmem, polled, set.unmet(index));
    }

    #[inline(always)]
    fn do_wait_any<W: WaitWord, M: Mask, G: Goals<W::Value>>(
        self,
        set: Set<W, M, G>,
        last: Option<u64>,
    ) -> Option<u64> {
        let _recorded = Recorded::here(self, set.operation, set.range());
        let found = self.wait_found(set, || set.find(next(last)));
        some_index(self.scope.share(set.shmem, set.acquired(found)))
    }

    #[inline(always)]
    fn do_wait_some<W: WaitWord, M: Mask, G: Goals<W::Value>, I: Indices<S>>(
        self,
        set: Set<W, M, G>,
        indices: I,
    ) -> u64 {
        let _recorded = Recorded::here(self, set.operation, set.range());
        let indices = set.room(indices);
        let found = self.wait_found(set, || set.collect::<I>(indices));
        if self.scope.leads() {
            order::fence_acquire_sys();
        }
        self.scope.share(set.shmem, found.answer)
    }

    /// The leader looks until it has found something, or there is nothing to find.
    #[inline(always)]
    fn wait_found<W: WaitWord, M: Mask, G: Goals<W::Value>>(
        self,
        set: Set<W, M, G>,
        look: impl Fn() -> Found,
    ) -> Found {
        let mut found = Found::none();
        let mut polled = Polled::Held;
        if self.scope.leads() {
            polled = poll_until(set.shmem, &mut Until::within(set.shmem.abi.deadline), || {
                found = look();
                (found.ends(), found.seen)
            });
        }
        self.scope.join(set.shmem, polled, set.unmet(found.index));
        found
    }

    #[inline(always)]
    fn do_test_all<W: WaitWord, M: Mask, G: Goals<W::Value>>(self, set: Set<W, M, G>) -> bool {
        let _recorded = Recorded::here(self, set.operation, set.range());
        let mut answer = self.scope.leads();
        if answer {
            let mut index = 0;
            while answer && index < set.len {
                if set.counts(index) {
                    answer = set.look(index).0;
                    set.acquire_unless_fenced(index);
                }
                index += 1;
            }
            order::fence_acquire_sys();
            seam::tested(answer);
        }
        self.scope.agree(set.shmem, answer)
    }

    #[inline(always)]
    fn do_test_any<W: WaitWord, M: Mask, G: Goals<W::Value>>(
        self,
        set: Set<W, M, G>,
        last: Option<u64>,
    ) -> Option<u64> {
        let _recorded = Recorded::here(self, set.operation, set.range());
        let found = if self.scope.leads() { set.find(next(last)) } else { Found::none() };
        some_index(self.scope.share(set.shmem, set.acquired(found)))
    }

    #[inline(always)]
    fn do_test_some<W: WaitWord, M: Mask, G: Goals<W::Value>, I: Indices<S>>(
        self,
        set: Set<W, M, G>,
        indices: I,
    ) -> u64 {
        let _recorded = Recorded::here(self, set.operation, set.range());
        let indices = set.room(indices);
        let mut found = Found::none();
        if self.scope.leads() {
            found = set.collect::<I>(indices);
            order::fence_acquire_sys();
        }
        self.scope.share(set.shmem, found.answer)
    }
}
