use oxshmem_device::prelude::*;

shared! {
    pub struct Layout {
        tile: BulkTile<u32, 64>,
    }
}

#[nvshmem_kernel(shared = Layout)]
pub fn prepare(shmem: Collective) {
    let _tile = shmem.grid().tile(Layout::of(shmem).tile);
}

fn main() {}
