//! What an oxshmem kernel is written against, and the traits by which a host launches it.
//!
//! The same code compiles for `nvptx64-nvidia-cuda`, where every operation becomes a few instructions, and for
//! the host, where the emulator runs it. A kernel starts with `use oxshmem_device::prelude::*;`.
//!
//! | module | what it holds |
//! |---|---|
//! | [`context`] | [`Shmem`], [`Collective`]: the first parameter of every kernel |
//! | [`scope`] | thread, warp, block and grid: who performs an operation together |
//! | [`sym`], [`global`], [`local`] | handles to memory: symmetric, local device memory, and a view to read and write either |
//! | [`rma`] | `put`, `get`, `p`, `g`, `put_signal` |
//! | [`signal`], [`wait`] | signal words; waiting for them and for integer atomics, with a deadline |
//! | [`atomic`] | read-modify-writes on symmetric words |
//! | [`peer`] | direct loads and stores of a peer's copy |
//! | [`updates`] | updates of words anywhere, sent in batches |
//! | [`order`] | `fence`, `quiet`, `barrier_all`, grid barriers |
//! | [`team`] | teams: PEs under numbers of their own |
//! | [`collective`] | broadcast, all-gather, all-to-all, reductions and scans of a team, and schedules of messages |
//! | [`mod@shared`] | typed layouts of the block's shared memory |
//! | [`thread`], [`warp`] | indices, shuffles, votes |
//! | [`net`] | work requests of an RDMA NIC |
//! | [`clock`] | time inside a kernel |
//! | [`launch`] | kernels as the host sees them |
//! | [`cuda_std`] | the names of rust-cuda's `cuda_std`, for kernels that come from there |
//! | [`abi`] | layouts that host and device share |
#![cfg_attr(target_arch = "nvptx64", no_std, feature(asm_experimental_arch, link_llvm_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub mod abi;
mod address;
mod arch;
pub mod atomic;
mod barrier;
pub mod clock;
pub mod collective;
pub mod context;
mod copy;
pub mod cuda_std;
mod exit;
mod fault;
pub mod global;
pub mod launch;
pub mod local;
mod meeting;
pub mod net;
pub mod order;
pub mod peer;
mod poll;
pub mod prelude;
pub mod rma;
pub mod scope;
mod seam;
mod share;
pub mod shared;
pub mod signal;
pub mod stage;
pub mod sym;
pub mod team;
pub mod thread;
pub mod tile;
mod together;
mod trace;
pub mod updates;
pub mod wait;
pub mod warp;

#[cfg(not(target_arch = "nvptx64"))]
pub use arch::host::hooks;
pub use atomic::Atomic;
pub use bytemuck;
pub use collective::{And, Max, Min, Or, Prod, Reduction, Sum, Xor};
pub use context::{Collective, Context, KernelContext, MayWait, Shmem};
pub use global::Global;
pub use half::{bf16, f16};
pub use launch::LaunchConfig;
pub use local::Local;
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub use oxshmem_macros::check_test;
pub use oxshmem_macros::{nvshmem_kernel, shared};
pub use peer::PeerPtr;
pub use rma::{GetRequest, Mailbox, Packet, Pending, PutRequest};
pub use scope::{Block, Grid, Scope, Scoped, Thread, Warp, Warps};
pub use signal::{Signal, SignalOp};
pub use sym::{Data, Reach, Sym, Symmetric};
pub use team::{OnTeam, Team};
pub use together::Together;
pub use wait::{Cmp, Every};

/// What generated code names. Not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use crate::abi::ContextAbi;
    pub use crate::context::KernelContext;
    pub use crate::cuda_std::param::Buffer;
    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::cuda_std::shared::fixed;
    pub use crate::global::Global;
    pub use crate::launch::{Arg, Kernel, KernelParam, LaunchConfig, Launcher, ParamVisitor, visit_param};
    pub use crate::shared::{SharedField, base_of};
}

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    arch::order::trap()
}
