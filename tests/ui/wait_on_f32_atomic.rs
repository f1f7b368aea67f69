//! Waits compare integers.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Collective, word: Sym<Atomic<f32>>) {
    shmem.block().wait_until(word, Cmp::Ge, 1.0);
}

fn main() {}
