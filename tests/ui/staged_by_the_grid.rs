use oxshmem_device::prelude::*;

shared! {
    pub struct Layout {
        stage: BulkStage<4096>,
    }
}

#[nvshmem_kernel(shared = Layout)]
pub fn prepare(shmem: Collective) {
    let _stage = shmem.grid().stage(Layout::of(shmem).stage);
}

fn main() {}
