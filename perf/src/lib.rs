//! The kernels that benchmarks launch. Each benchmark is a program of its own in `src/bin`; what was measured, and where,
//! is recorded in `results/`.

use oxshmem_device::prelude::*;

pub mod kernels;
#[cfg(not(target_arch = "nvptx64"))]
pub mod simulate;

oxshmem_device::kernels!();

/// Does nothing: a plain launch. `round` is there because a launch without a parameter is no usual one.
#[nvshmem_kernel]
pub fn nothing(_shmem: Shmem, round: u64) {
    let _ = round;
}

/// Does nothing: a collective launch, which is checked to be resident at once.
#[nvshmem_kernel]
pub fn nothing_together(_shmem: Collective, round: u64) {
    let _ = round;
}
