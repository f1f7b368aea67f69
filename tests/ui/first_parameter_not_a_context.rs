//! The first parameter of a kernel is its context.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(data: Sym<[f32]>, n: u32) {}

fn main() {}
