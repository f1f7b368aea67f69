//! `iput` and `iget`: elements at a stride, several in flight per thread. With both strides 1 they are `put` and `get`.

use super::{Destination, LendDestination, LendSource, Source};
use crate::abi::{Cause, Operation};
use crate::context::Context;
use crate::copy::{GlobalSpace, spread};
use crate::fault::{Fault, fail};
use crate::rma::buffer::sealed::Buffer;
use crate::scope::{Scope, Scoped};
use crate::sym::{Data, Sym};
use bytemuck::Pod;

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Writes `count` elements of `source`, each `source_stride` elements after the one before, to `target` on `pe`, each
    /// `target_stride` elements after the one before. Elements between them are not touched. All threads of the scope
    /// call it with the same arguments; as [`put`](Self::put) otherwise. (OpenSHMEM 1.6, 9.6.)
    ///
    /// A stride of 0, or elements beyond either end, end the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn iput<T: Data>(
        self,
        target: Sym<[T]>,
        source: impl Source<T, S>,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) {
        let _recorded =
            self.enter(Operation::Iput, target.offset(), count.saturating_mul(size_of::<T>() as u64), pe);
        self.iput_data(target, &source, (target_stride, source_stride), count, pe, Operation::Iput);
        self.meet();
    }

    /// As [`iput`](Self::iput), but the source is in use as that of a [`put_nbi`](Self::put_nbi).
    #[inline(always)]
    #[track_caller]
    pub fn iput_nbi<T: Data, B: LendSource<T, S>>(
        self,
        target: Sym<[T]>,
        source: B,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) -> B::Request {
        let _recorded =
            self.enter(Operation::IputNbi, target.offset(), count.saturating_mul(size_of::<T>() as u64), pe);
        self.iput_data(target, &source, (target_stride, source_stride), count, pe, Operation::IputNbi);
        source.lend()
    }

    /// Reads `count` elements of `source` on `pe`, each `source_stride` elements after the one before, into `target`,
    /// each `target_stride` elements after the one before. As [`get`](Self::get) and [`iput`](Self::iput) otherwise.
    #[inline(always)]
    #[track_caller]
    pub fn iget<T: Data>(
        self,
        target: impl Destination<T, S>,
        source: Sym<[T]>,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) {
        let _recorded =
            self.enter(Operation::Iget, source.offset(), count.saturating_mul(size_of::<T>() as u64), pe);
        self.iget_data(&target, source, (target_stride, source_stride), count, pe, Operation::Iget);
        self.meet();
    }

    /// As [`iget`](Self::iget), but the target is in use as that of a [`get_nbi`](Self::get_nbi).
    #[inline(always)]
    #[track_caller]
    pub fn iget_nbi<T: Data, B: LendDestination<T, S>>(
        self,
        target: B,
        source: Sym<[T]>,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) -> B::Request {
        let _recorded =
            self.enter(Operation::IgetNbi, source.offset(), count.saturating_mul(size_of::<T>() as u64), pe);
        self.iget_data(&target, source, (target_stride, source_stride), count, pe, Operation::IgetNbi);
        target.lend()
    }

    #[inline(always)]
    fn iput_data<T: Pod, B: Buffer<T>>(
        self,
        target: Sym<[T]>,
        source: &B,
        (target_stride, source_stride): (u64, u64),
        count: u64,
        pe: u32,
        operation: Operation,
    ) {
        let to = self.remote(target.opaque().span(), pe, operation);
        let (from, len) = source.resolve(self.shmem(), operation);
        self.within(target.len(), target_stride, count, target.offset(), pe, operation);
        self.within(len, source_stride, count, target.offset(), pe, operation);
        let bytes = size_of::<T>() as u64;
        self.meet();
        // SAFETY: handles name allocated, aligned memory, in which `within` found every element. A stride that takes part in
        // no address may be anything.
        unsafe {
            let (target, source) =
                ((to, target_stride.wrapping_mul(bytes)), (from, source_stride.wrapping_mul(bytes)));
            spread::<GlobalSpace, B::Space, T>(target, source, count, self.rank(), self.size());
        }
    }

    #[inline(always)]
    fn iget_data<T: Pod, B: Buffer<T>>(
        self,
        target: &B,
        source: Sym<[T]>,
        (target_stride, source_stride): (u64, u64),
        count: u64,
        pe: u32,
        operation: Operation,
    ) {
        let from = self.remote(source.opaque().span(), pe, operation);
        let (to, len) = target.resolve(self.shmem(), operation);
        self.within(len, target_stride, count, source.offset(), pe, operation);
        self.within(source.len(), source_stride, count, source.offset(), pe, operation);
        let bytes = size_of::<T>() as u64;
        self.meet();
        // SAFETY: as in `iput_data`.
        unsafe {
            let (target, source) =
                ((to, target_stride.wrapping_mul(bytes)), (from, source_stride.wrapping_mul(bytes)));
            spread::<B::Space, GlobalSpace, T>(target, source, count, self.rank(), self.size());
        }
    }

    /// Ends the calling thread unless `count` elements at `stride` lie within `len`.
    #[inline(always)]
    fn within(self, len: u64, stride: u64, count: u64, offset: u64, pe: u32, operation: Operation) {
        if count == 0 {
            return;
        }
        if stride == 0 {
            let fault = Fault { peer: self.context.named(pe), offset, ..Fault::new(Cause::Zero, operation) };
            fail(self.shmem(), fault);
        }
        // Of a product that does not fit 64 bits the high half says so.
        let last = u128::from(stride) * u128::from(count - 1);
        if last >= u128::from(len) {
            let seen = if last >> 64 != 0 { u64::MAX } else { last as u64 };
            let fault = Fault {
                peer: self.context.named(pe),
                offset,
                ..Fault::new(Cause::IndexOutOfRange, operation)
            };
            fail(self.shmem(), Fault { expected: len, seen, ..fault });
        }
    }
}
