//! A signed word is not a counter that may wrap.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Collective, count: Sym<Atomic<i64>>) {
    shmem.block().wait_reached(count, 1);
}

fn main() {}
