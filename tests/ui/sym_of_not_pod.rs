//! Symmetric memory holds plain data only.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, names: Sym<[String]>) {}

fn main() {}
