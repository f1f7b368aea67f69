//! A peer's address is not translated again.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, target: Sym<[f32]>, source: Sym<[f32]>) {
    if let Some(peer) = shmem.ptr(target, 1) {
        shmem.block().put(peer, source, 1);
    }
}

fn main() {}
