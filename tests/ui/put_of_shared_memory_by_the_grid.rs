use oxshmem_device::prelude::*;

shared! {
    pub struct Layout {
        tile: [u32; 64],
    }
}

#[nvshmem_kernel(shared = Layout)]
pub fn send(shmem: Collective, dst: Sym<[u32]>, pe: u32) {
    let tile = Layout::of(shmem).tile;
    shmem.grid().put(dst, &tile, pe);
}

fn main() {}
