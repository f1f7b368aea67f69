//! Scopes: who performs an operation together. A scope is a value made by the context; operations are its
//! methods, and all threads of the scope call them together with the same arguments.

use crate::abi::{Cause, Operation, control};
use crate::arch::{Word, atomic, memory, order, thread, warp};
use crate::context::{Context, Shmem};
use crate::fault::{Fault, fail};
use crate::wait::{Cmp, Polled, poll};
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
    /// Joins the scope after a wait by the threads that poll. If one of them gave up, none returns, and the
    /// one whose time ran out reports `expired` of what it saw.
    #[doc(hidden)]
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault);
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
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
        end_if_given_up(shmem, !matches!(polled, Polled::Held), polled, expired);
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
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
        end_if_given_up(shmem, Self::any(!matches!(polled, Polled::Held)), polled, expired);
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
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
        end_if_given_up(shmem, Self::any(!matches!(polled, Polled::Held)), polled, expired);
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
        let (polled, round) = if Self::polls() { grid_barrier(shmem) } else { (Polled::Held, 0) };
        Block::join(shmem, polled, |seen| Fault {
            peer: shmem.my_pe(),
            offset: grid_word(shmem),
            expected: u64::from(round),
            seen,
            ..Fault::new(Cause::Deadline, Operation::GridSync)
        });
    }
    #[inline(always)]
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
        Block::join(shmem, polled, expired);
        Self::sync(shmem);
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        thread::block_barrier_or(predicate)
    }
}

/// Ends the calling thread if the wait of its scope was given up.
#[inline(always)]
fn end_if_given_up(shmem: Shmem, given_up: bool, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
    if given_up {
        match polled {
            Polled::Expired(seen) => fail(shmem, expired(seen)),
            _ => order::exit(),
        }
    }
}

/// Heap offset of the launch's grid-barrier word.
#[inline(always)]
fn grid_word(shmem: Shmem) -> u64 {
    control::GRID + control::GRID_STRIDE * u64::from(shmem.abi.grid_slot)
}

/// The grid barrier, by one thread per block; also gives the top bit that it waits for.
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
fn grid_barrier(shmem: Shmem) -> (Polled, u32) {
    let blocks = blocks_per_grid();
    if blocks == 1 {
        return (Polled::Held, 0);
    }
    let address = shmem.abi.heap_base + grid_word(shmem);
    let add = if block_in_grid() == 0 { (1 << 31) - (blocks - 1) } else { 1 };
    // SAFETY: the slot's word in the own control area.
    let before = unsafe { atomic::arrive_gpu_u32(address, add) };
    let goal = !before & (1 << 31);
    // Twice the deadline of a wait: a block that waits for a peer reports that first.
    let polled = poll(shmem, shmem.abi.deadline.saturating_mul(2), || {
        // SAFETY: as above.
        let now = unsafe { atomic::load_acquire_gpu_u32(address) };
        (now & (1 << 31) == goal, u64::from(now))
    });
    (polled, goal)
}

/// Where a PE stands in `barrier_all` when it gives up.
#[derive(Default)]
pub(crate) struct BarrierRound {
    epoch: u64,
    round: u64,
    from: u32,
}

impl BarrierRound {
    #[inline(always)]
    pub(crate) fn fault(self, seen: u64) -> Fault {
        let fault = Fault { peer: self.from, seen, ..Fault::new(Cause::Deadline, Operation::BarrierAll) };
        Fault {
            cmp: Cmp::Ge as u32,
            offset: control::BARRIER_FLAGS + 8 * self.round,
            expected: self.epoch,
            ..fault
        }
    }
}

/// Dissemination barrier over all PEs, by one thread of this PE.
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
pub(crate) fn all_pes_barrier(shmem: Shmem) -> (Polled, BarrierRound) {
    order::fence_sc_sys();
    let base = shmem.abi.heap_base;
    // SAFETY: the own control area; one caller per PE at a time.
    let epoch = 1 + unsafe { u64::load_relaxed(base + control::BARRIER) };
    // SAFETY: as above.
    unsafe { u64::store_relaxed(base + control::BARRIER, epoch) };
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    let (mut round, mut distance) = (0u64, 1u32);
    let start = order::now();
    while distance < n {
        let to = if me + distance < n { me + distance } else { me + distance - n };
        let from = if me >= distance { me - distance } else { me + n - distance };
        let flag = control::BARRIER_FLAGS + 8 * round;
        // SAFETY: the table has `n_pes` entries.
        let peer = unsafe { u64::load_global(shmem.abi.peer_bases + 8 * u64::from(to)) };
        if peer == 0 {
            fail(shmem, Fault { peer: to, ..Fault::new(Cause::NoPath, Operation::BarrierAll) });
        }
        // SAFETY: a flag in a mapped peer's control area.
        unsafe { memory::store_release_u64(peer + flag, epoch) };
        let spent = order::now().wrapping_sub(start);
        let polled = poll(shmem, shmem.abi.deadline.saturating_sub(spent), || {
            // SAFETY: a flag in the own control area.
            let seen = unsafe { u64::load_relaxed(base + flag) };
            (seen >= epoch, seen)
        });
        if !matches!(polled, Polled::Held) {
            return (polled, BarrierRound { epoch, round, from });
        }
        // SAFETY: as above.
        unsafe { memory::load_acquire_u64(base + flag) };
        round += 1;
        distance = distance.wrapping_shl(1);
    }
    (Polled::Held, BarrierRound { epoch, round, from: 0 })
}
