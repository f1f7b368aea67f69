//! `gather`: elements by their numbers. Numbers, loads and stores of several elements are in flight per thread, where a
//! loop of `g` waits for each.

use super::{Destination, LendDestination, Source};
use crate::abi::{Cause, Operation};
use crate::context::Context;
use crate::copy::{self, GlobalSpace};
use crate::fault::{Fault, fail};
use crate::rma::buffer::sealed::Buffer;
use crate::scope::{Scope, Scoped};
use crate::sym::{Data, Sym};
use bytemuck::Pod;

/// A type of element numbers: `u32`, `u64`.
pub trait GatherIndex: Pod + Into<u64> {}
impl GatherIndex for u32 {}
impl GatherIndex for u64 {}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Reads the elements of `source` on `pe` whose numbers `indices` holds into `target`, in their order. `indices`
    /// are this PE's own memory, as long as `target`; a number may come more than once. All threads of the scope
    /// call it with the same arguments; as [`get`](Self::get) otherwise.
    ///
    /// A number out of range ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn gather<T: Data, I: GatherIndex>(
        self,
        target: impl Destination<T, S>,
        source: Sym<[T]>,
        indices: impl Source<I, S>,
        pe: u32,
    ) {
        self.gather_data(&target, source, &indices, pe, Operation::Gather);
        self.meet();
    }

    /// As [`gather`](Self::gather), but `target` and `indices` are in use as the target of a
    /// [`get_nbi`](Self::get_nbi).
    #[inline(always)]
    #[track_caller]
    pub fn gather_nbi<T: Data, I: GatherIndex, B: LendDestination<T, S>>(
        self,
        target: B,
        source: Sym<[T]>,
        indices: impl Source<I, S>,
        pe: u32,
    ) -> B::Request {
        self.gather_data(&target, source, &indices, pe, Operation::GatherNbi);
        target.lend()
    }

    #[inline(always)]
    #[track_caller]
    fn gather_data<T: Pod, I: GatherIndex, B: Buffer<T>, N: Buffer<I>>(
        self,
        target: &B,
        source: Sym<[T]>,
        indices: &N,
        pe: u32,
        operation: Operation,
    ) {
        let shmem = self.shmem();
        let from = self.remote(source.opaque().span(), pe, operation);
        let (to, len) = target.resolve(shmem, operation);
        let (numbers, count) = indices.resolve(shmem, operation);
        let _recorded = self.enter(operation, source.offset(), count * size_of::<T>() as u64, pe);
        self.same_length(len, count, source.offset(), pe, operation);
        self.meet();
        let number = |i: u64| {
            // SAFETY: one of the numbers, of which there are `count`.
            unsafe { copy::load::<N::Space, I>(numbers + i * size_of::<I>() as u64) }.into()
        };
        // SAFETY: handles name allocated, aligned memory of these lengths.
        let gathered = unsafe {
            let source = (from, source.len());
            copy::gather::<B::Space, GlobalSpace, T>(to, source, number, count, self.rank(), self.size())
        };
        if let Err(number) = gathered {
            let fault = Fault {
                peer: self.context.named(pe),
                offset: source.offset(),
                ..Fault::new(Cause::IndexOutOfRange, operation)
            };
            fail(shmem, Fault { expected: source.len(), seen: number, ..fault });
        }
    }
}
