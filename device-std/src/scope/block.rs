//! One block.

use super::{Scope, Scoped, end_if_given_up};
use crate::arch::{Word, shared, thread};
use crate::context::{Context, Shmem};
use crate::fault::Expired;
use crate::poll::Polled;
use crate::thread as indices;
use crate::together::Together;

/// The threads of one block.
#[derive(Clone, Copy, Debug)]
pub struct Block;

impl<C: Context> Scoped<Block, C> {
    /// Joins the block as [`sync`](Self::sync) does, and tells every thread whether any `predicate` was true.
    #[inline(always)]
    pub fn any(self, predicate: bool) -> bool {
        thread::block_barrier_or(predicate)
    }
}

impl Scope for Block {
    type Worker = Self;
    #[inline(always)]
    fn worker(self) -> Self {
        self
    }
    const TOGETHER: Together = Together::OneBlock;
    #[inline(always)]
    fn rank(self) -> u64 {
        u64::from(indices::in_block())
    }
    #[inline(always)]
    fn size(self) -> u64 {
        u64::from(indices::per_block())
    }
    #[inline(always)]
    fn leads(self) -> bool {
        indices::in_block() == 0
    }
    #[inline(always)]
    fn polls(self) -> bool {
        self.leads()
    }
    #[inline(always)]
    fn sync(self, _: Shmem) {
        thread::block_barrier();
    }
    #[inline(always)]
    fn join(self, shmem: Shmem, polled: Polled, expired: impl Expired) {
        let given_up = thread::block_barrier_or(!matches!(polled, Polled::Held));
        end_if_given_up(shmem, given_up, polled, expired);
    }
    #[inline(always)]
    fn share(self, _: Shmem, value: u64) -> u64 {
        let address = shared::scratch(shared::BLOCK_SLOT) + 8;
        if self.leads() {
            // SAFETY: the block's own slot, read by its threads between the two barriers only.
            unsafe { u64::store_shared(address, value) };
        }
        thread::block_barrier();
        // SAFETY: as above.
        let value = unsafe { u64::load_shared(address) };
        thread::block_barrier();
        value
    }
    #[inline(always)]
    fn agree(self, _: Shmem, holds: bool) -> bool {
        thread::block_barrier_or(self.leads() && holds)
    }
}
