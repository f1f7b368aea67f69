//! The context is passed by value.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: &Shmem) {}

fn main() {}
