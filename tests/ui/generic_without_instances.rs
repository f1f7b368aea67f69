//! A generic kernel lists its instances.
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel<T: Pod>(shmem: Shmem, data: Sym<[T]>) {}

fn main() {}
