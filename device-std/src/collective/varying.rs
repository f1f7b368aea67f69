//! All-gather and all-to-all of parts whose lengths differ: first the PEs tell each other the lengths, then the data goes.
//! Both are rounds of their own.

use super::alike::{Alike, InPlace, Operands};
use super::bytes;
use super::lane::Lane;
use super::packets::{Ended, Four};
use super::plan::Plan;
use crate::abi::{Cause, Operation};
use crate::context::MayWait;
use crate::copy::{self, GlobalSpace};
use crate::fault::{Fault, fail};
use crate::poll::Until;
use crate::scope::{Scope, Scoped};
use crate::sym::{Data, Sym};

/// Rounds of one operation.
const ROUNDS: u32 = 2;

/// Where the parts of an [`alltoallv`](Scoped::alltoallv) lie: an element for each PE of the team in each of them, of this PE.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Where in this PE's target the part of each PE begins, in elements.
    pub target_offsets: Sym<[u64]>,
    /// Where in this PE's source the part for each PE begins, in elements.
    pub source_offsets: Sym<[u64]>,
    /// How many elements this PE sends to each.
    pub counts: Sym<[u64]>,
    /// Written: how many elements have come from each.
    pub received: Sym<[u64]>,
}

impl<S: Scope, C: MayWait> Scoped<S, C> {
    /// Gathers the `source`s of all PEs, whose lengths may differ, one behind the other in the `target` of each, in the order
    /// of the team's PEs. What is behind them in `target` stays as it is. `source` may be this PE's part of `target`.
    /// (OpenSHMEM 1.6, 9.10.6.)
    ///
    /// Does not return if the deadline passes or a peer fails. A `target` with less room than there are elements ends the
    /// kernel, on every PE.
    #[inline(always)]
    #[track_caller]
    pub fn collect<T: Data>(self, target: Sym<[T]>, source: Sym<[T]>) {
        self.collect_units(target, source, 1);
    }

    /// As [`collect`](Self::collect), of elements of `unit` `T`s: that is what a record counts.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn collect_units<T: Data>(self, target: Sym<[T]>, source: Sym<[T]>, unit: u64) {
        const OPERATION: Operation = Operation::Collect;
        let own = bytes::<T>(source.len());
        let recorded = self.enter_here(OPERATION, target.offset(), own);
        let (to, from) = (self.offset_of(target, OPERATION), self.offset_of(source, OPERATION));
        self.begins(OPERATION, || {
            let alike = Alike { target: Some(to), ..Alike::of::<T>(None) };
            (alike, Operands::of((target, to), (source, from), InPlace::Anywhere))
        });
        let lanes = Plan::varying(self);
        recorded.chose(false, lanes);
        let begun = Lane::begin(self, OPERATION, lanes);
        if let Some(lane) = begun {
            let (before, total) = lane.lengths(source.len() / unit);
            if target.len() / unit < total {
                self.same_lengths(target, target.len() / unit, total, OPERATION);
            }
            lane.ready();
            // SAFETY: the own source, and its part of every target, which has room for all; ready and done keep others away
            // from them.
            unsafe { lane.exchange::<T>((to + bytes::<T>(before * unit), 0), (from, 0), own) };
            lane.done();
        }
        Lane::end(begun, self, ROUNDS);
    }

    /// Sends to each PE of the team a part of `source`, whose place and length this PE names, to the place in its `target` that
    /// that PE names. From `received` it learns how many elements have come from each. What no part goes to stays as it is.
    ///
    /// ```
    /// use oxshmem_device::collective::Parts;
    /// use oxshmem_device::prelude::*;
    ///
    /// /// Sends tokens, sorted by the PE that has their expert, to those PEs; each has room for `most` tokens from each PE.
    /// #[nvshmem_kernel]
    /// fn dispatch(shmem: Collective, to: Sym<[f32]>, tokens: Sym<[f32]>, places: Sym<[u64]>, begins: Sym<[u64]>, counts: Sym<[u64]>, received: Sym<[u64]>) {
    ///     let parts = Parts { target_offsets: places, source_offsets: begins, counts, received };
    ///     shmem.block().alltoallv(to, tokens, parts);
    /// }
    /// ```
    ///
    /// Does not return if the deadline passes or a peer fails. A part that is not in the source or has no room in its target,
    /// and arrays that have not an element for each PE, end the kernel. Source and target are different memory.
    #[inline(always)]
    #[track_caller]
    pub fn alltoallv<T: Data>(self, target: Sym<[T]>, source: Sym<[T]>, parts: Parts) {
        self.alltoallv_units(target, source, parts, 1);
    }

    /// As [`alltoallv`](Self::alltoallv), of elements of `unit` `T`s: `parts` counts those.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn alltoallv_units<T: Data>(self, target: Sym<[T]>, source: Sym<[T]>, parts: Parts, unit: u64) {
        const OPERATION: Operation = Operation::Alltoallv;
        let recorded = self.enter_here(OPERATION, target.offset(), bytes::<T>(source.len()));
        let n = u64::from(self.context.pes());
        self.has_length(parts.target_offsets, n, OPERATION);
        self.has_length(parts.source_offsets, n, OPERATION);
        self.has_length(parts.counts, n, OPERATION);
        self.has_length(parts.received, n, OPERATION);
        let (to, from) = (self.offset_of(target, OPERATION), self.offset_of(source, OPERATION));
        let numbers = |of| self.shmem().abi.heap_base + self.offset_of(of, OPERATION);
        let (places, begins) = (numbers(parts.target_offsets), numbers(parts.source_offsets));
        let (counts, received) = (numbers(parts.counts), numbers(parts.received));
        self.begins(OPERATION, || {
            let alike = Alike { target: Some(to), source: Some(from), ..Alike::of::<T>(None) };
            (alike, Operands::of((target, to), (source, from), InPlace::Never))
        });
        let lanes = Plan::varying(self);
        recorded.chose(false, lanes);
        let begun = Lane::begin(self, OPERATION, lanes);
        if let Some(lane) = begun {
            // SAFETY: arrays of as many elements as the team has PEs.
            unsafe { lane.tell_parts(counts, places, received) };
            lane.ready();
            let mut next = 0;
            while next < lane.n {
                let pe = lane.after(next);
                // SAFETY: an element of the arrays, which nobody writes meanwhile.
                let (count, begin) = unsafe { (number(counts, pe), number(begins, pe)) };
                // SAFETY: as above.
                let place = unsafe { lane.place_at(pe, places) };
                self.is_inside(pe, (begin, count), source.len() / unit);
                self.is_inside(pe, (place, count), target.len() / unit);
                let (first, last) = lane.range(bytes::<T>(count * unit));
                let there = lane.heap(pe) + to + bytes::<T>(place * unit) + first;
                let here = lane.own_heap() + from + bytes::<T>(begin * unit) + first;
                // SAFETY: both are inside of memory of `T`s, as was just seen; ready and done keep others away from it.
                unsafe { lane.copy::<T>(there, here, last - first) };
                next += 1;
            }
            lane.done();
        }
        Lane::end(begun, self, ROUNDS);
    }

    /// Ends the calling thread unless there is such a part of `len` elements, of this PE's for PE `pe`.
    #[inline(always)]
    fn is_inside(self, pe: u32, (begin, count): (u64, u64), len: u64) {
        if begin > len || count > len - begin {
            let peer = self.context.world_pe(pe);
            let fault = Fault { peer, ..Fault::new(Cause::IndexOutOfRange, Operation::Alltoallv) };
            fail(self.shmem(), Fault { expected: len, seen: begin.saturating_add(count), ..fault });
        }
    }
}

impl<W: Scope, C: MayWait> Lane<W, C> {
    /// Tells all PEs the own length, and learns theirs: the sum of those before this one's, and of all.
    #[inline(always)]
    fn lengths(self, own: u64) -> (u64, u64) {
        let packets = self.packets(0);
        self.settle();
        self.each_other(|pe| packets.send(pe, 0, own));
        let mut until = Until::within(self.shmem().abi.deadline);
        let mut ended = Ended::well(self.me);
        let (mut before, mut all) = (0u64, 0u64);
        let mut pe = 0;
        while pe < self.n {
            let at = |k: u32| ((pe + k).min(self.n - 1), 0);
            let got = packets.four(&mut until, Four(at(0), at(1), at(2), at(3)), own);
            if !ended.note(&got) {
                break;
            }
            let Four(a, b, c, d) = got.words;
            (before, all) = self.counted((before, all), pe, a);
            (before, all) = self.counted((before, all), pe + 1, b);
            (before, all) = self.counted((before, all), pe + 2, c);
            (before, all) = self.counted((before, all), pe + 3, d);
            pe += 4;
        }
        packets.join(ended);
        (before, all)
    }

    /// The sums with the length of PE `pe`, if there is one.
    #[inline(always)]
    fn counted(self, (before, all): (u64, u64), pe: u32, length: u64) -> (u64, u64) {
        let before = if pe < self.me { before.saturating_add(length) } else { before };
        (before, if pe < self.n { all.saturating_add(length) } else { all })
    }

    /// Tells each PE how many elements it gets and where its own go; notes what they tell.
    ///
    /// # Safety
    /// The addresses are those of arrays with an element for each PE.
    #[inline(always)]
    unsafe fn tell_parts(self, counts: u64, places: u64, received: u64) {
        let packets = self.packets(0);
        self.settle();
        self.each_other(|pe| {
            // SAFETY: passed on.
            let (count, place) = unsafe { (number(counts, pe), number(places, pe)) };
            packets.send(pe, 0, count);
            packets.send(pe, 1, place);
        });
        let mut until = Until::within(self.shmem().abi.deadline);
        let mut ended = Ended::well(self.me);
        let (mut pe, step) = (self.worker.rank() as u32, self.worker.size() as u32);
        while pe < self.n {
            // SAFETY: passed on.
            let own = unsafe { number(counts, self.me) };
            let got = packets.four(&mut until, Four((pe, 0), (pe, 1), (pe, 0), (pe, 1)), own);
            if !ended.note(&got) {
                break;
            }
            if self.lane == 0 {
                // SAFETY: an element of the array, of which this thread alone writes it.
                unsafe { copy::store::<GlobalSpace, u64>(received + 8 * u64::from(pe), got.words.0) };
            }
            pe += step;
        }
        packets.join(ended);
    }

    /// Where PE `pe` wants this one's elements, as it has told.
    ///
    /// # Safety
    /// As [`tell_parts`](Self::tell_parts), which has returned.
    #[inline(always)]
    unsafe fn place_at(self, pe: u32, places: u64) -> u64 {
        if pe == self.me {
            // SAFETY: passed on.
            return unsafe { number(places, pe) };
        }
        self.packets(0).look(pe, 1).0
    }
}

/// Element `pe` of an array.
///
/// # Safety
/// There is one, which nobody writes meanwhile.
#[inline(always)]
unsafe fn number(array: u64, pe: u32) -> u64 {
    // SAFETY: passed on.
    unsafe { copy::load::<GlobalSpace, u64>(array + 8 * u64::from(pe)) }
}
