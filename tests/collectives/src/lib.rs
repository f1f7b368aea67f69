//! The conformance suite of collective operations, and the kernels that it launches.

mod sample;

pub mod follow;
pub mod kernels;

#[cfg(not(target_arch = "nvptx64"))]
pub mod suite;

pub use sample::Sample;

oxshmem_device::kernels!();
