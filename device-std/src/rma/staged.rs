//! `put_staged` and `get_staged`: `put` and `get` through the bulk copy engine.

use super::{Destination, Source, bytes_of};
use crate::abi::Operation;
use crate::arch::bulk;
use crate::context::Context;
use crate::copy::GlobalSpace;
use crate::rma::WithinBlock;
use crate::rma::buffer::sealed::Buffer;
use crate::scope::Scoped;
use crate::stage::Stage;
use crate::sym::{Data, Sym};
use bytemuck::Pod;

impl<S: WithinBlock, C: Context> Scoped<S, C> {
    /// [`put`](Self::put) through `stage`: the leader drives the bulk copy engine, the other threads move head and
    /// tail. Where source and target lie differently to the 16-byte grid, and on a device without the engine, it is
    /// `put`. When it returns, the data has been written.
    #[inline(always)]
    #[track_caller]
    pub fn put_staged<T: Data, B: Source<T, S> + Buffer<T, Space = GlobalSpace>>(
        self,
        target: Sym<[T]>,
        source: B,
        stage: &mut Stage<S>,
        pe: u32,
    ) {
        let _recorded = self.enter(Operation::Put, target.offset(), bytes_of(target), pe);
        let to = self.remote(target.opaque().span(), pe, Operation::Put);
        let (from, len) = source.resolve(self.shmem(), Operation::Put);
        self.same_length(target.len(), len, target.offset(), pe, Operation::Put);
        // SAFETY: handles name allocated, aligned memory of these lengths on both sides.
        unsafe { self.through::<T>(stage, to, from, len, Operation::Put) };
    }

    /// [`get`](Self::get) through `stage`, as [`put_staged`](Self::put_staged).
    #[inline(always)]
    #[track_caller]
    pub fn get_staged<T: Data, B: Destination<T, S> + Buffer<T, Space = GlobalSpace>>(
        self,
        target: B,
        source: Sym<[T]>,
        stage: &mut Stage<S>,
        pe: u32,
    ) {
        let _recorded = self.enter(Operation::Get, source.offset(), bytes_of(source), pe);
        let from = self.remote(source.opaque().span(), pe, Operation::Get);
        let (to, len) = target.resolve(self.shmem(), Operation::Get);
        self.same_length(len, source.len(), source.offset(), pe, Operation::Get);
        // SAFETY: as in `put_staged`.
        unsafe { self.through::<T>(stage, to, from, len, Operation::Get) };
    }

    /// # Safety
    /// Both ranges are valid global memory, aligned for `T`, and do not overlap in part.
    #[inline(always)]
    unsafe fn through<T: Pod>(
        self,
        stage: &mut Stage<S>,
        to: u64,
        from: u64,
        len: u64,
        operation: Operation,
    ) {
        let bytes = len * size_of::<T>() as u64;
        let head = to.wrapping_neg() & 15;
        if bulk::AVAILABLE && (to ^ from) & 15 == 0 && bytes >= head + 16 {
            let body = (bytes - head) & !15;
            let tail = bytes - head - body;
            // SAFETY: parts of the ranges; the engine's is aligned.
            unsafe {
                stage.copy(self, to + head, from + head, body, operation);
                self.transfer::<GlobalSpace, GlobalSpace, T>(to, from, head);
                self.transfer::<GlobalSpace, GlobalSpace, T>(to + head + body, from + head + body, tail);
            }
            self.meet();
        } else {
            self.meet();
            // SAFETY: passed on.
            unsafe { self.transfer::<GlobalSpace, GlobalSpace, T>(to, from, bytes) };
            self.meet();
        }
    }
}
