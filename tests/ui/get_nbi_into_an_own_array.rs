use oxshmem_device::prelude::*;

#[nvshmem_kernel(local)]
pub fn fetch(shmem: Shmem, src: Sym<[u32]>, pe: u32) {
    let mut own = [0; 3];
    shmem.thread().get_nbi(&mut own, src, pe);
}

fn main() {}
