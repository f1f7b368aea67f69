//! Reductions by loads and stores, in one pass: the elements of a range are loaded from all PEs, combined in registers, and the
//! result is stored where it is wanted. Nobody else touches a range, so that source and target may be the same memory.

use super::Form;
use super::element::Element;
use super::lane::Lane;
use super::ops::Reduction;
use super::packets::Four;
use crate::arch::{V16, Word};
use crate::context::MayWait;
use crate::copy::{self, GlobalSpace, bits, value};
use crate::scope::Scope;

/// A range of elements, at the same place on every PE.
#[derive(Clone, Copy)]
pub(super) struct Range {
    /// Heap offsets.
    pub(super) source: u64,
    pub(super) target: u64,
    pub(super) bytes: u64,
    /// The PE that gets the result, where one does.
    pub(super) one: u32,
}

impl<W: Scope, C: MayWait> Lane<W, C> {
    /// Combines a range, by the threads of the worker, as `form` says: a constant but in kernels for all of them.
    ///
    /// # Safety
    /// The range is valid and aligned in every heap of the team; its bytes are a whole number of `T`s, whose size divides
    /// 8; nobody else accesses it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn fuse<T: Element, O: Reduction<T>>(self, op: O, form: Form, range: Range) {
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
                self.four::<T, O>(op, form, range, head + 16 * i, 16 * step);
                i += 4 * step;
            }
            while i < words {
                self.word::<T, O>(op, form, range, head + 16 * i);
                i += step;
            }
            // What is not in whole words, before and behind them.
            let before = head / element;
            let count = (bytes - 16 * words) / element;
            let mut i = rank;
            while i < count {
                let behind = if i < before { 0 } else { 16 * words };
                self.element::<T, O>(op, form, range, i * element + behind);
                i += step;
            }
        }
    }

    /// One element.
    #[inline(always)]
    unsafe fn element<T: Element, O: Reduction<T>>(self, op: O, form: Form, range: Range, at: u64) {
        // SAFETY: an element of the range.
        let load = |from: u64| unsafe { bits(copy::load::<GlobalSpace, T>(from + at)) };
        // SAFETY: as above.
        let store = |to: u64, word| unsafe { copy::store::<GlobalSpace, T>(to + at, value(word)) };
        let next = |sum, word| op.next(sum, word);
        self.pass(form, range, (load, store), (T::first, next, T::word), op.identity());
    }

    /// A word.
    #[inline(always)]
    unsafe fn word<T: Element, O: Reduction<T>>(self, op: O, form: Form, range: Range, at: u64) {
        // SAFETY: a word of the range.
        let load = |from: u64| unsafe { V16::load_global(from + at) };
        // SAFETY: as above.
        let store = |to: u64, word| unsafe { V16::store_global(to + at, word) };
        let next = |sums, words| next::<T, O>(op, sums, words);
        let identity = V16(op.identity(), op.identity());
        self.pass(form, range, (load, store), (first::<T>, next, word::<T>), identity);
    }

    /// Four words, of which all loads from a PE are under way together.
    #[inline(always)]
    unsafe fn four<T: Element, O: Reduction<T>>(self, op: O, form: Form, range: Range, at: u64, step: u64) {
        // SAFETY: words of the range.
        let load = |from: u64| unsafe {
            let from = from + at;
            let (a, b) = (V16::load_global(from), V16::load_global(from + step));
            Four(a, b, V16::load_global(from + 2 * step), V16::load_global(from + 3 * step))
        };
        // SAFETY: as above.
        let store = |to: u64, Four(a, b, c, d): Four<V16>| unsafe {
            V16::store_global(to + at, a);
            V16::store_global(to + at + step, b);
            V16::store_global(to + at + 2 * step, c);
            V16::store_global(to + at + 3 * step, d);
        };
        let begin = |Four(a, b, c, d)| Four(first::<T>(a), first::<T>(b), first::<T>(c), first::<T>(d));
        let next = |sums: Four<Sums<T>>, words: Four<V16>| {
            let (a, b) = (next::<T, O>(op, sums.0, words.0), next::<T, O>(op, sums.1, words.1));
            Four(a, b, next::<T, O>(op, sums.2, words.2), next::<T, O>(op, sums.3, words.3))
        };
        let end = |Four(a, b, c, d)| Four(word::<T>(a), word::<T>(b), word::<T>(c), word::<T>(d));
        let identity = V16(op.identity(), op.identity());
        let identity = Four(identity, identity, identity, identity);
        self.pass(form, range, (load, store), (begin, next, end), identity);
    }

    /// Combines what `load` gives of each PE's source, in their order, and has `store` write it to the targets of those that get
    /// it.
    #[inline(always)]
    fn pass<V: Copy, U: Copy>(
        self,
        form: Form,
        range: Range,
        (load, store): (impl Fn(u64) -> V, impl Fn(u64, V)),
        (first, next, word): (impl Fn(V) -> U, impl Fn(U, V) -> U, impl Fn(U) -> V),
        identity: V,
    ) {
        let load = |pe| load(self.heap(pe) + range.source);
        let store = |pe, word| store(self.heap(pe) + range.target, word);
        let mut sum = first(load(0));
        match form {
            Form::Scan => store(0, word(sum)),
            Form::Exscan => store(0, identity),
            _ => {}
        }
        let mut pe = 1;
        while pe < self.n {
            let of = load(pe);
            if form == Form::Exscan {
                store(pe, word(sum));
            }
            sum = next(sum, of);
            if form == Form::Scan {
                store(pe, word(sum));
            }
            pe += 1;
        }
        match form {
            Form::Scan | Form::Exscan => {}
            Form::ReduceScatter | Form::ReduceTo => store(range.one, word(sum)),
            Form::Reduce => {
                let (word, mut i) = (word(sum), 0);
                while i < self.n {
                    store(self.after(i), word);
                    i += 1;
                }
            }
        }
    }
}

/// The sums of a word of 16 bytes.
type Sums<T> = (<T as Element>::Sum, <T as Element>::Sum);

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
