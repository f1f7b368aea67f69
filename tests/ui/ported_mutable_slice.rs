use oxshmem_device::cuda_std::prelude::*;

#[kernel]
pub unsafe fn clear(values: &mut [f32]) {
    values[thread::index_1d() as usize] = 0.0;
}

fn main() {}
