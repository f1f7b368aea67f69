//! The status of a wait is a list of `u32`.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Collective, ready: Sym<[Signal]>, done: Sym<[u64]>) {
    shmem.block().wait_until_all(ready, done, Cmp::Ge, 1);
}

fn main() {}
