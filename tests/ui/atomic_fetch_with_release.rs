//! What writes nothing cannot release.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, word: Sym<Atomic<u32>>) {
    shmem.thread().release().atomic_fetch(word, 0);
}

fn main() {}
