//! The kernels that the whole-system tests launch, and the conformance suite over them: one body per rule,
//! run on the emulator by `cargo xtask test` and on CUDA by `cargo xtask test --gpu`.

pub mod kernels;

#[cfg(not(target_arch = "nvptx64"))]
pub mod conformance;

oxshmem_device::kernels!();
