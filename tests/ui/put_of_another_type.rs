//! Source and target of a put have one element type.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, target: Sym<[f32]>, source: Sym<[f64]>) {
    shmem.block().put(target, source, 0);
}

fn main() {}
