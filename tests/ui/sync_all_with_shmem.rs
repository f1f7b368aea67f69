use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn join(shmem: Shmem) {
    shmem.block().sync_all();
}

fn main() {}
