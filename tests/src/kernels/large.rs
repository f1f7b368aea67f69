//! Beyond 4 GiB.

use super::at_scope;
use oxshmem_device::prelude::*;

/// Puts the last elements of `data` to `pe`, each by the path of one operation: 1000 by `put`, then 1 by `p`, and gets
/// them back from `pe` (which has them from its own neighbour) by `get` and `g` into `seen`.
#[nvshmem_kernel]
pub fn far_end(shmem: Collective, data: Sym<[u8]>, src: Sym<[u8]>, seen: Sym<[u8]>, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| {
        let last = data.len() - 1001;
        s.put(data.slice(last, 1000), src.slice(0, 1000), pe);
        if s.is_leader() {
            shmem.thread().p(data.at(last + 1000), shmem.local(src).get(1000), pe);
        }
        s.barrier_all();
        s.get(seen.slice(0, 1000), data.slice(last, 1000), pe);
        if s.is_leader() {
            shmem.local(seen).set(1000, shmem.thread().g(data.at(last + 1000), pe));
        }
    });
}

/// Puts all of `src` to `pe`.
#[nvshmem_kernel]
pub fn put_all(shmem: Collective, dst: Sym<[u64]>, src: Global<[u64]>, pe: u32) {
    shmem.grid().put(dst, src, pe);
}

/// Element `i` becomes `i` times an odd number, plus `seed`.
#[nvshmem_kernel]
pub fn fill(shmem: Shmem, data: Global<[u64]>, seed: u64) {
    let own = shmem.local(data);
    let mut i = thread::in_grid();
    while i < own.len() {
        own.set(i, i.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed));
        i += thread::per_grid();
    }
}

/// Counts the elements that are not what `fill` made of them.
#[nvshmem_kernel]
pub fn count_wrong(shmem: Shmem, data: Sym<[u64]>, wrong: Sym<Atomic<u64>>, seed: u64) {
    let own = shmem.local(data);
    let mut i = thread::in_grid();
    while i < own.len() {
        if own.get(i) != i.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed) {
            shmem.thread().atomic_add(wrong, 1, shmem.my_pe());
        }
        i += thread::per_grid();
    }
}
