//! Scopes as types, so that each scope has an instance of its own of a kernel and pays for no other.

use oxshmem_device::prelude::*;
use oxshmem_device::{Block, Grid, Scope, Scoped, Thread, Warp, thread};

/// The scopes of one kind of a launch: who moves what.
pub trait Who: 'static {
    /// The scope.
    type Scope: Scope;
    /// Whether an operation's own joining of the scope is a grid barrier.
    const GRID: bool = false;
    /// The calling thread's.
    fn of(shmem: Collective) -> Scoped<Self::Scope, Collective>;
    /// The number of the calling thread's scope among those of the grid.
    fn index() -> u64;
    /// How many of them there are.
    fn count() -> u64;
}

/// Every thread by itself.
#[derive(Debug)]
pub enum OnThread {}
/// Every warp by itself.
#[derive(Debug)]
pub enum OnWarp {}
/// Every block by itself.
#[derive(Debug)]
pub enum OnBlock {}
/// The whole grid.
#[derive(Debug)]
pub enum OnGrid {}

impl Who for OnThread {
    type Scope = Thread;
    #[inline(always)]
    fn of(shmem: Collective) -> Scoped<Thread, Collective> {
        shmem.thread()
    }
    #[inline(always)]
    fn index() -> u64 {
        thread::in_grid()
    }
    #[inline(always)]
    fn count() -> u64 {
        thread::per_grid()
    }
}

/// Warps of a block; the last one may have less than 32 threads.
#[inline(always)]
fn warps() -> u64 {
    u64::from(thread::per_block().div_ceil(32))
}

impl Who for OnWarp {
    type Scope = Warp;
    #[inline(always)]
    fn of(shmem: Collective) -> Scoped<Warp, Collective> {
        shmem.warp()
    }
    #[inline(always)]
    fn index() -> u64 {
        u64::from(thread::block()) * warps() + u64::from(thread::in_block() / 32)
    }
    #[inline(always)]
    fn count() -> u64 {
        u64::from(thread::blocks()) * warps()
    }
}

impl Who for OnBlock {
    type Scope = Block;
    #[inline(always)]
    fn of(shmem: Collective) -> Scoped<Block, Collective> {
        shmem.block()
    }
    #[inline(always)]
    fn index() -> u64 {
        thread::block().into()
    }
    #[inline(always)]
    fn count() -> u64 {
        thread::blocks().into()
    }
}

impl Who for OnGrid {
    type Scope = Grid;
    const GRID: bool = true;
    #[inline(always)]
    fn of(shmem: Collective) -> Scoped<Grid, Collective> {
        shmem.grid()
    }
    #[inline(always)]
    fn index() -> u64 {
        0
    }
    #[inline(always)]
    fn count() -> u64 {
        1
    }
}

/// Start and length of the calling thread's scope's share of `elements`: equal shares of a multiple of `unit` elements,
/// but for the last ones.
#[inline(always)]
pub fn share<S: Who>(elements: u64, unit: u64) -> (u64, u64) {
    let each = elements.div_ceil(S::count() * unit) * unit;
    let start = (S::index() * each).min(elements);
    (start, each.min(elements - start))
}
