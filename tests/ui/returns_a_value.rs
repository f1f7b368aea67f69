//! A kernel returns nothing.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem) -> u32 {
    shmem.my_pe()
}

fn main() {}
