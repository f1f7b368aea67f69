//! Grid scope exists on `Collective` only.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem) {
    shmem.grid().sync();
}

fn main() {}
