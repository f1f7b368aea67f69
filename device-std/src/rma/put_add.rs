//! `put_add`: adds to a peer's elements.

use super::buffer::sealed::Buffer;
use super::{LendSource, WithinBlock, bytes_of, engine_part};
use crate::abi::Operation;
use crate::arch::{Add, Semantic, bulk};
use crate::context::Context;
use crate::copy::{self, SharedSpace};
use crate::scope::Scoped;
use crate::sym::{Data, Sym};
use crate::tile::Tile;
use crate::{bf16, f16};

/// What [`put_add`](Scoped::put_add) adds: `u32`, `u64`, `f32`, `f16`, `bf16`.
#[diagnostic::on_unimplemented(
    message = "`put_add` adds `u32`, `u64`, `f32`, `f16` and `bf16`, not `{Self}`: use the atomics for other words",
    label = "no sum that the bulk copy engine makes"
)]
pub trait PutAdd: Data + sealed::Sum {}
impl<T: Data + sealed::Sum> PutAdd for T {}

mod sealed {
    use super::*;

    /// A sum of elements.
    #[expect(private_bounds, reason = "sealed: the instruction is this crate's business")]
    pub trait Sum: Add {
        /// Starts the bulk engine's addition.
        ///
        /// # Safety
        /// As [`bulk::store`].
        unsafe fn start(global: u64, shared: u64, bytes: u32);
    }
    macro_rules! sums {
        ($($ty:ty: $name:ident;)*) => {$(
            impl Sum for $ty {
                #[inline(always)]
                unsafe fn start(global: u64, shared: u64, bytes: u32) {
                    // SAFETY: passed on.
                    unsafe { bulk::$name(global, shared, bytes) }
                }
            }
        )*};
    }
    sums! {
        u32: add_u32;
        u64: add_u64;
        f32: add_f32;
        f16: add_f16;
        bf16: add_bf16;
    }
}

impl<S: WithinBlock, C: Context> Scoped<S, C> {
    /// Adds each element of `source` to that of `target` on `pe`, element by element, by the bulk copy engine
    /// (`cp.reduce.async.bulk`); where it cannot, by `red`. Additions of several PEs and scopes to the same elements
    /// may be in flight together, and all count; nothing else may touch the elements meanwhile. Their order is not
    /// fixed, so a sum of floating-point numbers may differ in its last bits.
    ///
    /// When it returns, the tile may be reused; the sums are there after what completes a [`put`](Scoped::put). PTX gives
    /// each addition relaxed order at the scope of the GPU (PTX ISA 9.7.9.25): that those of different GPUs are exclusive
    /// among each other rests on the memory's own GPU carrying all of them out.
    #[inline(always)]
    #[track_caller]
    pub fn put_add<T: PutAdd>(self, target: Sym<[T]>, source: &Tile<T, S>, pe: u32) {
        let _recorded = self.enter(Operation::PutAdd, target.offset(), bytes_of(target), pe);
        self.add_data(target, source, pe, Operation::PutAdd);
        bulk::wait_stores();
        self.meet();
    }

    /// As [`put_add`](Self::put_add), but the tile is in use, and given back by the request.
    #[inline(always)]
    #[track_caller]
    pub fn put_add_nbi<T: PutAdd>(
        self,
        target: Sym<[T]>,
        source: Tile<T, S>,
        pe: u32,
    ) -> <Tile<T, S> as LendSource<T, S>>::Request {
        let _recorded = self.enter(Operation::PutAddNbi, target.offset(), bytes_of(target), pe);
        self.add_data(target, &source, pe, Operation::PutAddNbi);
        source.lend()
    }

    #[inline(always)]
    fn add_data<T: PutAdd>(self, target: Sym<[T]>, source: &Tile<T, S>, pe: u32, operation: Operation) {
        let to = self.remote(target.opaque().span(), pe, operation);
        let (from, len) = source.resolve(self.shmem(), operation);
        self.same_length(target.len(), len, target.offset(), pe, operation);
        let size = size_of::<T>() as u64;
        bulk::fence_shared();
        self.meet();
        let mut i = self.rank();
        if bulk::AVAILABLE && (to | from) & 15 == 0 {
            let body = engine_part::<T>(len);
            if self.is_leader() && body > 0 {
                bulk::fence_shared();
                // SAFETY: handles name allocated memory of these lengths on both sides; a block's shared memory is less
                // than 4 GiB.
                unsafe { T::start(to, from, (body * size) as u32) };
                bulk::commit();
            }
            i += body;
        }
        while i < len {
            // SAFETY: element `i` of both, aligned; others reach the target's by additions only.
            unsafe {
                T::add(Semantic::Relaxed, to + i * size, copy::load::<SharedSpace, T>(from + i * size))
            };
            i += self.size();
        }
    }
}
