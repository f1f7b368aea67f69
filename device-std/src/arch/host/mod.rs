//! The twins: the same functions as `arch/ptx/`, carried out on host memory, with the emulator behind them.
//!
//! Symmetric memory is shared between the operating-system threads of several PEs, so every access here is an
//! atomic one of the access's own width. (Rust's model leaves racing atomics of different widths open; a
//! kernel whose accesses are ordered, as the API asks, has none.)

pub(crate) mod atomic;
pub(crate) mod bulk;
pub(crate) mod fault;
pub(crate) mod float;
pub mod hooks;
pub(crate) mod memory;
pub(crate) mod nic;
pub(crate) mod order;
pub(crate) mod shared;
pub(crate) mod thread;
pub(crate) mod warp;
