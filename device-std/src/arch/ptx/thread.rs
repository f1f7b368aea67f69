//! Indices and the block barrier.

use core::arch::asm;

macro_rules! special {
    ($($name:ident $register:literal $what:literal;)*) => {
        $(
            #[doc = $what]
            #[inline(always)]
            pub(crate) fn $name() -> u32 {
                let value: u32;
                // SAFETY: reads a special register that does not change during the thread's life.
                unsafe { asm!(concat!("mov.u32 {}, %", $register, ";"), out(reg32) value, options(pure, nomem, nostack)) };
                value
            }
        )*
    };
}
special! {
    thread_idx_x "tid.x" "Thread index in the block, x.";
    thread_idx_y "tid.y" "Thread index in the block, y.";
    thread_idx_z "tid.z" "Thread index in the block, z.";
    block_idx_x "ctaid.x" "Block index in the grid, x.";
    block_idx_y "ctaid.y" "Block index in the grid, y.";
    block_idx_z "ctaid.z" "Block index in the grid, z.";
    block_dim_x "ntid.x" "Threads per block, x.";
    block_dim_y "ntid.y" "Threads per block, y.";
    block_dim_z "ntid.z" "Threads per block, z.";
    grid_dim_x "nctaid.x" "Blocks in the grid, x.";
    grid_dim_y "nctaid.y" "Blocks in the grid, y.";
    grid_dim_z "nctaid.z" "Blocks in the grid, z.";
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    fn bar_sync(barrier: u32);
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    fn bar_red_or(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    fn bar_red_and(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    fn bar_red_popc(barrier: u32, predicate: bool) -> u32;
}

// The aligned forms: a warp comes in one piece, which costs one instruction after a part that the leader alone
// went through. The unaligned ones get a second, slower way for a warp that comes in pieces, and
// synchronisation checkers, which compare instruction addresses, take that way for an error.

/// `bar.sync 0`: all threads of the block that have not exited.
#[inline(always)]
pub(crate) fn block_barrier() {
    // SAFETY: barrier 0 is the whole block's; the intrinsic is convergent.
    unsafe { bar_sync(0) };
}

/// `bar.red.or.pred 0`: [`block_barrier`] that also tells every thread whether any `predicate` was true.
#[inline(always)]
pub(crate) fn block_barrier_or(predicate: bool) -> bool {
    // SAFETY: as `block_barrier`.
    unsafe { bar_red_or(0, predicate) }
}

/// `bar.red.and.pred 0`: [`block_barrier`] that also tells every thread whether all `predicate`s were true.
#[inline(always)]
pub(crate) fn block_barrier_and(predicate: bool) -> bool {
    // SAFETY: as `block_barrier`.
    unsafe { bar_red_and(0, predicate) }
}

/// `bar.red.popc.u32 0`: [`block_barrier`] that also tells every thread how many `predicate`s were true.
#[inline(always)]
pub(crate) fn block_barrier_count(predicate: bool) -> u32 {
    // SAFETY: as `block_barrier`.
    unsafe { bar_red_popc(0, predicate) }
}
