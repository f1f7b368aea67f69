//! There are no atomics on bytes.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, word: Sym<Atomic<u8>>) {
    shmem.thread().atomic_add(word, 1, 0);
}

fn main() {}
