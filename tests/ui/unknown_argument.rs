//! The attribute takes only the arguments it documents.
use oxshmem_device::prelude::*;

#[nvshmem_kernel(threads = 256)]
pub fn kernel(shmem: Shmem) {}

fn main() {}
