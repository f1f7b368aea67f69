//! put-bw and get-bw. In each turn every scope moves its share of `target`, then the grid meets; one quiet at the end.

use super::time::{Turns, forget, throughput};
use super::who::{OnBlock, OnGrid, OnThread, OnWarp, Who, share};
use oxshmem_device::prelude::*;

/// Elements of 16 bytes: shares begin on them.
const UNIT: u64 = 4;

/// Puts `source` to `target` on `pe`. At grid scope the put's own joining of the grid is the barrier of the turn.
#[nvshmem_kernel(max_block = 1024, instances(OnThread, OnWarp, OnBlock, OnGrid))]
pub fn put_bw<S: Who>(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let (scope, grid) = (S::of(shmem), shmem.grid());
    let (start, len) = share::<S>(target.len(), UNIT);
    let (to, from) = (target.slice(start, len), source.slice(start, len));
    let turn = || {
        scope.put_nbi(to, from, pe);
        if !S::GRID {
            grid.sync();
        }
    };
    throughput(shmem, times, Turns { warmup, iters }, turn, || settle::<S>(shmem));
}

/// Gets `source` on `pe` into `target`, as [`put_bw`](fn@put_bw).
#[nvshmem_kernel(max_block = 1024, instances(OnThread, OnWarp, OnBlock, OnGrid))]
pub fn get_bw<S: Who>(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let (scope, grid) = (S::of(shmem), shmem.grid());
    let (start, len) = share::<S>(target.len(), UNIT);
    let (to, from) = (target.slice(start, len), source.slice(start, len));
    let turn = || {
        scope.get_nbi(to, from, pe);
        if !S::GRID {
            grid.sync();
        }
        forget(shmem);
    };
    throughput(shmem, times, Turns { warmup, iters }, turn, || settle::<S>(shmem));
}

/// One quiet for all that was put or got: by each block for itself, or by the grid for what it did together.
#[inline(always)]
fn settle<S: Who>(shmem: Collective) {
    if S::GRID {
        shmem.grid().quiet();
    } else {
        shmem.block().quiet();
    }
}

shared! {
    /// What a block keeps: four buffers of 16 KiB.
    pub struct Bulk {
        /// The stage.
        stage: BulkStage<65536>,
    }
}

/// As [`put_bw`](fn@put_bw) at block scope, through the bulk engine.
#[nvshmem_kernel(max_block = 1024, shared = Bulk)]
pub fn put_staged_bw(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let (block, grid) = (shmem.block(), shmem.grid());
    let mut stage = block.stage(Bulk::of(shmem).stage);
    let (start, len) = share::<OnBlock>(target.len(), UNIT);
    let (to, from) = (target.slice(start, len), source.slice(start, len));
    let turn = || {
        block.put_staged(to, from, &mut stage, pe);
        grid.sync();
    };
    throughput(shmem, times, Turns { warmup, iters }, turn, || shmem.block().quiet());
}

/// As [`get_bw`](fn@get_bw) at block scope, through the bulk engine.
#[nvshmem_kernel(max_block = 1024, shared = Bulk)]
pub fn get_staged_bw(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let (block, grid) = (shmem.block(), shmem.grid());
    let mut stage = block.stage(Bulk::of(shmem).stage);
    let (start, len) = share::<OnBlock>(target.len(), UNIT);
    let (to, from) = (target.slice(start, len), source.slice(start, len));
    let turn = || {
        block.get_staged(to, from, &mut stage, pe);
        grid.sync();
        forget(shmem);
    };
    throughput(shmem, times, Turns { warmup, iters }, turn, || shmem.block().quiet());
}
