//! A kernel has at least its context.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel() {}

fn main() {}
