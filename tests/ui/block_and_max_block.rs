//! A kernel has one block size, or a greatest one, not both.
use oxshmem_device::prelude::*;

#[nvshmem_kernel(block = 256, max_block = 512)]
pub fn kernel(_shmem: Shmem) {}

fn main() {}
