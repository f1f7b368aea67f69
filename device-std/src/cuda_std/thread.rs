//! Where the calling thread stands, the block's barriers, and fences. As `cuda_std::thread`.

use crate::arch::{order, thread};

/// Two unsigned coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UVec2 {
    /// x.
    pub x: u32,
    /// y.
    pub y: u32,
}

/// Three unsigned coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UVec3 {
    /// x.
    pub x: u32,
    /// y.
    pub y: u32,
    /// z.
    pub z: u32,
}

impl UVec2 {
    /// From its coordinates.
    #[inline(always)]
    pub const fn new(x: u32, y: u32) -> Self {
        Self { x, y }
    }

    /// As an array.
    #[inline(always)]
    pub const fn to_array(self) -> [u32; 2] {
        [self.x, self.y]
    }

    /// x y.
    #[inline(always)]
    pub const fn element_product(self) -> u32 {
        self.x * self.y
    }
}

impl UVec3 {
    /// From its coordinates.
    #[inline(always)]
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// As an array.
    #[inline(always)]
    pub const fn to_array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }

    /// x y z.
    #[inline(always)]
    pub const fn element_product(self) -> u32 {
        self.x * self.y * self.z
    }
}

impl From<UVec2> for (u32, u32) {
    #[inline(always)]
    fn from(v: UVec2) -> Self {
        (v.x, v.y)
    }
}

impl From<UVec3> for (u32, u32, u32) {
    #[inline(always)]
    fn from(v: UVec3) -> Self {
        (v.x, v.y, v.z)
    }
}

macro_rules! indices {
    ($($all:ident $x:ident $y:ident $z:ident $what:literal;)*) => {
        $(
            #[doc = concat!($what, ", x.")]
            #[inline(always)]
            pub fn $x() -> u32 {
                thread::$x()
            }

            #[doc = concat!($what, ", y.")]
            #[inline(always)]
            pub fn $y() -> u32 {
                thread::$y()
            }

            #[doc = concat!($what, ", z.")]
            #[inline(always)]
            pub fn $z() -> u32 {
                thread::$z()
            }

            #[doc = concat!($what, ".")]
            #[inline(always)]
            pub fn $all() -> UVec3 {
                UVec3::new($x(), $y(), $z())
            }
        )*
    };
}
indices! {
    thread_idx thread_idx_x thread_idx_y thread_idx_z "Thread index in the block";
    block_idx block_idx_x block_idx_y block_idx_z "Block index in the grid";
    block_dim block_dim_x block_dim_y block_dim_z "Threads per block";
    grid_dim grid_dim_x grid_dim_y grid_dim_z "Blocks in the grid";
}

/// The calling thread's number in the grid, whatever its dimensions; wraps beyond 2^32 threads.
#[inline(always)]
pub fn index() -> u32 {
    crate::thread::in_grid() as u32
}

/// Index in the grid's x dimension.
#[inline(always)]
pub fn index_1d() -> u32 {
    thread_idx_x() + block_idx_x() * block_dim_x()
}

/// Index in the grid's x and y dimensions.
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2::new(index_1d(), thread_idx_y() + block_idx_y() * block_dim_y())
}

/// Index in the grid's three dimensions.
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3::new(x, y, thread_idx_z() + block_idx_z() * block_dim_z())
}

/// Whether this is the first thread of the grid: true for exactly one.
#[inline(always)]
pub fn first() -> bool {
    crate::thread::block() == 0 && crate::thread::in_block() == 0
}

/// Threads in a full warp.
#[inline(always)]
pub fn warp_size() -> u32 {
    32
}

/// Block barrier: every thread of the block that has not exited calls it. What each wrote to shared and global memory
/// before is visible to all of them after (PTX ISA, `bar`).
#[inline(always)]
pub fn sync_threads() {
    thread::block_barrier();
}

/// [`sync_threads`], and in how many threads `predicate` was not 0.
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    thread::block_barrier_count(predicate != 0)
}

/// [`sync_threads`], and not 0 if `predicate` was not 0 in every thread.
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    u32::from(thread::block_barrier_and(predicate != 0))
}

/// [`sync_threads`], and not 0 if `predicate` was not 0 in any thread.
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    u32::from(thread::block_barrier_or(predicate != 0))
}

/// Orders this thread's accesses before it and after it, as the threads of this kernel see them (`fence.sc.gpu`: what
/// spans a grid spans the device). Joins nobody.
#[inline(always)]
pub fn grid_fence() {
    order::fence_sc_gpu();
}

/// Orders this thread's accesses before it and after it, as the threads of this device see them (`fence.sc.gpu`, CUDA's
/// `__threadfence`). Joins nobody.
#[inline(always)]
pub fn device_fence() {
    order::fence_sc_gpu();
}

/// Orders this thread's accesses before it and after it, as other devices and the host see them too (`fence.sc.sys`).
/// Joins nobody.
#[inline(always)]
pub fn system_fence() {
    order::fence_sc_sys();
}

/// Suspends the thread for about `nanos` nanoseconds: at most twice as long (PTX ISA, `nanosleep`). In the emulator other
/// threads run meanwhile; a loop that waits for another thread without calling this, or another function that waits,
/// never ends there.
///
/// Let all threads of a warp sleep together: where only some lanes did, before a barrier of the block, the warp was seen
/// to come to it in pieces (H200, driver 580), which ends the kernel with `CUDA_ERROR_ILLEGAL_INSTRUCTION`.
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    order::nanosleep(nanos);
}
