//! A kernel is not `async`.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub async fn kernel(shmem: Shmem) {}

fn main() {}
