use oxshmem_device::cuda_std::prelude::*;

#[kernel]
pub unsafe fn clear(values: *mut f32) {
    *values.add(thread::index_1d() as usize) = 0.0;
}

fn start(shmem: &oxshmem::Shmem, values: &oxshmem::DeviceVec<u64>) -> oxshmem::Result<()> {
    // SAFETY: nothing runs, it does not compile.
    unsafe { clear::launch(shmem, oxshmem_device::LaunchConfig::blocks(1), values) }
}

fn main() {
    let _ = start;
}
