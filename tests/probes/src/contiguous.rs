//! `put` and `get` of whole ranges by loads and stores, at every scope.

use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

#[nvshmem_kernel(instances(u8, u32, u128))]
pub fn put_thread<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    shmem.thread().put(dst, src, pe);
}

#[nvshmem_kernel(instances(u8, u32, u128))]
pub fn put_warp<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    shmem.warp().put(dst, src, pe);
}

#[nvshmem_kernel]
pub fn put_warps(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    shmem.warps(2).put(dst, src, pe);
}

#[nvshmem_kernel(instances(u8, u32, u128))]
pub fn put_block<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    shmem.block().put(dst, src, pe);
}

#[nvshmem_kernel]
pub fn put_grid(shmem: Collective, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    shmem.grid().put(dst, src, pe);
}

#[nvshmem_kernel]
pub fn put_on_team(shmem: Shmem, team: Team, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    shmem.team(team).block().put(dst, src, pe);
}

#[nvshmem_kernel]
pub fn put_nbi_block(shmem: Shmem, dst: Sym<[u32]>, src: Global<[u32]>, pe: u32) {
    shmem.block().put_nbi(dst, src, pe);
}

#[nvshmem_kernel]
pub fn put_nbi_quiet_block(shmem: Shmem, dst: Sym<[u32]>, src: Global<[u32]>, pe: u32) {
    let block = shmem.block();
    block.put_nbi(dst, src, pe);
    block.quiet();
}

#[nvshmem_kernel(instances(u8, u32, u128))]
pub fn get_thread<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    shmem.thread().get(dst, src, pe);
}

#[nvshmem_kernel(instances(u8, u32, u128))]
pub fn get_warp<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    shmem.warp().get(dst, src, pe);
}

#[nvshmem_kernel]
pub fn get_warps(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    shmem.warps(2).get(dst, src, pe);
}

#[nvshmem_kernel(instances(u8, u32, u128))]
pub fn get_block<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    shmem.block().get(dst, src, pe);
}

#[nvshmem_kernel]
pub fn get_grid(shmem: Collective, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    shmem.grid().get(dst, src, pe);
}

#[nvshmem_kernel]
pub fn get_nbi_block(shmem: Shmem, dst: Global<[u32]>, src: Sym<[u32]>, pe: u32) {
    shmem.block().get_nbi(dst, src, pe);
}

/// A thread's own array is local memory by its nature.
#[nvshmem_kernel(local)]
pub fn put_own_array(shmem: Shmem, dst: Sym<[u32]>, value: u32, pe: u32) {
    let own = [value, value + 1, value + 2, value + 3, value + 4];
    shmem.thread().put(dst, &own, pe);
}
