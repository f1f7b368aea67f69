//! Broadcast, all-gather and all-to-all.

use super::alike::{Alike, InPlace, Operands};
use super::lane::Lane;
use super::packets::{Ended, Four};
use super::plan::Plan;
use super::words;
use super::{afresh, bytes};
use crate::abi::Operation;
use crate::abi::tuning::Kind;
use crate::arch::{V16, Word};
use crate::context::MayWait;
use crate::copy::GlobalSpace;
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::sym::{Data, Sym};
use crate::trace::Recorded;
use bytemuck::Pod;

impl<S: Scope, C: MayWait> Scoped<S, C> {
    /// Copies the `source` of the team's PE `root` to the `target` of every PE, its own included. Both have the same length,
    /// and may be the same memory. (OpenSHMEM 1.6, 9.10.5.)
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths, and a PE that the team does not have, end
    /// the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn broadcast<T: Data>(self, target: Sym<[T]>, source: Sym<[T]>, root: u32) {
        const OPERATION: Operation = Operation::Broadcast;
        let all = bytes::<T>(source.len());
        let recorded = self.enter(OPERATION, target.offset(), all, root);
        seam::with(root.into());
        self.has_pe(root, OPERATION);
        self.has_length(target, source.len(), OPERATION);
        let (to, from) = (self.offset_of(target, OPERATION), self.offset_of(source, OPERATION));
        self.begins(OPERATION, || {
            let of = Alike::of::<T>(Some(source.len()));
            let alike = Alike { root: Some(root), target: Some(to), source: Some(from), ..of };
            (alike, Operands::of((target, to), (source, from), InPlace::At(0)))
        });
        if all == 0 {
            return;
        }
        let (to, from, all) = afresh(to, from, all);
        let plan = Plan::of(self, all, Kind::Broadcast);
        plan.note(&recorded, self.context.pes());
        let begun = Lane::begin(self, OPERATION, plan.lanes);
        if let Some(lane) = begun {
            let base = lane.own_heap();
            // SAFETY: the handles name such memory, aligned for `T`, on every PE; ready and done, or the packets, keep others
            // away from it.
            unsafe {
                if lane.n > 1 && plan.packets {
                    lane.broadcast_packets::<T>((base + to, base + from), all, root);
                } else {
                    lane.ready();
                    let (begin, end) = lane.range(all);
                    if root != lane.me || to != from {
                        let from = lane.heap(root) + from + begin;
                        lane.copy::<T>(base + to + begin, from, end - begin);
                    }
                    lane.done();
                }
            }
        }
        Lane::end(begun, self, 1);
    }

    /// Gathers the `source`s of all PEs in the `target` of each, in the order of the team's PEs: all-gather. `target` is as
    /// many times as long as `source` as there are PEs; `source` may be this PE's part of `target`.
    /// (OpenSHMEM 1.6, 9.10.6.)
    ///
    /// Does not return if the deadline passes or a peer fails. Other lengths end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn fcollect<T: Data>(self, target: Sym<[T]>, source: Sym<[T]>) {
        const OPERATION: Operation = Operation::Fcollect;
        let part = bytes::<T>(source.len());
        let recorded = self.enter_here(OPERATION, target.offset(), part);
        self.has_length(target, source.len() * u64::from(self.context.pes()), OPERATION);
        let (to, from) = (self.offset_of(target, OPERATION), self.offset_of(source, OPERATION));
        self.begins(OPERATION, || {
            // In place each PE's source is another part.
            let alike = Alike { target: Some(to), ..Alike::of::<T>(Some(source.len())) };
            let own = part * u64::from(self.context.meeting().me);
            (alike, Operands::of((target, to), (source, from), InPlace::At(own)))
        });
        let (to, from, part) = afresh(to, from, part);
        self.exchanged::<T>((OPERATION, &recorded), (to, part), (from, 0), part);
    }

    /// Sends part `p` of `source` to the team's PE `p`, which has it as part `my_pe` of its `target`, for every `p`. Both are
    /// as long as each other, and have as many parts of the same length as there are PEs; they may be the same memory.
    /// (OpenSHMEM 1.6, 9.10.8.)
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths, and one that the PEs do not divide, end
    /// the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn alltoall<T: Data>(self, target: Sym<[T]>, source: Sym<[T]>) {
        const OPERATION: Operation = Operation::Alltoall;
        let n = u64::from(self.context.pes());
        let each = source.len() / n;
        let part = bytes::<T>(each);
        let recorded = self.enter_here(OPERATION, target.offset(), part);
        self.same_lengths(source, each * n, source.len(), OPERATION);
        self.has_length(target, source.len(), OPERATION);
        let (to, from) = (self.offset_of(target, OPERATION), self.offset_of(source, OPERATION));
        self.begins(OPERATION, || {
            let alike = Alike { target: Some(to), source: Some(from), ..Alike::of::<T>(Some(source.len())) };
            (alike, Operands::of((target, to), (source, from), InPlace::At(0)))
        });
        let (to, from, part) = afresh(to, from, part);
        self.exchanged::<T>((OPERATION, &recorded), (to, part), (from, part), part);
    }

    /// Each PE sends `part` bytes to each: what it sends to PE `p` lies at `from` plus `p` times its step, and goes to `to` plus
    /// the own number times its step there.
    #[inline(always)]
    fn exchanged<T: Data>(
        self,
        (operation, recorded): (Operation, &Recorded),
        to: (u64, u64),
        from: (u64, u64),
        part: u64,
    ) {
        if part == 0 {
            return;
        }
        let plan = Plan::of(self, part, Kind::Exchange);
        plan.note(recorded, self.context.pes());
        let begun = Lane::begin(self, operation, plan.lanes);
        if let Some(lane) = begun {
            // SAFETY: the handles name such memory, aligned for `T`, on every PE; ready and done, or the packets, keep others
            // away from it.
            unsafe {
                if lane.n > 1 && plan.packets {
                    lane.exchange_packets::<T>(to, from, part);
                } else {
                    lane.ready();
                    if to == from {
                        lane.swap::<T>(to.0, part);
                    } else {
                        lane.exchange::<T>(to, from, part);
                    }
                    lane.done();
                }
            }
        }
        Lane::end(begun, self, 1);
    }
}

impl<W: Scope, C: MayWait> Lane<W, C> {
    /// Copies by the threads of the worker.
    #[inline(always)]
    pub(super) unsafe fn copy<T: Pod>(self, to: u64, from: u64, bytes: u64) {
        // SAFETY: passed on.
        unsafe { self.worker.transfer::<GlobalSpace, GlobalSpace, T>(to, from, bytes) };
    }

    #[inline(always)]
    unsafe fn broadcast_packets<T: Pod>(self, (to, from): (u64, u64), bytes: u64, root: u32) {
        let packets = self.packets(0);
        let (mut i, step) = (self.worker.rank(), self.worker.size());
        let words = bytes.div_ceil(8);
        let mut ended = Ended::well(self.me);
        // SAFETY: words of the memory that the caller vouches for.
        unsafe {
            if root == self.me {
                self.settle();
                while i < words {
                    let word = words::load::<T>(from, i, bytes);
                    let mut next = 1;
                    while next < self.n {
                        packets.send(self.after(next), i, word);
                        next += 1;
                    }
                    words::store::<T>(to, i, bytes, word);
                    i += step;
                }
            } else {
                let keep = |_, i, word| words::store::<T>(to, i, bytes, word);
                ended = packets.take_all((1, words), |_| root, keep);
            }
        }
        packets.join(ended);
        self.done_with_root();
    }

    #[inline(always)]
    unsafe fn exchange_packets<T: Pod>(self, to: (u64, u64), from: (u64, u64), part: u64) {
        let packets = self.packets(0);
        let (base, others) = (self.own_heap(), self.n - 1);
        let (begin, count) = self.words(part);
        // Word by word of one PE, then the next PE's: neighbouring threads have neighbouring words.
        let (parts, pe) = ((others, count), |part| self.after(part + 1));
        let source = |pe: u32| base + from.0 + from.1 * u64::from(pe);
        let target = |pe: u32| base + to.0 + to.1 * u64::from(pe);
        // SAFETY: words of the memory that the caller vouches for. What a thread stores of a PE's part it has sent before, if they
        // are the same memory; the own part, which other threads may send, stays where it is then.
        unsafe {
            packets.send_all(parts, pe, |pe, i| words::load::<T>(source(pe), begin + i, part));
            let (mine, here) = (source(self.me), target(self.me));
            let (mut i, step) = (self.worker.rank(), self.worker.size());
            while mine != here && i < count {
                words::store::<T>(here, begin + i, part, words::load::<T>(mine, begin + i, part));
                i += step;
            }
            packets.join(packets.take_all(parts, pe, |pe, i, word| {
                words::store::<T>(target(pe), begin + i, part, word);
            }));
        }
    }

    /// To every PE its part: see [`exchanged`](Scoped::exchanged).
    #[inline(always)]
    pub(super) unsafe fn exchange<T: Pod>(self, to: (u64, u64), from: (u64, u64), part: u64) {
        let (begin, end) = self.range(part);
        let there = to.0 + to.1 * u64::from(self.me) + begin;
        let words = (end - begin) / 16;
        if (to.0 | to.1 | from.0 | from.1 | end) & 15 == 0 && words < 16 * self.worker.size() {
            // SAFETY: passed on.
            return unsafe { self.exchange_words(there, (self.own_heap() + from.0 + begin, from.1), words) };
        }
        let mut next = 0;
        while next < self.n {
            let pe = self.after(next);
            let source = from.0 + from.1 * u64::from(pe) + begin;
            if pe != self.me || source != there {
                // SAFETY: parts of the memory that the caller vouches for.
                unsafe { self.copy::<T>(self.heap(pe) + there, self.own_heap() + source, end - begin) };
            }
            next += 1;
        }
    }

    /// As [`exchange`](Self::exchange), where a PE's part is not many words of 16 bytes for each thread: those for four PEs are under way
    /// together. `from` is the address of the word for PE 0, and from there to that for the next.
    #[inline(always)]
    unsafe fn exchange_words(self, there: u64, from: (u64, u64), words: u64) {
        let source = |pe: u32| from.0 + from.1 * u64::from(pe);
        // What is there already is left out.
        let first = u32::from(source(self.me) == self.own_heap() + there);
        let (mut i, step) = (self.worker.rank(), self.worker.size());
        while i < words {
            let at = 16 * i;
            let mut next = first;
            while next < self.n {
                let pe = |k: u32| self.after((next + k).min(self.n - 1));
                let (a, b, c, d) = (pe(0), pe(1), pe(2), pe(3));
                // SAFETY: a word of the memory that the caller vouches for, on each PE this thread's alone.
                unsafe {
                    let load = |pe| V16::load_global(source(pe) + at);
                    let store = |pe, word| V16::store_global(self.heap(pe) + there + at, word);
                    let loaded = Four(load(a), load(b), load(c), load(d));
                    store(a, loaded.0);
                    if next + 1 < self.n {
                        store(b, loaded.1);
                    }
                    if next + 2 < self.n {
                        store(c, loaded.2);
                    }
                    if next + 3 < self.n {
                        store(d, loaded.3);
                    }
                }
                next += 4;
            }
            i += step;
        }
    }

    /// Exchanges part `p` of this PE with the own part of PE `p`, for every `p`: the PE with the lesser number exchanges the
    /// first half of the two, the other one the rest.
    #[inline(always)]
    unsafe fn swap<T: Pod>(self, at: u64, part: u64) {
        let half = ((part / 2 + 15) & !15).min(part);
        let mut next = 1;
        while next < self.n {
            let pe = self.after(next);
            let (first, bytes) = if self.me < pe { (0, half) } else { (half, part - half) };
            let (begin, end) = self.range(bytes);
            let mine = self.own_heap() + at + part * u64::from(pe) + first + begin;
            let theirs = self.heap(pe) + at + part * u64::from(self.me) + first + begin;
            // SAFETY: parts of the memory that the caller vouches for, which are this lane's alone.
            unsafe {
                exchange_elements::<T>(mine, theirs, end - begin, (self.worker.rank(), self.worker.size()))
            };
            next += 1;
        }
    }
}

/// Exchanges two ranges.
#[inline(always)]
unsafe fn exchange_elements<T: Pod>(a: u64, b: u64, bytes: u64, (rank, step): (u64, u64)) {
    if (a | b | bytes) & 15 == 0 {
        // SAFETY: passed on: both are aligned.
        return unsafe { exchange_each::<V16>(a, b, bytes / 16, (rank, step)) };
    }
    if align_of::<T>() < 4 && (a | b | bytes) & 3 == 0 {
        // SAFETY: as above.
        return unsafe { exchange_each::<u32>(a, b, bytes / 4, (rank, step)) };
    }
    // SAFETY: passed on: `T`'s alignment divides both addresses and its size.
    unsafe {
        match align_of::<T>() {
            1 => exchange_each::<u8>(a, b, bytes, (rank, step)),
            2 => exchange_each::<u16>(a, b, bytes / 2, (rank, step)),
            4 => exchange_each::<u32>(a, b, bytes / 4, (rank, step)),
            _ => exchange_each::<u64>(a, b, bytes / 8, (rank, step)),
        }
    }
}

#[inline(always)]
unsafe fn exchange_each<V: Word>(a: u64, b: u64, count: u64, (mut i, step): (u64, u64)) {
    let bytes = size_of::<V>() as u64;
    while i < count {
        let at = i * bytes;
        // SAFETY: passed on.
        unsafe {
            let (of_a, of_b) = (V::load_global(a + at), V::load_global(b + at));
            V::store_global(a + at, of_b);
            V::store_global(b + at, of_a);
        }
        i += step;
    }
}
