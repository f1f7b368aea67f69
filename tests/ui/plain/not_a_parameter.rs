//! A parameter is plain data or a handle.
use oxshmem_device::prelude::*;

#[derive(Clone, Copy)]
pub struct Settings {
    n: u32,
}

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, settings: Settings) {}

fn main() {}
