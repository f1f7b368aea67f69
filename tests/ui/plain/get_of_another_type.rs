use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn fetch(shmem: Shmem, dst: Sym<[f64]>, src: Sym<[f32]>, pe: u32) {
    shmem.block().get(dst, src, pe);
}

fn main() {}
