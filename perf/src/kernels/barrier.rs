//! barrier and sync: all PEs meet, again and again.

use super::time::{Turns, latency};
use super::who::{OnBlock, OnGrid, OnThread, OnWarp, Who};
use oxshmem_device::prelude::*;

/// The first scope of each PE calls `barrier_all`, or (`light` not 0) `sync_all`.
#[nvshmem_kernel(instances(OnThread, OnWarp, OnBlock, OnGrid))]
pub fn barrier<S: Who>(shmem: Collective, times: Global<[u64]>, iters: u32, warmup: u32, light: u32) {
    if S::index() == 0 {
        let scope = S::of(shmem);
        latency(shmem, times, Turns { warmup, iters }, scope.is_leader(), |_| match light {
            0 => scope.barrier_all(),
            _ => scope.sync_all(),
        });
    }
}
