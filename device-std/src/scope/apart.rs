//! The blocks of a grid, each for itself.

use super::{Block, Grid, Scope};
use crate::context::Shmem;
use crate::fault::Expired;
use crate::poll::Polled;
use crate::together::Together;

/// The threads of all blocks of a kernel that does one collective operation and nothing else: what is before it and behind
/// it are the bounds of the kernel, so that its blocks join their own threads only.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Apart;

impl Scope for Apart {
    const TOGETHER: Together = Together::WholeGrid;
    type Worker = Block;
    #[inline(always)]
    fn worker(self) -> Block {
        Block
    }
    #[inline(always)]
    fn lane(self) -> (u32, u32) {
        Grid.lane()
    }
    #[inline(always)]
    fn rank(self) -> u64 {
        Grid.rank()
    }
    #[inline(always)]
    fn size(self) -> u64 {
        Grid.size()
    }
    #[inline(always)]
    fn leads(self) -> bool {
        Grid.leads()
    }
    #[inline(always)]
    fn polls(self) -> bool {
        Block.polls()
    }
    #[inline(always)]
    fn sync(self, shmem: Shmem) {
        Block.sync(shmem);
    }
    #[inline(always)]
    fn join(self, shmem: Shmem, polled: Polled, expired: impl Expired) {
        Block.join(shmem, polled, expired);
    }
    #[inline(always)]
    fn share(self, shmem: Shmem, value: u64) -> u64 {
        Block.share(shmem, value)
    }
}
