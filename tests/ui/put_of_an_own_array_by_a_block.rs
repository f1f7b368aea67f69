use oxshmem_device::prelude::*;

#[nvshmem_kernel(local)]
pub fn send(shmem: Shmem, dst: Sym<[u32]>, pe: u32) {
    let own = [1, 2, 3];
    shmem.block().put(dst, &own, pe);
}

fn main() {}
