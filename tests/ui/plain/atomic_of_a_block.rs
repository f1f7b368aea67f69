//! Atomics are done by one thread.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, word: Sym<Atomic<u32>>) {
    shmem.block().atomic_add(word, 1, 0);
}

fn main() {}
