//! Shared memory that the bulk copy engine reads and writes (`cp.async.bulk`, sm_90).
//!
//! | field of a layout | made ready by | is |
//! |---|---|---|
//! | [`BulkTile<T, N>`] | [`Scoped::tile`] | a [`Tile`]: an array that puts send and gets fill without passing through registers |
//! | [`BulkStage`](crate::stage::BulkStage) | [`Scoped::stage`] | a [`Stage`](crate::stage::Stage): buffers through which [`put_staged`](Scoped::put_staged) and [`get_staged`](Scoped::get_staged) copy |
//!
//! That a copy goes through the engine follows from the type of what it is given, at compile time. On a device without
//! the engine, and where addresses lie differently to the 16-byte grid, the same calls copy by loads and stores.
//!
//! | step | thread | edge |
//! |---|---|---|
//! | `fence.proxy.async` of the space that is read, then the scope barrier | all | what any thread wrote before is what the engine reads (PTX ISA 8.6, 9.7.13.4) |
//! | the same fence, then `cp.async.bulk` | leader | so is what the leader acquired |
//! | a store: `cp.async.bulk.wait_group` | leader | `.read`: the source is free; without: the target is written and visible to it |
//! | a load: `mbarrier.try_wait` of its barrier, with the deadline, then the scope barrier | leader | the bytes are there, for the scope |

use crate::abi::{Cause, Operation};
use crate::arch::bulk;
use crate::context::{Context, Shmem};
use crate::fault::{Fault, fail};
use crate::poll::{Polled, poll};
use crate::rma::WithinBlock;
use crate::scope::{Scope, Scoped};
use crate::shared::{SharedField, SharedSlice, wide};
use bytemuck::Pod;
use core::marker::PhantomData;
use core::mem::offset_of;

/// A layout's field: `N` elements that the bulk engine moves, and their barrier.
#[repr(C, align(16))]
#[expect(missing_debug_implementations, reason = "names a layout; there is no value of it")]
pub struct BulkTile<T, const N: usize> {
    data: [T; N],
    barrier: u64,
}

/// The memory of a [`Tile`], before it is made ready.
pub struct TileMemory<T> {
    data: SharedSlice<T>,
    barrier: u64,
}

// Not derived: `T` need not be `Debug`.
impl<T> core::fmt::Debug for TileMemory<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TileMemory").field("data", &self.data).finish_non_exhaustive()
    }
}

impl<T: Pod, const N: usize> SharedField for BulkTile<T, N> {
    type Handle = TileMemory<T>;
    const ENGINE: bool = true;
    #[inline(always)]
    fn handle(address: u32, shmem: Shmem) -> TileMemory<T> {
        TileMemory {
            data: <[T; N] as SharedField>::handle(address, shmem),
            barrier: wide(address + offset_of!(Self, barrier) as u32),
        }
    }
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Makes a tile ready, for this scope alone. All threads of the scope call it, once per launch.
    #[inline(always)]
    pub fn tile<T: Pod>(self, memory: TileMemory<T>) -> Tile<T, S>
    where
        S: WithinBlock,
    {
        let TileMemory { data, barrier } = memory;
        prepare(self, barrier, 1);
        Tile { data, barrier, phase: Phase::default(), scope: PhantomData }
    }
}

/// Prepares `count` barriers that stand side by side.
#[inline(always)]
pub(crate) fn prepare<S: Scope, C: Context>(scope: Scoped<S, C>, barrier: u64, count: u64) {
    if bulk::AVAILABLE {
        if scope.is_leader() {
            let mut i = 0;
            while i < count {
                // SAFETY: the layout's barrier, which nobody else reaches before the scope is joined.
                unsafe { bulk::barrier_init(barrier + 8 * i) };
                i += 1;
            }
            bulk::fence_shared();
        }
        scope.meet();
    }
}

/// Where a barrier stands, as each thread of the scope counts by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phase {
    /// Parity of the phase that a load goes into.
    parity: u32,
    /// Whether a load is in flight, and whether the calling thread has issued it.
    loading: bool,
    issued: bool,
}

/// Shared memory of one scope that the bulk engine reads and writes. Reads and writes of single elements are those of
/// [`SharedSlice`].
pub struct Tile<T, S> {
    data: SharedSlice<T>,
    barrier: u64,
    phase: Phase,
    scope: PhantomData<fn(S)>,
}

impl<T, S> core::fmt::Debug for Tile<T, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tile").field("data", &self.data).finish_non_exhaustive()
    }
}

impl<T, S> core::ops::Deref for Tile<T, S> {
    type Target = SharedSlice<T>;
    #[inline(always)]
    fn deref(&self) -> &SharedSlice<T> {
        &self.data
    }
}

impl<T: Pod, S> Tile<T, S> {
    #[inline(always)]
    pub(crate) fn barrier(&self) -> u64 {
        self.barrier
    }

    /// A load into it has been started, `issued` by the calling thread.
    #[inline(always)]
    pub(crate) fn loading(&mut self, issued: bool) {
        self.phase = Phase { loading: true, issued, ..self.phase };
    }

    /// Joins the scope when the load in flight, if there is one, has arrived.
    #[inline(always)]
    pub(crate) fn loaded<C: Context>(&mut self, scope: Scoped<S, C>)
    where
        S: Scope,
    {
        if self.phase.loading {
            let polled = if self.phase.issued {
                arrived(scope.shmem(), self.barrier, self.phase.parity)
            } else {
                Polled::Held
            };
            scope.scope.join(scope.shmem(), polled, late(scope.shmem()));
            self.phase = Phase { parity: self.phase.parity ^ 1, loading: false, issued: false };
        } else {
            scope.meet();
        }
    }

    /// Waits for the load that the calling thread has in flight, if there is one.
    #[inline(always)]
    pub(crate) fn abandon(&mut self) {
        let shmem = self.data.shmem();
        if self.phase.issued && !matches!(arrived(shmem, self.barrier, self.phase.parity), Polled::Held) {
            fail(shmem, late(shmem));
        }
    }
}

/// Polls until the phase of `parity` is over.
#[inline(always)]
pub(crate) fn arrived(shmem: Shmem, barrier: u64, parity: u32) -> Polled {
    poll(shmem, shmem.abi.deadline, || {
        // SAFETY: a barrier that `prepare` made ready.
        (unsafe { bulk::barrier_passed(barrier, parity) }, 0)
    })
}

/// The engine's copy did not come.
#[inline(always)]
pub(crate) fn late(shmem: Shmem) -> Fault {
    Fault { peer: shmem.my_pe(), ..Fault::new(Cause::Deadline, Operation::BulkLoad) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tile_holds_need_not_be_printed() {
        struct Silent;
        const fn printed<T: core::fmt::Debug>() {}
        printed::<TileMemory<Silent>>();
        printed::<Tile<Silent, crate::scope::Block>>();
    }
}
