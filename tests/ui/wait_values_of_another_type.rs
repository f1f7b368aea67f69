//! The values of a vector wait have the words' type.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Collective, counts: Sym<[Atomic<u32>]>, goals: Sym<[u64]>) {
    shmem.block().wait_until_all_vector(counts, Every, Cmp::Ge, goals);
}

fn main() {}
