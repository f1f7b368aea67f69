//! barrier and sync: all PEs meet, again and again; and that they really do.

use super::time::{Turns, latency};
use super::who::{OnBlock, OnGrid, OnThread, OnWarp, Who};
use oxshmem_device::prelude::*;

/// Rounds that look whether the PEs have met.
pub const ROUNDS: u64 = 8;

/// The first scope of each PE calls `barrier_all`, or (`light` not 0) `sync_all`. Then it looks: in each of [`ROUNDS`]
/// rounds it stores the round's number to `met` on the next PE, and after meeting must find it in its own `met`. How often
/// it did is `met[1]`.
#[nvshmem_kernel(max_block = 1024, instances(OnThread, OnWarp, OnBlock, OnGrid))]
pub fn barrier<S: Who>(
    shmem: Collective,
    met: Sym<[u64]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    light: u32,
) {
    if S::index() == 0 {
        let scope = S::of(shmem);
        let meet = || match light {
            0 => scope.barrier_all(),
            _ => scope.sync_all(),
        };
        latency(shmem, times, Turns { warmup, iters }, scope.is_leader(), |_| meet());
        let (own, Some(theirs)) = (shmem.local(met), shmem.ptr(met, shmem.next_pe())) else { return };
        let (mut round, mut found) = (1, 0);
        while round <= ROUNDS {
            if scope.is_leader() {
                theirs.at(0).store(round);
            }
            meet();
            if scope.is_leader() && own.get(0) == round {
                found += 1;
            }
            // Nobody stores the next round's number before all have looked.
            meet();
            round += 1;
        }
        if scope.is_leader() {
            own.set(1, found);
        }
    }
}
