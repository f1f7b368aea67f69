//! A `bool` has no fixed device layout.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, flag: bool) {}

fn main() {}
