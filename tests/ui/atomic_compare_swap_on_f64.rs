//! Floating-point words are not compared and swapped.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, word: Sym<Atomic<f64>>) {
    shmem.thread().atomic_compare_swap(word, 1.0, 2.0, 0);
}

fn main() {}
