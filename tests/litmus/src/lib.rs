//! Litmus tests of the memory model: the kernels, and the suite that plays them. A package of its own, so that its program
//! carries no other kernels.

pub mod kernels;

#[cfg(not(target_arch = "nvptx64"))]
pub mod suite;

oxshmem_device::kernels!();
