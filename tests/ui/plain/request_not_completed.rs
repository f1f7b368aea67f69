#![deny(unused_must_use)]
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn fetch(shmem: Shmem, src: Sym<[u32]>, pe: u32) {
    shmem.thread().g_nbi(src.at(0), pe);
}

fn main() {}
