//! The host runtime of oxshmem: runs PEs, gives each a symmetric heap, and launches kernels that communicate
//! while they compute.
//!
//! [`run`] is the entry of a program. It makes PEs as threads of this process, or the one PE that a launcher
//! (`oxshmem-run`, `torchrun`) has started this process as; [`init`] does the latter without a closure. Each PE has a
//! [`Shmem`], which allocates ([`SymVec`], [`DeviceVec`]), launches kernels (`kernel::launch(&shmem, …)`, by its
//! [`Launcher`](oxshmem_device::launch::Launcher)) and synchronises. Kernels run on NVIDIA GPUs, or on an
//! emulated GPU where there is none. What goes wrong is an [`Error`], never a hang; only what a kernel computes
//! between its waits may take any time, unless [`Config::kernel_limit`] bounds it.
//!
//! ```
//! use oxshmem_device::prelude::*;
//!
//! /// Sends `src` to the right neighbour and waits for the left one's data.
//! #[nvshmem_kernel]
//! fn ring_shift(shmem: Collective, dst: Sym<[f32]>, src: Sym<[f32]>, ready: Sym<Signal>, round: u64) {
//!     let block = shmem.block();
//!     block.put_signal(dst, src, ready, SignalOp::Set(round), shmem.next_pe());
//!     block.wait_reached(ready, round);
//! }
//!
//! fn main() -> oxshmem::Result<()> {
//!     let received = oxshmem::run_local(2, |shmem| {
//!         let me = shmem.my_pe() as f32;
//!         let src = shmem.alloc_from_fn(1024, |i| me * 1000.0 + i as f32)?;
//!         let dst = shmem.alloc_zeroed::<f32>(1024)?;
//!         let ready = shmem.alloc_signals(1)?;
//!         ring_shift::launch(&shmem, LaunchConfig::blocks(1).threads(64), &dst, &src, ready.at(0), 1)?;
//!         shmem.barrier_all()?;
//!         dst.read()
//!     })?;
//!     assert_eq!(received[0][7], 1007.0);
//!     assert_eq!(received[1][7], 7.0);
//!     Ok(())
//! }
//! ```
//!
//! How a run can end, and who learns of it:
//!
//! | what happens | where it shows |
//! |---|---|
//! | a PE's closure returns an error or panics | the others' blocking calls: [`Error::PeFailed`]; [`run`] returns the PE's own error |
//! | a wait in a kernel expires, a range or PE is wrong | every PE: [`Error::Poisoned`] with the first failing thread, until all call [`Shmem::recover`] |
//! | a kernel calls `global_exit` | every PE: [`Error::GlobalExit`], for good |
//! | a kernel panics on the emulator | its PE: [`Error::KernelFailed`], the others: [`Error::PeFailed`] |
//! | a kernel panics on a GPU | [`Error::KernelCrashed`]; the process must end |
//! | a kernel loops without an oxshmem wait | its PE: [`Error::StreamStuck`] after [`Config::kernel_limit`], if that is set; else a line on stderr after 30 s |
//! | a PE does not come to a collective call | those that came: [`Error::Absent`], [`Error::Returned`] |
//! | a PE's process ends without a word | the others' blocking calls and [`run`]: [`Error::PeFailed`] with [`Error::PeLost`] |
//! | a PE's process is stopped | as for a PE that does not come, or whose signal does not |
//! | processes of a job do not find each other | PE 0: [`Error::Missing`], the others: [`Error::PeFailed`] or [`Error::NotJoined`] |
//! | processes of a job are set up differently | PE 0 or the one that differs: [`Error::ProcessesDiffer`], [`Error::OtherHosts`], the others: [`Error::PeFailed`] |
//! | a launcher's variables cannot be right, or it offers no way to meet | this process: [`Error::Contradiction`], [`Error::MissingVariable`], [`Error::NoBootstrap`] |
//! | a unique id cannot be used as it is | this process: [`Error::BadUniqueId`] |
//! | a timeline cannot be written, or a GPU's clock not be read for it | this process: [`Error::Trace`] |
//! | a process gets no handle of another one's heap | it: [`Error::NoHandle`], the others: [`Error::PeFailed`] |
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@env`] | the environment variables |
//! | [`config`](Config) | the set-up of a run |
//! | [`error`](Error), [`Failure`] | what can go wrong, and what a failed kernel left |

mod alloc;
mod allocate;
mod arrays;
#[cfg(feature = "emulator")]
mod asked;
mod atomic;
mod backed;
mod board;
mod bootstrap;
mod calls;
#[cfg(feature = "emulator")]
mod check;
mod claims;
mod collective;
mod config;
mod debug;
#[cfg(feature = "cuda")]
pub mod cuda {
    //! What only makes sense on CUDA devices.
    pub use crate::driver::cuda::raw::{Prepare, RawLaunch};
}
mod driver;
mod enqueue;
pub mod env;
mod error;
mod event;
mod exchange;
mod failure;
mod fault;
mod foreign;
mod formed;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod graph;
mod group;
mod growth;
mod host_vec;
mod intern;
mod job;

mod known;
mod launch;
mod launched;
mod ledger;
mod local;
mod memory;
mod named;
#[doc(hidden)]
pub mod net;
mod on_stream;
mod order;
mod pe;
mod process;
mod ranges;
mod registered;
mod rma;
mod room;
mod run;
mod say;
mod session;
mod shape;
mod shmem;
mod signal;
mod space;
mod state;
mod stop;
mod stream;
mod strided;
mod symmetric;
mod team;
mod trace;
mod updates;
mod wire;

#[cfg(feature = "emulator")]
pub use check::{
    CheckOptions, Choice, Finding, Kind, Place as Spot, Profile, Report, Schedule, Waiter, check,
};
#[cfg(feature = "emulator")]
pub use oxshmem_device::check_test;
#[cfg(feature = "emulator")]
#[doc(hidden)]
pub mod __private {
    pub use crate::check::check_test;
}
pub use arrays::cuda_array::CudaArrayInterface;
pub use arrays::dlpack;
pub use arrays::element::ArrayElement;
pub use bootstrap::{BadUniqueId, UniqueId};
pub use collective::{Combined, Operator, Parts, TeamChannel, Tuning};
pub use config::{Config, DeviceChoice, Family, Handles, Loading, Path, Rendezvous};
pub use error::{
    BadCollective, BadStride, Error, HostMemory, Registration, Result, TraceError, Unregistrable,
};
pub use event::Event;
pub use failure::{Failure, KernelPanic, Place};
pub use graph::Graph;
pub use host_vec::HostVec;
pub use local::DeviceVec;
pub use memory::{Destination, OnDevice, OnHeap, Source, SourceOnDevice};
pub use on_stream::WaitsOnStream;
pub use oxshmem_device::{LaunchConfig, Reach, Signal, SignalOp};
pub use registered::SourceVec;
pub use run::{run, run_local};
pub use session::{Session, init, init_with_unique_id};
pub use shmem::Shmem;
pub use stream::Stream;
pub use symmetric::{Element, SymVec};
pub use team::Team;
pub use updates::UpdateInbox;
