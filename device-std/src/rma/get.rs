//! `get`.
//!
//! | step | thread | edge |
//! |---|---|---|
//! | scope barrier | all | nobody reads or writes the destination any more |
//! | weak vector loads and stores, or the bulk engine | all, or the leader | – |
//! | scope barrier; not of `get_nbi` | all | the data is there for the whole scope |

use super::buffer::sealed::Buffer;
use super::{Destination, LendDestination, bytes_of, engine_part};
use crate::abi::Operation;
use crate::arch::{bulk, order};
use crate::context::Context;
use crate::copy::GlobalSpace;
use crate::scope::{Scope, Scoped};
use crate::sym::{Data, Sym};
use bytemuck::Pod;

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Reads `source` on `pe` into `target`. All threads of the scope call it with the same arguments; each moves a
    /// part. When it returns, the data is in the target for the whole scope. Lengths are in elements and must be
    /// equal; zero is allowed. Source and target must not overlap in part. (OpenSHMEM 1.6, 9.6.)
    ///
    /// The loads are plain: what a peer writes at the same time is seen or not, element by element, and what it
    /// wrote before is seen after a wait or barrier.
    #[inline(always)]
    #[track_caller]
    pub fn get<T: Data, B: Destination<T, S>>(self, mut target: B, source: Sym<[T]>, pe: u32) {
        let _recorded = self.enter(Operation::Get, source.offset(), bytes_of(source), pe);
        self.get_data(&mut target, source, pe, Operation::Get);
        target.landed(self);
    }

    /// As [`get`](Self::get), but the target is in use, and the source read at any time, until [`quiet`](Self::quiet)
    /// or a barrier of the scope; a fence does not complete it. Memory of the block is taken, and given back by the
    /// request.
    #[inline(always)]
    #[track_caller]
    pub fn get_nbi<T: Data, B: LendDestination<T, S>>(
        self,
        mut target: B,
        source: Sym<[T]>,
        pe: u32,
    ) -> B::Request {
        let _recorded = self.enter(Operation::GetNbi, source.offset(), bytes_of(source), pe);
        self.get_data(&mut target, source, pe, Operation::GetNbi);
        target.lend()
    }

    /// Joins the scope and starts the get.
    #[inline(always)]
    fn get_data<T: Pod, B: Buffer<T>>(self, target: &mut B, source: Sym<[T]>, pe: u32, operation: Operation) {
        let shmem = self.shmem();
        let from = self.remote(source.opaque().span(), pe, operation);
        let (to, len) = target.resolve(shmem, operation);
        self.same_length(len, source.len(), source.offset(), pe, operation);
        let bytes = len * size_of::<T>() as u64;
        if B::ENGINE && bulk::AVAILABLE && (to | from) & 15 == 0 {
            let body = engine_part::<T>(len) * size_of::<T>() as u64;
            bulk::fence_shared();
            self.meet();
            if body > 0 {
                target.loading(self.is_leader());
                if self.is_leader() {
                    bulk::fence_shared();
                    bulk::fence_global();
                    // SAFETY: handles name allocated memory of these lengths on both sides; a block's shared memory
                    // is less than 4 GiB; the barrier is the target's own.
                    unsafe {
                        bulk::barrier_expect(target.barrier(), body as u32);
                        bulk::load(to, from, body as u32, target.barrier());
                    }
                }
            }
            if body < bytes {
                // SAFETY: as above.
                unsafe { self.transfer::<B::Space, GlobalSpace, T>(to + body, from + body, bytes - body) };
            }
        } else {
            self.meet();
            let (to, bytes) = (order::opaque(to), order::opaque(bytes));
            // SAFETY: handles name allocated, aligned memory of these lengths on both sides.
            unsafe { self.transfer::<B::Space, GlobalSpace, T>(to, from, bytes) };
        }
    }
}
