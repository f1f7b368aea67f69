//! A kernel is a plain function.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub extern "C" fn kernel(shmem: Shmem) {}

fn main() {}
