//! A word of 64 bits is compared with 64 bits.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Collective, count: Sym<Atomic<u64>>, goal: u32) {
    shmem.block().wait_until(count, Cmp::Ge, goal);
}

fn main() {}
