//! A launch with the wrong count of arguments.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, target: Sym<[f32]>, n: u32, round: u64) {}

fn start(shmem: &oxshmem::Shmem, dst: oxshmem::SymVec<f32>) -> oxshmem::Result<()> {
    kernel::launch(shmem, LaunchConfig::blocks(1), &dst, 7u32)
}

fn main() {}
