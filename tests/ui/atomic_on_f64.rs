//! Atomics work on integers of 4 and 8 bytes.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, word: Sym<Atomic<f64>>) {
    shmem.thread().atomic_add(word, 1.0, 0);
}

fn main() {}
