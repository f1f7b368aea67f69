//! put-lat, get-lat, p-lat and g-lat: one operation after another, each complete before the next. The first scope of the
//! block works, the others leave.

use super::time::{Turns, latency};
use super::who::{OnBlock, OnThread, OnWarp, Who};
use oxshmem_device::prelude::*;

/// Puts `source` to `target` on `pe`, then quiet.
#[inline(always)]
fn put_and_quiet<S: Who>(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    turns: Turns,
    pe: u32,
) {
    if S::index() == 0 {
        let scope = S::of(shmem);
        latency(shmem, times, turns, scope.is_leader(), |_| {
            scope.put_nbi(target, source, pe);
            scope.quiet();
        });
    }
}

/// Waits for `ready`, which is so from the beginning, then gets `source` on `pe` into `target`: after a wait no get is
/// served by the reader's L1.
#[inline(always)]
fn wait_and_get<S: Who>(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    ready: Sym<Signal>,
    times: Global<[u64]>,
    turns: Turns,
    pe: u32,
) {
    if S::index() == 0 {
        let scope = S::of(shmem);
        latency(shmem, times, turns, scope.is_leader(), |_| {
            scope.wait_reached(ready, 0);
            scope.get(target, source, pe);
        });
    }
}

/// Puts, each with its quiet, by one thread or warp.
#[nvshmem_kernel(instances(OnThread, OnWarp))]
pub fn put_lat<S: Who>(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    put_and_quiet::<S>(shmem, target, source, times, Turns { warmup, iters }, pe);
}

/// As [`put_lat`](fn@put_lat), by one block.
#[nvshmem_kernel(max_block = 1024)]
pub fn put_lat_block(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    put_and_quiet::<OnBlock>(shmem, target, source, times, Turns { warmup, iters }, pe);
}

/// Gets, each after a wait, by one thread or warp.
#[nvshmem_kernel(instances(OnThread, OnWarp))]
pub fn get_lat<S: Who>(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    ready: Sym<Signal>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    wait_and_get::<S>(shmem, target, source, ready, times, Turns { warmup, iters }, pe);
}

/// As [`get_lat`](fn@get_lat), by one block.
#[nvshmem_kernel(max_block = 1024)]
pub fn get_lat_block(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    ready: Sym<Signal>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    wait_and_get::<OnBlock>(shmem, target, source, ready, times, Turns { warmup, iters }, pe);
}

/// One thread writes element 0 of the own `source` to that of `target` on `pe` by `p`, then quiet.
#[nvshmem_kernel(max_block = 1024)]
pub fn p_lat(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    if thread::in_grid() == 0 {
        let (one, value) = (shmem.thread(), shmem.local(source).get(0));
        latency(shmem, times, Turns { warmup, iters }, true, |_| {
            one.p(target.at(0), value, pe);
            one.quiet();
        });
    }
}

/// One thread follows the chain of `source` on `pe`, whose every element is the number of the next, by `g`, and writes
/// where it has come to into the own `target`.
#[nvshmem_kernel(max_block = 1024)]
pub fn g_lat(
    shmem: Collective,
    target: Sym<[u64]>,
    source: Sym<[u64]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    if thread::in_grid() == 0 {
        let (one, mut at) = (shmem.thread(), 0);
        latency(shmem, times, Turns { warmup, iters }, true, |_| at = one.g(source.at(at), pe));
        shmem.local(target).set(0, at);
    }
}
