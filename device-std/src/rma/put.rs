//! `put`.
//!
//! | step | thread | edge |
//! |---|---|---|
//! | scope barrier | all | what any thread wrote to the source is what is sent |
//! | weak vector loads and stores, or the bulk engine | all, or the leader | – |
//! | scope barrier; not of `put_nbi` | all | the source may be reused |

use super::buffer::sealed::Buffer;
use super::{LendSource, Source, bytes_of, engine_part};
use crate::abi::Operation;
use crate::arch::{bulk, order};
use crate::context::Context;
use crate::copy::GlobalSpace;
use crate::scope::{Scope, Scoped};
use crate::sym::{Data, Sym};
use bytemuck::Pod;

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Writes `source` to `target` on `pe`. All threads of the scope call it with the same arguments; each moves a
    /// part.
    ///
    /// When it returns, the source may be reused. The data arrives at any later time and in any order, until a fence,
    /// quiet, strong signal or barrier orders it; on the own PE it has arrived for the scope. Lengths are in elements
    /// and must be equal; zero is allowed. Source and target must not overlap in part. (OpenSHMEM 1.6, 9.6.)
    #[inline(always)]
    #[track_caller]
    pub fn put<T: Data, B: Source<T, S>>(self, target: Sym<[T]>, source: B, pe: u32) {
        let _recorded = self.enter(Operation::Put, target.offset(), bytes_of(target), pe);
        self.put_data(target, &source, pe, Operation::Put);
        if B::ENGINE {
            // Not only read: on the own PE the data has arrived.
            bulk::wait_stores();
        }
        self.meet();
    }

    /// As [`put`](Self::put), but the source is in use until [`flush`](Self::flush), [`quiet`](Self::quiet) or a
    /// barrier of the scope; memory of the block is taken, and given back by the request. A thread's own array may be
    /// reused at once.
    #[inline(always)]
    #[track_caller]
    pub fn put_nbi<T: Data, B: LendSource<T, S>>(self, target: Sym<[T]>, source: B, pe: u32) -> B::Request {
        let _recorded = self.enter(Operation::PutNbi, target.offset(), bytes_of(target), pe);
        self.put_data(target, &source, pe, Operation::PutNbi);
        source.lend()
    }

    /// Joins the scope and starts the put; the source is in use until the scope is joined again.
    #[inline(always)]
    pub(super) fn put_data<T: Pod, B: Buffer<T>>(
        self,
        target: Sym<[T]>,
        source: &B,
        pe: u32,
        operation: Operation,
    ) {
        let shmem = self.shmem();
        let to = self.remote(target.opaque().span(), pe, operation);
        let (from, len) = source.resolve(shmem, operation);
        self.same_length(target.len(), len, target.offset(), pe, operation);
        let bytes = len * size_of::<T>() as u64;
        if B::ENGINE && bulk::AVAILABLE && (to | from) & 15 == 0 {
            let body = engine_part::<T>(len) * size_of::<T>() as u64;
            bulk::fence_shared();
            self.meet();
            if self.is_leader() && body > 0 {
                bulk::fence_shared();
                // SAFETY: handles name allocated memory of these lengths on both sides; a block's shared memory is less
                // than 4 GiB.
                unsafe { bulk::store(to, from, body as u32) };
                bulk::commit();
            }
            if body < bytes {
                // SAFETY: as above.
                unsafe { self.transfer::<GlobalSpace, B::Space, T>(to + body, from + body, bytes - body) };
            }
        } else {
            self.meet();
            let (from, bytes) = (order::opaque(from), order::opaque(bytes));
            // SAFETY: handles name allocated, aligned memory of these lengths on both sides.
            unsafe { self.transfer::<GlobalSpace, B::Space, T>(to, from, bytes) };
        }
    }
}
