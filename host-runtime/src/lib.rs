//! The host runtime of oxshmem: runs PEs, gives each a symmetric heap, and launches kernels that communicate
//! while they compute.
//!
//! [`run`] is the entry of a program. It hands each PE a [`Shmem`], which allocates ([`SymVec`],
//! [`DeviceVec`]), launches kernels (`kernel::launch(&shmem, …)`, by its
//! [`Launcher`](oxshmem_device::launch::Launcher)) and synchronises. Kernels run on NVIDIA GPUs, or on an
//! emulated GPU where there is none. What goes wrong is an [`Error`], never a hang.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@env`] | the environment variables |
//! | [`config`](Config) | the set-up of a run |
//! | [`error`](Error), [`Failure`] | what can go wrong, and what a failed kernel left |

mod alloc;
mod config;
#[cfg(feature = "cuda")]
pub mod cuda {
    //! What only makes sense on CUDA devices.
    pub use crate::driver::cuda::raw::{Prepare, RawLaunch};
}
mod driver;
pub mod env;
mod error;
mod failure;
mod group;
mod job;
mod launch;
mod local;
mod pe;
mod run;
mod shmem;
mod space;
mod stream;
mod symmetric;

pub use config::{Config, DeviceChoice, Path};
pub use error::{Error, KernelPanic, Result};
pub use failure::{Failure, Place};
pub use local::DeviceVec;
pub use oxshmem_device::{LaunchConfig, Reach, Signal, SignalOp};
pub use run::{run, run_local};
pub use shmem::Shmem;
pub use stream::Stream;
pub use symmetric::{Element, SymVec};
