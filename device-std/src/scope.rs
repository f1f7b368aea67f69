//! Scopes: who performs an operation together. A scope is a value made by the context; operations are its
//! methods, and all threads of the scope call them together with the same arguments.

use crate::abi::{Cause, Operation, control};
use crate::arch::{Word, atomic, order, thread, warp};
use crate::context::{Context, Shmem};
use crate::fault::{Fault, fail, report};
use crate::wait::{Poll, poll};
use core::marker::PhantomData;

/// A context seen from a scope. Made by `shmem.thread()`, `.warp()`, `.block()` and `.grid()`.
#[derive(Clone, Copy, Debug)]
pub struct Scoped<S, C> {
    context: C,
    scope: PhantomData<S>,
}

impl<S: Scope, C: Context> Scoped<S, C> {
    #[inline(always)]
    pub(crate) fn new(context: C) -> Self {
        Self { context, scope: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn context(self) -> C {
        self.context
    }

    /// The calling thread's number in the scope, from 0.
    #[inline(always)]
    pub fn rank(self) -> u64 {
        S::rank()
    }

    /// How many threads the scope has.
    #[inline(always)]
    pub fn size(self) -> u64 {
        S::size()
    }

    /// Whether the calling thread is the scope's leader (number 0).
    #[inline(always)]
    pub fn is_leader(self) -> bool {
        S::leads()
    }

    /// Joins the scope's threads: what each wrote before is visible to all after. At grid scope this is the
    /// grid barrier, bounded by the deadline.
    #[inline(always)]
    pub fn sync(self) {
        S::sync(self.context.shmem());
    }
}

/// One of [`Thread`], [`Warp`], [`Block`], [`Grid`].
pub trait Scope: Copy + 'static + sealed::Sealed {
    /// The calling thread's number in the scope.
    #[doc(hidden)]
    fn rank() -> u64;
    /// Threads in the scope.
    #[doc(hidden)]
    fn size() -> u64;
    /// Whether the calling thread posts for the scope.
    #[doc(hidden)]
    fn leads() -> bool;
    /// Whether the calling thread polls: the leader, at grid scope the first thread of each block.
    #[doc(hidden)]
    fn polls() -> bool;
    /// Joins the scope.
    #[doc(hidden)]
    fn sync(shmem: Shmem);
    /// Joins the scope after a wait by the threads that poll; if one of them failed, none returns.
    #[doc(hidden)]
    fn join(shmem: Shmem, failed: bool);
    /// Joins the scope (each block at grid scope) and tells everyone whether any `predicate` was true.
    #[doc(hidden)]
    fn any(predicate: bool) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Thread {}
    impl Sealed for super::Warp {}
    impl Sealed for super::Block {}
    impl Sealed for super::Grid {}
}

/// One thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread;

/// The threads of one warp: 32, or what is left of the block in its last warp.
#[derive(Clone, Copy, Debug)]
pub struct Warp;

/// The threads of one block.
#[derive(Clone, Copy, Debug)]
pub struct Block;

/// The threads of all blocks of the launch. Only on [`Collective`](crate::Collective).
#[derive(Clone, Copy, Debug)]
pub struct Grid;

/// The calling thread's number in its block.
#[inline(always)]
pub(crate) fn thread_in_block() -> u32 {
    thread::thread_idx_x()
        + thread::block_dim_x() * (thread::thread_idx_y() + thread::block_dim_y() * thread::thread_idx_z())
}

/// Threads in a block.
#[inline(always)]
pub(crate) fn threads_per_block() -> u32 {
    thread::block_dim_x() * thread::block_dim_y() * thread::block_dim_z()
}

/// The calling block's number in the grid.
#[inline(always)]
pub(crate) fn block_in_grid() -> u32 {
    thread::block_idx_x()
        + thread::grid_dim_x() * (thread::block_idx_y() + thread::grid_dim_y() * thread::block_idx_z())
}

/// Blocks in the grid.
#[inline(always)]
pub(crate) fn blocks_per_grid() -> u32 {
    thread::grid_dim_x() * thread::grid_dim_y() * thread::grid_dim_z()
}

/// Threads in the calling thread's warp.
#[inline(always)]
pub(crate) fn threads_in_warp() -> u32 {
    let rest = threads_per_block() - (thread_in_block() & !31);
    if rest < 32 { rest } else { 32 }
}

/// The lanes of the calling thread's warp.
#[inline(always)]
pub(crate) fn warp_mask() -> u32 {
    u32::MAX >> (32 - threads_in_warp())
}

impl Scope for Thread {
    #[inline(always)]
    fn rank() -> u64 {
        0
    }
    #[inline(always)]
    fn size() -> u64 {
        1
    }
    #[inline(always)]
    fn leads() -> bool {
        true
    }
    #[inline(always)]
    fn polls() -> bool {
        true
    }
    #[inline(always)]
    fn sync(_: Shmem) {}
    #[inline(always)]
    fn join(_: Shmem, failed: bool) {
        if failed {
            order::exit();
        }
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        predicate
    }
}

impl Scope for Warp {
    #[inline(always)]
    fn rank() -> u64 {
        u64::from(thread_in_block() & 31)
    }
    #[inline(always)]
    fn size() -> u64 {
        u64::from(threads_in_warp())
    }
    #[inline(always)]
    fn leads() -> bool {
        thread_in_block() & 31 == 0
    }
    #[inline(always)]
    fn polls() -> bool {
        Self::leads()
    }
    #[inline(always)]
    fn sync(_: Shmem) {
        warp::sync(warp_mask());
    }
    #[inline(always)]
    fn join(_: Shmem, failed: bool) {
        if Self::any(failed) {
            order::exit();
        }
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        // The vote alone does not order memory; the warp barrier does (PTX ISA 9.7.13.4).
        let any = warp::any(warp_mask(), predicate);
        warp::sync(warp_mask());
        any
    }
}

impl Scope for Block {
    #[inline(always)]
    fn rank() -> u64 {
        u64::from(thread_in_block())
    }
    #[inline(always)]
    fn size() -> u64 {
        u64::from(threads_per_block())
    }
    #[inline(always)]
    fn leads() -> bool {
        thread_in_block() == 0
    }
    #[inline(always)]
    fn polls() -> bool {
        Self::leads()
    }
    #[inline(always)]
    fn sync(_: Shmem) {
        thread::block_barrier();
    }
    #[inline(always)]
    fn join(_: Shmem, failed: bool) {
        if Self::any(failed) {
            order::exit();
        }
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        thread::block_barrier_or(predicate)
    }
}

impl Scope for Grid {
    #[inline(always)]
    fn rank() -> u64 {
        u64::from(block_in_grid()) * u64::from(threads_per_block()) + u64::from(thread_in_block())
    }
    #[inline(always)]
    fn size() -> u64 {
        u64::from(blocks_per_grid()) * u64::from(threads_per_block())
    }
    #[inline(always)]
    fn leads() -> bool {
        block_in_grid() == 0 && thread_in_block() == 0
    }
    #[inline(always)]
    fn polls() -> bool {
        thread_in_block() == 0
    }
    #[inline(always)]
    fn sync(shmem: Shmem) {
        thread::block_barrier();
        let failed = Self::polls() && grid_barrier(shmem);
        if thread::block_barrier_or(failed) {
            order::exit();
        }
    }
    #[inline(always)]
    fn join(shmem: Shmem, failed: bool) {
        if thread::block_barrier_or(failed) {
            order::exit();
        }
        Self::sync(shmem);
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        thread::block_barrier_or(predicate)
    }
}

/// The grid barrier, by one thread per block; true if it was given up.
///
/// | step | edge |
/// |---|---|
/// | block barrier (caller) | the block's past reaches its first thread |
/// | `atom.acq_rel.gpu.add` on the launch's slot; the first block adds 2^31 less the others | release, and a chain through the other arrivals |
/// | `ld.acquire.gpu` until the top bit has flipped | acquire of every arrival |
/// | block barrier (caller) | reaches the rest of the block |
///
/// Each round adds exactly 2^31, so the word needs no reset and any grid size may follow another.
#[inline(always)]
fn grid_barrier(shmem: Shmem) -> bool {
    let blocks = blocks_per_grid();
    if blocks == 1 {
        return false;
    }
    let offset = control::GRID + control::GRID_STRIDE * u64::from(shmem.abi.grid_slot);
    let address = shmem.abi.heap_base + offset;
    let add = if block_in_grid() == 0 { (1 << 31) - (blocks - 1) } else { 1 };
    // SAFETY: the slot's word in the own control area.
    let before = unsafe { atomic::arrive_gpu_u32(address, add) };
    // Twice the deadline of a wait: a block that waits for a peer reports that first.
    let poll_for = Poll { budget: shmem.abi.deadline.saturating_mul(2) };
    poll(
        shmem,
        poll_for,
        || {
            // SAFETY: as above.
            let now = unsafe { atomic::load_acquire_gpu_u32(address) };
            ((now ^ before) & (1 << 31) != 0, u64::from(now))
        },
        |seen| {
            let fault = Fault {
                peer: shmem.my_pe(),
                offset,
                seen,
                ..Fault::new(Cause::Deadline, Operation::GridSync)
            };
            report(shmem, Fault { expected: u64::from((before ^ (1 << 31)) & (1 << 31)), ..fault });
        },
    )
}

/// Dissemination barrier over all PEs, by one thread of this PE; true if it was given up.
///
/// | step | edge |
/// |---|---|
/// | `fence.sc.sys` | this PE's earlier puts are complete (quiet) |
/// | round k: `st.release.sys` of the epoch to flag k of PE `me + 2^k` | release of all that this thread has seen, cumulatively |
/// | round k: `ld.relaxed.sys` of the own flag k until it reaches the epoch, then `ld.acquire.sys` | acquire of PE `me - 2^k` and of what it had acquired |
///
/// The epoch is in the control area, 64-bit and monotonic, so launches, graphs and streams may follow each
/// other without a reset. One caller per PE at a time.
#[inline(always)]
pub(crate) fn all_pes_barrier(shmem: Shmem) -> bool {
    order::fence_sc_sys();
    let base = shmem.abi.heap_base;
    // SAFETY: the own control area; one caller per PE at a time.
    let epoch = 1 + unsafe { u64::load_relaxed(base + control::BARRIER) };
    // SAFETY: as above.
    unsafe { u64::store_relaxed(base + control::BARRIER, epoch) };
    let n = shmem.n_pes();
    let (mut round, mut distance) = (0u64, 1u32);
    let start = order::now();
    while distance < n {
        let mut to = shmem.my_pe() + distance;
        if to >= n {
            to -= n;
        }
        let flag = control::BARRIER_FLAGS + 8 * round;
        // SAFETY: the table has `n_pes` entries.
        let peer = unsafe { u64::load_global(shmem.abi.peer_bases + 8 * u64::from(to)) };
        if peer == 0 {
            fail(shmem, Fault { peer: to, ..Fault::new(Cause::NoPath, Operation::BarrierAll) });
        }
        // SAFETY: a flag in a mapped peer's control area.
        unsafe { crate::arch::memory::store_release_u64(peer + flag, epoch) };
        let spent = order::now().wrapping_sub(start);
        let poll_for = Poll { budget: shmem.abi.deadline.saturating_sub(spent) };
        let given_up = poll(
            shmem,
            poll_for,
            || {
                // SAFETY: a flag in the own control area.
                let seen = unsafe { u64::load_relaxed(base + flag) };
                (seen >= epoch, seen)
            },
            |seen| {
                let from = if shmem.my_pe() >= distance {
                    shmem.my_pe() - distance
                } else {
                    shmem.my_pe() + n - distance
                };
                let fault =
                    Fault { peer: from, offset: flag, ..Fault::new(Cause::Deadline, Operation::BarrierAll) };
                report(shmem, Fault { expected: epoch, seen, cmp: crate::wait::Cmp::Ge as u32, ..fault });
            },
        );
        if given_up {
            return true;
        }
        // SAFETY: as above.
        unsafe { crate::arch::memory::load_acquire_u64(base + flag) };
        round += 1;
        distance = distance.wrapping_shl(1);
    }
    false
}
