//! Data at a stride, in elements of 1, 2, 4, 8 or 16 bytes: the host takes wider ones apart. Strides and counts are in elements.

use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

/// Puts symmetric memory.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn iput<T: Pod + Send>(
    shmem: Shmem,
    target: Sym<[T]>,
    source: Sym<[T]>,
    target_stride: u64,
    source_stride: u64,
    count: u64,
    pe: u32,
) {
    shmem.block().iput(target, source, target_stride, source_stride, count, pe);
}

/// Puts local memory.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn iput_local<T: Pod + Send>(
    shmem: Shmem,
    target: Sym<[T]>,
    source: Global<[T]>,
    target_stride: u64,
    source_stride: u64,
    count: u64,
    pe: u32,
) {
    shmem.block().iput(target, source, target_stride, source_stride, count, pe);
}

/// Gets into symmetric memory.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn iget<T: Pod + Send>(
    shmem: Shmem,
    target: Sym<[T]>,
    source: Sym<[T]>,
    target_stride: u64,
    source_stride: u64,
    count: u64,
    pe: u32,
) {
    shmem.block().iget(target, source, target_stride, source_stride, count, pe);
}

/// Gets into local memory.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn iget_local<T: Pod + Send>(
    shmem: Shmem,
    target: Global<[T]>,
    source: Sym<[T]>,
    target_stride: u64,
    source_stride: u64,
    count: u64,
    pe: u32,
) {
    shmem.block().iget(target, source, target_stride, source_stride, count, pe);
}
