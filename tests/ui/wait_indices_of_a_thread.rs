//! A block's indices do not go to one thread's own array.
use oxshmem_device::prelude::*;

#[nvshmem_kernel(local)]
pub fn kernel(shmem: Collective, ready: Sym<[Signal]>) {
    let mut found = [0u64; 8];
    shmem.block().wait_until_some(ready, &mut found, Every, Cmp::Ge, 1);
}

fn main() {}
