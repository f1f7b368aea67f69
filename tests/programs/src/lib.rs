//! Programs that test oxshmem from outside. A package of their own, so that they carry few kernels: those that they launch,
//! whose sources are mostly the conformance suite's.

pub mod kernels;

#[cfg(not(target_arch = "nvptx64"))]
pub mod faults;

#[cfg(not(target_arch = "nvptx64"))]
pub mod interface;

#[cfg(not(target_arch = "nvptx64"))]
pub mod own_memory;

#[cfg(not(target_arch = "nvptx64"))]
pub mod streams;

oxshmem_device::kernels!();
