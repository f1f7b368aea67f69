//! The kernels that the whole-system tests launch, and the conformance suite over them: one body per rule,
//! run on the emulator by `cargo xtask test` and on CUDA by `cargo xtask test --gpu`.

pub mod kernels;

#[cfg(not(target_arch = "nvptx64"))]
pub mod conformance;

oxshmem_device::kernels!();

/// The guide's and the README's code, compiled and run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/src/getting-started.md")]
    mod getting_started {}
    #[doc = include_str!("../../docs/src/kernels.md")]
    mod kernels {}
    #[doc = include_str!("../../docs/src/memory.md")]
    mod memory {}
    #[doc = include_str!("../../docs/src/streams.md")]
    mod streams {}
    #[doc = include_str!("../../docs/src/performance.md")]
    mod performance {}
    #[doc = include_str!("../../docs/src/failures.md")]
    mod failures {}
    #[doc = include_str!("../../docs/src/rust-cuda.md")]
    mod rust_cuda {}
    #[doc = include_str!("../../docs/src/processes.md")]
    mod processes {}
    #[doc = include_str!("../../docs/src/checker.md")]
    mod checker {}
}
