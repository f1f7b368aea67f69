//! Elements that do not stand side by side.

use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

#[nvshmem_kernel(instances(u32, u128))]
pub fn iput<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, strides: u64, count: u64, pe: u32) {
    shmem.block().iput(dst, src, strides, strides, count, pe);
}

#[nvshmem_kernel(instances(u32, u128))]
pub fn iget<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, strides: u64, count: u64, pe: u32) {
    shmem.block().iget(dst, src, strides, strides, count, pe);
}

#[nvshmem_kernel(instances(u32, u128))]
pub fn gather<T: Pod>(shmem: Shmem, dst: Global<[T]>, src: Sym<[T]>, numbers: Global<[u32]>, pe: u32) {
    shmem.block().gather(dst, src, numbers, pe);
}
