//! Widths of atomics cannot mix.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, word: Sym<Atomic<u32>>) {
    shmem.thread().atomic_add(word, 1u64, 0);
}

fn main() {}
