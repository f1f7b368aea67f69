//! An emulated GPU: runs oxshmem kernels on the host, one coroutine per GPU thread.
//!
//! Kernels run device-std's real code; this crate stands behind its host instructions (the
//! [`Hooks`](oxshmem_device::hooks::Hooks) seam). It promises a GPU's rules, not its speed: blocks become
//! resident as room allows, barriers count the living, waits expire by machine time, a wild access or a panic
//! is a typed report. The symmetric heap, PEs and their rendezvous are the host runtime's business.
//!
//! | module | what it holds |
//! |---|---|
//! | [`machine`] | [`Machine`], [`MachineConfig`]: all devices of a process |
//! | [`device`] | [`Device`]: occupancy, memory, statistics |
//! | [`stream`] | [`Stream`], [`Launch`]: what runs, in which order |
//! | [`memory`] | [`Reservation`], [`Physical`], [`Allocation`], [`HostMemory`]: addresses and what lies behind them |
//! | [`host`] | [`HostThread`]: host threads that may still launch something hold the clock back |
//! | [`clock`] | machine time, and the proof that nothing can happen any more |
//! | [`nic`] | [`Nic`](nic::Nic): an emulated mlx5 NIC
//! | [`statistics`] | what a device has done |
//! | [`error`] | [`Error`] |
//!
//! A kernel that never reaches an oxshmem operation, a barrier or a warp collective (`loop {}`) cannot be
//! interrupted: it holds its device, and dropping the machine waits for it.

mod block;
pub mod check;
pub mod clock;
pub mod config;
pub mod device;
pub mod error;
pub mod host;
pub mod launch;
pub mod machine;
pub mod memory;
pub mod nic;
mod occupancy;
mod panics;
mod random;
mod schedule;
mod shared;
mod stack;
mod standing;
pub mod statistics;
pub mod stream;
mod thread;
mod trap;
mod worker;

pub use clock::STEPS_PER_SECOND;
pub use config::MachineConfig;
pub use device::Device;
pub use error::{Error, LastOperation, Problem, Site};
pub use host::{HostHandle, HostThread};
pub use launch::Launch;
pub use launch::Point;
pub use machine::Machine;
pub use memory::{
    Allocation, GRANULARITY, HostMemory, HostRegistration, Physical, Reservation,
    available as available_memory,
};
pub use statistics::Statistics;
pub use stream::Stream;
