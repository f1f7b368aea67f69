//! Indices and the block barrier: see `arch/ptx/thread.rs`.

use super::hooks::current;

macro_rules! special {
    ($($name:ident $field:ident $axis:literal $what:literal;)*) => {
        $(
            #[doc = $what]
            pub(crate) fn $name() -> u32 {
                current().position().$field[$axis]
            }
        )*
    };
}
special! {
    thread_idx_x thread_idx 0 "Thread index in the block, x.";
    thread_idx_y thread_idx 1 "Thread index in the block, y.";
    thread_idx_z thread_idx 2 "Thread index in the block, z.";
    block_idx_x block_idx 0 "Block index in the grid, x.";
    block_idx_y block_idx 1 "Block index in the grid, y.";
    block_idx_z block_idx 2 "Block index in the grid, z.";
    block_dim_x block_dim 0 "Threads per block, x.";
    block_dim_y block_dim 1 "Threads per block, y.";
    block_dim_z block_dim 2 "Threads per block, z.";
    grid_dim_x grid_dim 0 "Blocks in the grid, x.";
    grid_dim_y grid_dim 1 "Blocks in the grid, y.";
    grid_dim_z grid_dim 2 "Blocks in the grid, z.";
}

/// `barrier.sync 0`.
pub(crate) fn block_barrier() {
    current().block_barrier(false);
}

/// `barrier.red.or.pred 0`.
pub(crate) fn block_barrier_or(predicate: bool) -> bool {
    current().block_barrier(predicate) != 0
}

/// `barrier.red.and.pred 0`.
pub(crate) fn block_barrier_and(predicate: bool) -> bool {
    current().block_barrier(!predicate) == 0
}

/// `barrier.red.popc.u32 0`.
pub(crate) fn block_barrier_count(predicate: bool) -> u32 {
    current().block_barrier(predicate)
}
