//! A sum over all PEs, inside a kernel, whose order of additions is the order of the summands' global numbers:
//! the result has the same bits on every PE, run after run, and for every number of PEs.
//!
//! | step, by one block per PE | edge |
//! |---|---|
//! | every PE writes its summands into its own copy | grid or block barrier of the caller |
//! | puts its part to every other PE | – |
//! | `barrier_all` | quiet and join: all parts are everywhere |
//! | one thread adds all summands in order, staged through shared memory | – |
//!
//! Two buffers are used in turn: the barrier of sum `k + 1` is after every PE's reads of sum `k`, and before
//! any put of sum `k + 2`, which uses the same buffer.

use oxshmem_device::prelude::*;

/// Summands staged through shared memory at a time.
pub const STAGE: u32 = 512;

/// The device half.
#[derive(Debug)]
pub struct OrderedSum {
    shmem: Collective,
    summands: Sym<[f64]>,
    stage: SharedSlice<f64>,
}

impl OrderedSum {
    /// `summands` are the plan's, two buffers of `total` each; `stage` is any shared memory of the block.
    #[inline(always)]
    pub fn new(shmem: Collective, summands: Sym<[f64]>, stage: SharedSlice<f64>) -> Self {
        Self { shmem, summands, stage }
    }

    /// The buffer into which sum number `sum` takes its summands, by global number.
    #[inline(always)]
    pub fn buffer(&self, sum: u64) -> Sym<[f64]> {
        let total = self.summands.len() / 2;
        self.summands.slice((sum & 1) * total, total)
    }

    /// Adds all summands of sum number `sum`; those from `first` on, `count` of them, are this PE's and stand
    /// in its own copy of the buffer. Called by all threads of one block on every PE, for every sum number in
    /// turn; all threads get the result.
    #[inline(always)]
    #[track_caller]
    pub fn sum(&self, sum: u64, first: u32, count: u32) -> f64 {
        let (shmem, block) = (self.shmem, self.shmem.block());
        let buffer = self.buffer(sum);
        let own = buffer.slice(u64::from(first), u64::from(count));
        let mut pe = shmem.next_pe();
        while pe != shmem.my_pe() {
            block.put(own, own, pe);
            pe = if pe + 1 == shmem.n_pes() { 0 } else { pe + 1 };
        }
        block.barrier_all();
        let values = shmem.local(buffer);
        let (thread, threads) = (thread::in_block(), thread::per_block());
        let mut total = 0.0;
        let mut start = 0;
        while start < values.len() {
            let rest = values.len() - start;
            let staged = if rest < u64::from(self.stage.len()) { rest as u32 } else { self.stage.len() };
            let mut i = thread;
            while i < staged {
                self.stage.set(i, values.get(start + u64::from(i)));
                i += threads;
            }
            block.sync();
            if block.is_leader() {
                let mut i = 0;
                while i < staged {
                    total += self.stage.get(i);
                    i += 1;
                }
            }
            block.sync();
            start += u64::from(staged);
        }
        if block.is_leader() {
            self.stage.set(0, total);
        }
        block.sync();
        let total = self.stage.get(0);
        block.sync();
        total
    }
}

/// The host half: allocates the two buffers. Made by all PEs together.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug)]
pub struct OrderedSumPlan {
    /// Pass this to the kernel.
    pub summands: oxshmem::SymVec<f64>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl OrderedSumPlan {
    /// Allocates for `total` summands over all PEs; collective.
    ///
    /// # Errors
    /// Those of [`oxshmem::Shmem::alloc_zeroed`].
    pub fn new(shmem: &oxshmem::Shmem, total: usize) -> oxshmem::Result<Self> {
        Ok(Self { summands: shmem.alloc_zeroed(2 * total)? })
    }
}
