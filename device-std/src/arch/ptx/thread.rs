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
    #[link_name = "llvm.nvvm.barrier.cta.sync.all"]
    fn barrier_sync_all(barrier: u32);
    #[link_name = "llvm.nvvm.barrier.cta.red.or.all"]
    fn barrier_red_or_all(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
}

/// Brings the lanes of the warp together before a block barrier. After a part that the leader alone went through
/// its warp would come to the barrier in pieces: allowed, but then it takes a slower way, and synchronisation
/// checkers, which compare instruction addresses, take that for an error.
#[inline(always)]
fn converge() {
    let (x, y) = (block_dim_x(), block_dim_y());
    let thread = thread_idx_x() + x * (thread_idx_y() + y * thread_idx_z());
    let rest = x * y * block_dim_z() - (thread & !31);
    // SAFETY: the mask names the lanes that this warp has; those that have exited are not waited for.
    unsafe { bar_warp_sync(if rest < 32 { u32::MAX >> (32 - rest) } else { u32::MAX }) };
}

/// `barrier.sync 0`: all threads of the block that have not exited.
#[inline(always)]
pub(crate) fn block_barrier() {
    converge();
    // SAFETY: barrier 0 is the whole block's; the intrinsic is convergent.
    unsafe { barrier_sync_all(0) };
}

/// `barrier.red.or.pred 0`: [`block_barrier`] that also tells every thread whether any `predicate` was true.
#[inline(always)]
pub(crate) fn block_barrier_or(predicate: bool) -> bool {
    converge();
    // SAFETY: as `block_barrier`.
    unsafe { barrier_red_or_all(0, predicate) }
}
