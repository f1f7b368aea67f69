use oxshmem_device::cuda_std::prelude::*;

#[kernel]
pub unsafe fn clear(values: *mut f32) {
    *values.add(thread::index_1d() as usize) = 0.0;
}

fn start(shmem: &oxshmem::Shmem, values: &oxshmem::DeviceVec<f32>) -> oxshmem::Result<()> {
    clear::launch(shmem, oxshmem_device::LaunchConfig::blocks(1), values)
}

fn main() {
    let _ = start;
}
