//! A kernel that waits for one of several words takes `Collective`.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, ready: Sym<[Signal]>) {
    shmem.block().wait_until_any(ready, Every, Cmp::Ge, 1, None);
}

fn main() {}
