use oxshmem_device::prelude::*;

shared! {
    pub struct Layout {
        tile: [u32; 64],
    }
}

#[nvshmem_kernel(shared = Layout)]
pub fn send(shmem: Shmem, dst: Sym<[u32]>, pe: u32) {
    let tile = Layout::of(shmem).tile;
    let request = shmem.block().put_nbi(dst, tile, pe);
    tile.set(0, 1);
    let _tile = request.quiet(shmem.block());
}

fn main() {}
