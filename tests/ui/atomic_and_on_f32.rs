//! Bits are for integers.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, word: Sym<Atomic<f32>>) {
    shmem.thread().atomic_and(word, 1.0, 0);
}

fn main() {}
