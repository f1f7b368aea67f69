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
use core::marker::PhantomData;

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
        self.pass(form, range, (load, store), By::<T, O, 0>(op, PhantomData));
    }

    /// A word.
    #[inline(always)]
    unsafe fn word<T: Element, O: Reduction<T>>(self, op: O, form: Form, range: Range, at: u64) {
        // SAFETY: a word of the range.
        let load = |from: u64| unsafe { V16::load_global(from + at) };
        // SAFETY: as above.
        let store = |to: u64, word| unsafe { V16::store_global(to + at, word) };
        self.pass(form, range, (load, store), By::<T, O, 1>(op, PhantomData));
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
        self.pass(form, range, (load, store), By::<T, O, 4>(op, PhantomData));
    }

    /// Combines what `load` gives of each PE's source, in their order, and has `store` write it to the targets of those that get
    /// it.
    #[inline(always)]
    fn pass<B: Combine>(
        self,
        form: Form,
        range: Range,
        (load, store): (impl Fn(u64) -> B::Value, impl Fn(u64, B::Value)),
        by: B,
    ) {
        let load = |pe| load(self.heap(pe) + range.source);
        let store = |pe, word| store(self.heap(pe) + range.target, word);
        let mut sum = B::first(load(0));
        match form {
            Form::Scan => store(0, B::word(sum)),
            Form::Exscan => store(0, by.identity()),
            _ => {}
        }
        let mut pe = 1;
        while pe < self.n {
            let of = load(pe);
            if form == Form::Exscan {
                store(pe, B::word(sum));
            }
            sum = by.next(sum, of);
            if form == Form::Scan {
                store(pe, B::word(sum));
            }
            pe += 1;
        }
        match form {
            Form::Scan | Form::Exscan => {}
            Form::ReduceScatter | Form::ReduceTo => store(range.one, B::word(sum)),
            Form::Reduce => {
                let (word, mut i) = (B::word(sum), 0);
                while i < self.n {
                    store(self.after(i), word);
                    i += 1;
                }
            }
        }
    }
}

/// How values are combined that are loaded at once. No closures: a kernel with several reductions would call them, with what
/// they combine in local memory.
trait Combine: Copy {
    /// What is loaded and stored.
    type Value: Copy;
    /// What it is accumulated in.
    type Sum: Copy;
    /// Of the first PE's value.
    fn first(value: Self::Value) -> Self::Sum;
    /// With the next one's.
    fn next(self, sum: Self::Sum, value: Self::Value) -> Self::Sum;
    /// The result.
    fn word(sum: Self::Sum) -> Self::Value;
    /// What changes nothing.
    fn identity(self) -> Self::Value;
}

/// By an operator, of this many words of 16 bytes; of one element, if that is 0.
#[derive(Clone, Copy)]
struct By<T, O, const WORDS: u32>(O, PhantomData<T>);

impl<T: Element, O: Reduction<T>> Combine for By<T, O, 0> {
    type Value = u64;
    type Sum = T::Sum;
    #[inline(always)]
    fn first(value: u64) -> T::Sum {
        T::first(value)
    }
    #[inline(always)]
    fn next(self, sum: T::Sum, value: u64) -> T::Sum {
        self.0.next(sum, value)
    }
    #[inline(always)]
    fn word(sum: T::Sum) -> u64 {
        T::word(sum)
    }
    #[inline(always)]
    fn identity(self) -> u64 {
        self.0.identity()
    }
}

impl<T: Element, O: Reduction<T>> Combine for By<T, O, 1> {
    type Value = V16;
    type Sum = (T::Sum, T::Sum);
    #[inline(always)]
    fn first(V16(low, high): V16) -> Self::Sum {
        (T::first(low), T::first(high))
    }
    #[inline(always)]
    fn next(self, sum: Self::Sum, V16(low, high): V16) -> Self::Sum {
        (self.0.next(sum.0, low), self.0.next(sum.1, high))
    }
    #[inline(always)]
    fn word((low, high): Self::Sum) -> V16 {
        V16(T::word(low), T::word(high))
    }
    #[inline(always)]
    fn identity(self) -> V16 {
        V16(self.0.identity(), self.0.identity())
    }
}

/// One word.
type OneWord<T, O> = By<T, O, 1>;

impl<T: Element, O: Reduction<T>> Combine for By<T, O, 4> {
    type Value = Four<V16>;
    type Sum = Four<(T::Sum, T::Sum)>;
    #[inline(always)]
    fn first(Four(a, b, c, d): Four<V16>) -> Self::Sum {
        Four(
            OneWord::<T, O>::first(a),
            OneWord::<T, O>::first(b),
            OneWord::<T, O>::first(c),
            OneWord::<T, O>::first(d),
        )
    }
    #[inline(always)]
    fn next(self, sum: Self::Sum, value: Four<V16>) -> Self::Sum {
        let one: OneWord<T, O> = By(self.0, PhantomData);
        let (a, b) = (one.next(sum.0, value.0), one.next(sum.1, value.1));
        Four(a, b, one.next(sum.2, value.2), one.next(sum.3, value.3))
    }
    #[inline(always)]
    fn word(Four(a, b, c, d): Self::Sum) -> Four<V16> {
        Four(
            OneWord::<T, O>::word(a),
            OneWord::<T, O>::word(b),
            OneWord::<T, O>::word(c),
            OneWord::<T, O>::word(d),
        )
    }
    #[inline(always)]
    fn identity(self) -> Four<V16> {
        let one = By::<T, O, 1>(self.0, PhantomData).identity();
        Four(one, one, one, one)
    }
}
