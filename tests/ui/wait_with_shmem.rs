//! A kernel that waits takes `Collective`.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, ready: Sym<Signal>) {
    shmem.block().wait_reached(ready, 1);
}

fn main() {}
