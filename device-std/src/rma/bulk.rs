//! `put`, `get` and `put_signal` of slices, at any scope.
//!
//! | step of a put_signal | thread | edge |
//! |---|---|---|
//! | scope barrier | all | what any thread wrote to the source is what is sent |
//! | weak vector loads and stores | all | – |
//! | scope barrier | all | all stores reach the leader |
//! | `st.release.sys` / `red.release.sys.add` of the signal | leader | whoever acquires the signal sees the data |

use super::{Destination, Source};
use crate::abi::{Cause, Operation};
use crate::arch::order;
use crate::context::{Context, Shmem};
use crate::copy::{GlobalSpace, copy};
use crate::fault::{Fault, fail};
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::signal::{Signal, SignalOp, release};
use crate::sym::{Data, Sym};
use bytemuck::Pod;

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Writes `source` to `target` on `pe`. All threads of the scope call it with the same arguments; each
    /// moves a part.
    ///
    /// When it returns, the source may be reused. The data arrives at any later time and in any order, until
    /// a fence, quiet, strong signal or barrier orders it. Lengths are in elements and must be equal; zero is
    /// allowed. Source and target must not overlap in part.
    #[inline(always)]
    #[track_caller]
    pub fn put<T: Data>(self, target: Sym<[T]>, source: impl Source<T>, pe: u32) {
        seam::operation(Operation::Put, target.offset(), target.len() * size_of::<T>() as u64, pe);
        self.put_data(target, source, pe, Operation::Put);
        self.settle();
    }

    /// Writes `source` to `target` on `pe`, then updates `signal` there: whoever sees the new value sees the
    /// data. It covers *its own* data only; two of them in flight are unordered, so a double buffer has one
    /// signal per slot. With zero elements it still signals. As [`put`](Self::put) otherwise.
    #[inline(always)]
    #[track_caller]
    pub fn put_signal<T: Data>(
        self,
        target: Sym<[T]>,
        source: impl Source<T>,
        signal: Sym<Signal>,
        op: SignalOp,
        pe: u32,
    ) {
        seam::operation(Operation::PutSignal, target.offset(), target.len() * size_of::<T>() as u64, pe);
        let word = self.remote(signal.opaque().span(), pe, Operation::PutSignal);
        self.put_data(target, source, pe, Operation::PutSignal);
        self.settle();
        if self.scope.leads() {
            release(word, op);
        }
    }

    /// Reads `source` on `pe` into `target`. All threads of the scope call it with the same arguments; each
    /// moves a part. When it returns, the data is in the target for the whole scope. Lengths are in elements
    /// and must be equal; zero is allowed.
    #[inline(always)]
    #[track_caller]
    pub fn get<T: Data>(self, target: impl Destination<T>, source: Sym<[T]>, pe: u32) {
        let shmem = self.shmem();
        seam::operation(Operation::Get, source.offset(), source.len() * size_of::<T>() as u64, pe);
        let from = self.remote(source.opaque().span(), pe, Operation::Get);
        let (to, len) = target.resolve(shmem, Operation::Get);
        same_length(shmem, len, source.len(), source.offset(), pe, Operation::Get);
        self.settle();
        // SAFETY: handles name allocated, aligned memory of these lengths on both sides.
        unsafe { copy_into::<_, T>(target, to, from, len, self.scope.rank(), self.scope.size()) };
        self.settle();
    }

    #[inline(always)]
    fn put_data<T: Pod>(self, target: Sym<[T]>, source: impl Source<T>, pe: u32, operation: Operation) {
        let shmem = self.shmem();
        let to = self.remote(target.opaque().span(), pe, operation);
        let (from, len) = source.resolve(shmem, operation);
        same_length(shmem, target.len(), len, target.offset(), pe, operation);
        self.sync();
        let (from, len) = (order::opaque(from), order::opaque(len));
        // SAFETY: handles name allocated, aligned memory of these lengths on both sides.
        unsafe { copy_from::<_, T>(source, to, from, len, self.rank(), self.size()) };
    }
}

/// # Safety
/// As [`copy`]; `to` is the resolved address of `target`.
#[inline(always)]
unsafe fn copy_into<D: Destination<T>, T: Pod>(_: D, to: u64, from: u64, len: u64, rank: u64, size: u64) {
    // SAFETY: passed on.
    unsafe { copy::<D::Space, GlobalSpace, T>(to, from, len, rank, size) }
}

/// # Safety
/// As [`copy`]; `from` is the resolved address of `source`.
#[inline(always)]
unsafe fn copy_from<B: Source<T>, T: Pod>(_: B, to: u64, from: u64, len: u64, rank: u64, size: u64) {
    // SAFETY: passed on.
    unsafe { copy::<GlobalSpace, B::Space, T>(to, from, len, rank, size) }
}

#[inline(always)]
fn same_length(shmem: Shmem, target: u64, source: u64, offset: u64, pe: u32, operation: Operation) {
    if target != source {
        let fault = Fault { peer: pe, offset, ..Fault::new(Cause::LengthMismatch, operation) };
        fail(shmem, Fault { expected: target, seen: source, ..fault });
    }
}
