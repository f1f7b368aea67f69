//! Where the calling thread stands: its indices and the launch's dimensions. As CUDA's `threadIdx`,
//! `blockIdx`, `blockDim` and `gridDim`.

use crate::arch::thread;

macro_rules! indices {
    ($($name:ident $register:ident $what:literal;)*) => {
        $(
            #[doc = $what]
            #[inline(always)]
            pub fn $name() -> u32 {
                thread::$register()
            }
        )*
    };
}
indices! {
    idx_x thread_idx_x "Thread index in the block, x.";
    idx_y thread_idx_y "Thread index in the block, y.";
    idx_z thread_idx_z "Thread index in the block, z.";
    block_idx_x block_idx_x "Block index in the grid, x.";
    block_idx_y block_idx_y "Block index in the grid, y.";
    block_idx_z block_idx_z "Block index in the grid, z.";
    block_dim_x block_dim_x "Threads per block, x.";
    block_dim_y block_dim_y "Threads per block, y.";
    block_dim_z block_dim_z "Threads per block, z.";
    grid_dim_x grid_dim_x "Blocks in the grid, x.";
    grid_dim_y grid_dim_y "Blocks in the grid, y.";
    grid_dim_z grid_dim_z "Blocks in the grid, z.";
}

/// The calling thread's number in its block, counting x first.
#[inline(always)]
pub fn in_block() -> u32 {
    idx_x() + block_dim_x() * (idx_y() + block_dim_y() * idx_z())
}

/// Threads in a block.
#[inline(always)]
pub fn per_block() -> u32 {
    block_dim_x() * block_dim_y() * block_dim_z()
}

/// The calling block's number in the grid, counting x first.
#[inline(always)]
pub fn block() -> u32 {
    block_idx_x() + grid_dim_x() * (block_idx_y() + grid_dim_y() * block_idx_z())
}

/// Blocks in the grid.
#[inline(always)]
pub fn blocks() -> u32 {
    grid_dim_x() * grid_dim_y() * grid_dim_z()
}

/// The calling thread's number in the grid.
#[inline(always)]
pub fn in_grid() -> u64 {
    u64::from(block()) * u64::from(per_block()) + u64::from(in_block())
}

/// Threads in the grid.
#[inline(always)]
pub fn per_grid() -> u64 {
    u64::from(blocks()) * u64::from(per_block())
}
