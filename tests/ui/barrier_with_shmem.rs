//! `barrier_all` waits, so it needs `Collective`.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem) {
    shmem.block().barrier_all();
}

fn main() {}
