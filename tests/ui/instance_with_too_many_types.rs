//! An instance names one type per generic parameter.
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

#[nvshmem_kernel(instances((f32, u32)))]
pub fn kernel<T: Pod>(shmem: Shmem, data: Sym<[T]>) {}

fn main() {}
