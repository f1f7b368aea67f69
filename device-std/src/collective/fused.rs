//! Reductions by loads and stores, in one pass: the elements of a range are loaded from all PEs, combined in registers, and the
//! result is stored where it is wanted. Nobody else touches a range, so that source and target may be the same memory.

use super::element::Element;
use super::lane::Lane;
use super::ops::Reduction;
use super::words;
use crate::arch::{V16, Word};
use crate::context::MayWait;
use crate::scope::Scope;

/// To every PE.
pub(super) const TO_ALL: u32 = 0;
/// To one PE.
pub(super) const TO_ONE: u32 = 1;
/// To every PE what the PEs up to it give together.
pub(super) const SCAN: u32 = 2;
/// To every PE what the PEs before it give together.
pub(super) const EXSCAN: u32 = 3;

/// A range of elements, at the same place on every PE.
#[derive(Clone, Copy)]
pub(super) struct Range {
    /// Heap offsets.
    pub(super) source: u64,
    pub(super) target: u64,
    pub(super) bytes: u64,
    /// The PE that gets the result, of [`TO_ONE`].
    pub(super) one: u32,
}

/// A word of 16 bytes.
type Sums<T> = (<T as Element>::Sum, <T as Element>::Sum);

impl<W: Scope, C: MayWait> Lane<W, C> {
    /// Combines a range, by the threads of the worker, for those that `to` says: a constant but in kernels for all of them.
    ///
    /// # Safety
    /// The range is valid and aligned in every heap of the team; its bytes are a whole number of `T`s, whose size divides
    /// 8; nobody else accesses it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn fuse<T: Element, O: Reduction<T>>(self, op: O, to: u32, range: Range) {
        let (rank, step) = (self.worker.rank(), self.worker.size());
        let element = size_of::<T>() as u64;
        let Range { source, target, bytes, .. } = range;
        let together = (source ^ target) & 15 == 0;
        let head = if together { (source.wrapping_neg() & 15).min(bytes) } else { bytes };
        let words = (bytes - head) / 16;
        // SAFETY: words, head and tail are parts of the range.
        unsafe {
            let mut i = rank;
            while i + 3 * step < words {
                self.four::<T, O>(op, to, range, head + 16 * i, 16 * step);
                i += 4 * step;
            }
            while i < words {
                self.word::<T, O>(op, to, range, head + 16 * i);
                i += step;
            }
            // What is not in whole words, before and behind them.
            let before = head / element;
            let count = (bytes - 16 * words) / element;
            let mut i = rank;
            while i < count {
                let behind = if i < before { 0 } else { 16 * words };
                self.element::<T, O>(op, to, range, i * element + behind);
                i += step;
            }
        }
    }

    /// The PEs that get what is combined of all, from first to last.
    #[inline(always)]
    fn targets(self, to: u32, range: Range, mut store: impl FnMut(u64)) {
        if to == TO_ONE {
            return store(self.heap(range.one) + range.target);
        }
        let mut i = 0;
        while i < self.n {
            store(self.heap(self.after(i)) + range.target);
            i += 1;
        }
    }

    #[inline(always)]
    unsafe fn element<T: Element, O: Reduction<T>>(self, op: O, to: u32, range: Range, at: u64) {
        // SAFETY: an element of the range.
        let load = |pe| unsafe { words::load_one::<T>(self.heap(pe) + range.source + at) };
        let store = |target: u64, word| {
            // SAFETY: an element of the range.
            unsafe { words::store_one::<T>(target + at, word) }
        };
        let mut sum = T::first(load(0));
        if to == SCAN {
            store(self.heap(0) + range.target, T::word(sum));
        }
        if to == EXSCAN {
            store(self.heap(0) + range.target, op.identity());
        }
        let mut pe = 1;
        while pe < self.n {
            let word = load(pe);
            if to == EXSCAN {
                store(self.heap(pe) + range.target, T::word(sum));
            }
            sum = op.next(sum, word);
            if to == SCAN {
                store(self.heap(pe) + range.target, T::word(sum));
            }
            pe += 1;
        }
        if to == TO_ALL || to == TO_ONE {
            let word = T::word(sum);
            self.targets(to, range, |target| store(target, word));
        }
    }

    #[inline(always)]
    unsafe fn word<T: Element, O: Reduction<T>>(self, op: O, to: u32, range: Range, at: u64) {
        // SAFETY: a word of the range.
        let load = |pe| unsafe { V16::load_global(self.heap(pe) + range.source + at) };
        // SAFETY: as above.
        let store = |target: u64, word: V16| unsafe { V16::store_global(target + at, word) };
        let mut sum = first::<T>(load(0));
        if to == SCAN {
            store(self.heap(0) + range.target, word::<T>(sum));
        }
        if to == EXSCAN {
            store(self.heap(0) + range.target, V16(op.identity(), op.identity()));
        }
        let mut pe = 1;
        while pe < self.n {
            let of = load(pe);
            if to == EXSCAN {
                store(self.heap(pe) + range.target, word::<T>(sum));
            }
            sum = next::<T, O>(op, sum, of);
            if to == SCAN {
                store(self.heap(pe) + range.target, word::<T>(sum));
            }
            pe += 1;
        }
        if to == TO_ALL || to == TO_ONE {
            let word = word::<T>(sum);
            self.targets(to, range, |target| store(target, word));
        }
    }

    /// Four words, of which all loads from a PE are under way together.
    #[inline(always)]
    unsafe fn four<T: Element, O: Reduction<T>>(self, op: O, to: u32, range: Range, at: u64, step: u64) {
        // SAFETY: words of the range.
        let load = |pe| unsafe {
            let from = self.heap(pe) + range.source + at;
            let (a, b) = (V16::load_global(from), V16::load_global(from + step));
            (a, b, V16::load_global(from + 2 * step), V16::load_global(from + 3 * step))
        };
        // SAFETY: as above.
        let store = |target: u64, (a, b, c, d): (V16, V16, V16, V16)| unsafe {
            V16::store_global(target + at, a);
            V16::store_global(target + at + step, b);
            V16::store_global(target + at + 2 * step, c);
            V16::store_global(target + at + 3 * step, d);
        };
        let words = |(a, b, c, d): (Sums<T>, Sums<T>, Sums<T>, Sums<T>)| {
            (word::<T>(a), word::<T>(b), word::<T>(c), word::<T>(d))
        };
        let (a, b, c, d) = load(0);
        let mut sums = (first::<T>(a), first::<T>(b), first::<T>(c), first::<T>(d));
        if to == SCAN {
            store(self.heap(0) + range.target, words(sums));
        }
        if to == EXSCAN {
            let identity = V16(op.identity(), op.identity());
            store(self.heap(0) + range.target, (identity, identity, identity, identity));
        }
        let mut pe = 1;
        while pe < self.n {
            let (a, b, c, d) = load(pe);
            if to == EXSCAN {
                store(self.heap(pe) + range.target, words(sums));
            }
            sums = (
                next::<T, O>(op, sums.0, a),
                next::<T, O>(op, sums.1, b),
                next::<T, O>(op, sums.2, c),
                next::<T, O>(op, sums.3, d),
            );
            if to == SCAN {
                store(self.heap(pe) + range.target, words(sums));
            }
            pe += 1;
        }
        if to == TO_ALL || to == TO_ONE {
            let words = words(sums);
            self.targets(to, range, |target| store(target, words));
        }
    }
}

#[inline(always)]
fn first<T: Element>(V16(low, high): V16) -> Sums<T> {
    (T::first(low), T::first(high))
}

#[inline(always)]
fn next<T: Element, O: Reduction<T>>(op: O, sums: Sums<T>, V16(low, high): V16) -> Sums<T> {
    (op.next(sums.0, low), op.next(sums.1, high))
}

#[inline(always)]
fn word<T: Element>((low, high): Sums<T>) -> V16 {
    V16(T::word(low), T::word(high))
}
