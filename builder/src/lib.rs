//! Turns a crate of oxshmem kernels into checked PTX.
//!
//! A kernels crate calls it from its build script:
//!
//! ```no_run
//! // build.rs
//! oxshmem_builder::build();
//! ```
//!
//! and `oxshmem_device::kernels!();` in its library embeds the result. The crate itself is plain Rust that the host
//! compiles too; [`Builder`] compiles it a second time for the GPU, with a toolchain that [`Toolchain::find`] finds, and
//! checks the outcome by [`lint`]. Without a device toolchain the build goes on, with a warning, and the program runs on the
//! emulator. PTX is embedded compressed (DEFLATE), which is all that another crate is needed for.
//!
//! | variable | meaning |
//! |---|---|
//! | `OXSHMEM_RUSTC`, `OXSHMEM_CARGO` | the device toolchain to use |
//! | `OXSHMEM_PTX=off` | build no PTX |
//! | `OXSHMEM_PTXAS` | the assembler that reports registers; optional |
//! | `OXSHMEM_CACHE` | where the compiled `core` library is kept |

mod arch;
mod builder;
mod compile;
mod cuda;
mod embed;
mod error;
mod finding;
mod kept;
pub mod lint;
mod manifest;
pub mod marker;
pub mod pack;
pub mod pass;
mod place;
mod process;
mod ptx;
pub mod ptxas;
pub mod sysroot;
pub mod toolchain;
mod versions;

pub use arch::Arch;
pub use builder::{Builder, Built, Image, KernelReport};
pub use cuda::{CudaBuilder, DebugInfo, NvvmArch};
pub use embed::FILE as EMBED_FILE;
pub use error::{Dependency, Error};
pub use toolchain::Toolchain;

/// Builds the kernels of the package whose build script calls this, with the defaults of [`Builder`]; on failure prints
/// why and ends the build.
pub fn build() {
    Builder::new().build().unwrap_or_else(|error| error.exit());
}
