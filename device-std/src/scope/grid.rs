//! The whole grid.

use super::{Block, Scope};
use crate::abi::{Cause, Operation, control};
use crate::arch::{Word, thread};
use crate::barrier::{grid_barrier, grid_word};
use crate::context::Shmem;
use crate::fault::{Expired, Fault};
use crate::poll::Polled;
use crate::thread as indices;
use crate::together::Together;

/// The threads of all blocks of the launch. Only on [`Collective`](crate::Collective).
#[derive(Clone, Copy, Debug)]
pub struct Grid;

impl Scope for Grid {
    type Worker = Block;
    #[inline(always)]
    fn worker(self) -> Block {
        Block
    }
    #[inline(always)]
    fn lane(self) -> (u32, u32) {
        (indices::block(), indices::blocks())
    }
    #[inline(always)]
    fn close(self, shmem: Shmem) {
        self.sync(shmem);
    }
    const TOGETHER: Together = Together::WholeGrid;
    #[inline(always)]
    fn rank(self) -> u64 {
        u64::from(indices::block()) * u64::from(indices::per_block()) + u64::from(indices::in_block())
    }
    #[inline(always)]
    fn size(self) -> u64 {
        u64::from(indices::blocks()) * u64::from(indices::per_block())
    }
    #[inline(always)]
    fn leads(self) -> bool {
        indices::block() == 0 && indices::in_block() == 0
    }
    #[inline(always)]
    fn polls(self) -> bool {
        indices::in_block() == 0
    }
    #[inline(always)]
    fn sync(self, shmem: Shmem) {
        thread::block_barrier();
        let polled = if self.polls() { grid_barrier(shmem) } else { Polled::Held };
        let fault = Fault::new(Cause::Deadline, Operation::GridSync);
        let (offset, expected) = (grid_word(shmem), u64::from(indices::blocks()));
        Block.join(shmem, polled, Fault { peer: shmem.my_pe(), offset, expected, ..fault });
    }
    #[inline(always)]
    fn join(self, shmem: Shmem, polled: Polled, expired: impl Expired) {
        Block.join(shmem, polled, expired);
        self.sync(shmem);
    }
    #[inline(always)]
    fn share(self, shmem: Shmem, value: u64) -> u64 {
        let address = shmem.abi.heap_base + grid_word(shmem) + control::GRID_SHARED;
        if self.leads() {
            // SAFETY: the launch's own slot in the own control area.
            unsafe { u64::store_relaxed(address, value) };
        }
        self.sync(shmem);
        // SAFETY: as above.
        let value = unsafe { u64::load_relaxed(address) };
        self.sync(shmem);
        value
    }
}
