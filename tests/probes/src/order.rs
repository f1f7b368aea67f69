//! Ordering, completion and barriers.

use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn fence_thread(shmem: Shmem) {
    shmem.thread().fence();
}

#[nvshmem_kernel]
pub fn fence_block(shmem: Shmem) {
    shmem.block().fence();
}

#[nvshmem_kernel]
pub fn pe_fence(shmem: Shmem, pe: u32) {
    shmem.block().pe_fence(pe);
}

#[nvshmem_kernel]
pub fn quiet_thread(shmem: Shmem) {
    shmem.thread().quiet();
}

#[nvshmem_kernel]
pub fn quiet_block(shmem: Shmem) {
    shmem.block().quiet();
}

#[nvshmem_kernel]
pub fn pe_quiet(shmem: Shmem, pe: u32) {
    shmem.block().pe_quiet(pe);
}

#[nvshmem_kernel]
pub fn flush(shmem: Shmem) {
    shmem.block().flush();
}

#[nvshmem_kernel]
pub fn barrier_all(shmem: Collective) {
    shmem.block().barrier_all();
}

#[nvshmem_kernel]
pub fn sync_all(shmem: Collective) {
    shmem.block().sync_all();
}

#[nvshmem_kernel]
pub fn sync_warp(shmem: Shmem) {
    shmem.warp().sync();
}

#[nvshmem_kernel]
pub fn sync_warps(shmem: Shmem) {
    shmem.warps(2).sync();
}

#[nvshmem_kernel]
pub fn sync_block(shmem: Shmem) {
    shmem.block().sync();
}

#[nvshmem_kernel]
pub fn sync_grid(shmem: Collective) {
    shmem.grid().sync();
}
