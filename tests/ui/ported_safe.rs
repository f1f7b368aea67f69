use oxshmem_device::cuda_std::prelude::*;

#[kernel]
pub fn clear(values: *mut f32) {
    let _ = values;
}

fn main() {}
