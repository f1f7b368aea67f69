//! A kernel is not `unsafe`: its launch is a safe call.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub unsafe fn kernel(shmem: Shmem) {}

fn main() {}
