use oxshmem_device::cuda_std::prelude::*;

#[kernel]
pub unsafe fn clear(size: &u32, values: *mut f32) {
    let _ = (size, values);
}

fn main() {}
