//! Kernels that fail, each in its own way.

use super::at_scope;
use oxshmem_device::prelude::*;

/// Waits for a signal that never comes.
#[nvshmem_kernel]
pub fn wait_for_ever(shmem: Collective, signal: Sym<Signal>, scope: u32, value: u64) {
    at_scope!(shmem, scope, |s| s.wait_until(signal, Cmp::Ge, value));
}

/// PE `late` leaves out `barrier_all`.
#[nvshmem_kernel]
pub fn miss_barrier(shmem: Collective, scope: u32, late: u32) {
    if shmem.my_pe() != late {
        at_scope!(shmem, scope, |s| s.barrier_all());
    }
}

/// Every block but the last comes to the grid barrier.
#[nvshmem_kernel]
pub fn miss_grid_barrier(shmem: Collective) {
    if thread::block() + 1 != thread::blocks() {
        shmem.grid().sync();
    }
}

/// Puts to a PE given by number, which need not exist.
#[nvshmem_kernel]
pub fn put_to(shmem: Collective, dst: Sym<[u32]>, src: Sym<[u32]>, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| s.put(dst, src, pe));
}

/// Takes elements `start .. start + count` of `dst` and puts there.
#[nvshmem_kernel]
pub fn put_slice(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, start: u64, count: u64, pe: u32) {
    shmem.block().put(dst.slice(start, count), src.slice(0, count), pe);
}

/// Reads own memory at `index`.
#[nvshmem_kernel]
pub fn read_at(shmem: Shmem, data: Sym<[u32]>, index: u64) {
    shmem.local(data).set(0, shmem.local(data).get(index));
}

/// Threads `first`, `first + step`, … read out of range and end; the others of the block come to barriers, which
/// must not wait for them.
#[nvshmem_kernel]
pub fn some_threads_fail(shmem: Shmem, data: Sym<[u32]>, first: u32, step: u32) {
    let own = shmem.local(data);
    let thread = thread::in_block();
    if thread >= first && (thread - first).is_multiple_of(step) {
        own.set(0, own.get(own.len()));
    }
    let block = shmem.block();
    block.sync();
    block.fence();
    block.sync();
}
