use oxshmem_device::prelude::*;

shared! {
    pub struct Layout {
        tile: [u32; 64],
    }
}

#[nvshmem_kernel(shared = Layout)]
pub fn send(shmem: Shmem, dst: Sym<[u32]>, pe: u32) {
    let request = shmem.block().put_nbi(dst, Layout::of(shmem).tile, pe);
    let _tile = request.quiet(shmem.thread());
}

fn main() {}
