//! p-bw, st-bw, g-bw and gather-bw: element by element, grid-strided, or gathered by each block.

use super::time::{Turns, forget, throughput};
use super::who::{OnBlock, share};
use oxshmem_device::prelude::*;

/// Writes every element of the own `source` to `target` on `pe` by `p`.
#[nvshmem_kernel(max_block = 1024)]
pub fn p_bw(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let (one, grid, own) = (shmem.thread(), shmem.grid(), shmem.local(source));
    let count = target.len().min(own.len());
    let turn = || {
        let (mut i, step) = (grid.rank(), grid.size());
        // Four loads before their stores: no load passes an earlier store.
        while i < count {
            let (j, k, l) = (i + step, i + 2 * step, i + 3 * step);
            let a = own.get(i);
            let b = if j < count { own.get(j) } else { 0 };
            let c = if k < count { own.get(k) } else { 0 };
            let d = if l < count { own.get(l) } else { 0 };
            one.p(target.at(i), a, pe);
            if j < count {
                one.p(target.at(j), b, pe);
            }
            if k < count {
                one.p(target.at(k), c, pe);
            }
            if l < count {
                one.p(target.at(l), d, pe);
            }
            i += 4 * step;
        }
        grid.sync();
    };
    throughput(shmem, times, Turns { warmup, iters }, turn, || shmem.block().quiet());
}

/// As [`p_bw`](fn@p_bw), by plain stores through the peer's address: the most that stores of this size reach.
#[nvshmem_kernel(max_block = 1024)]
pub fn st_bw(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let (grid, own) = (shmem.grid(), shmem.local(source));
    let Some(to) = shmem.ptr(target, pe) else { return };
    let turn = || {
        let mut i = grid.rank();
        while i < to.len() {
            to.at(i).store(own.get(i));
            i += grid.size();
        }
        grid.sync();
    };
    throughput(shmem, times, Turns { warmup, iters }, turn, || shmem.block().quiet());
}

/// Reads every element of `source` on `pe` into the own `target` by `g`.
#[nvshmem_kernel(max_block = 1024)]
pub fn g_bw(
    shmem: Collective,
    target: Sym<[u64]>,
    source: Sym<[u64]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let (one, grid, own) = (shmem.thread(), shmem.grid(), shmem.local(target));
    let turn = || {
        let mut i = grid.rank();
        while i < source.len() {
            own.set(i, one.g(source.at(i), pe));
            i += grid.size();
        }
        grid.sync();
    };
    throughput(shmem, times, Turns { warmup, iters }, turn, || shmem.block().quiet());
}

/// Reads the elements of `source` on `pe` that `indices` names into the own `target`; each block gathers its share.
#[nvshmem_kernel(max_block = 1024)]
pub fn gather_bw(
    shmem: Collective,
    target: Sym<[u64]>,
    source: Sym<[u64]>,
    indices: Sym<[u32]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let (block, grid) = (shmem.block(), shmem.grid());
    let (start, len) = share::<OnBlock>(target.len(), 2);
    let (to, numbers) = (target.slice(start, len), indices.slice(start, len));
    let turn = || {
        block.gather(to, source, numbers, pe);
        grid.sync();
        forget(shmem);
    };
    throughput(shmem, times, Turns { warmup, iters }, turn, || shmem.block().quiet());
}
