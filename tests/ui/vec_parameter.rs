//! A kernel parameter is not a `Vec`.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, data: Vec<f32>) {}

fn main() {}
