//! A kernel parameter is not a reference to host memory.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, data: &[f32]) {}

fn main() {}
