//! An mlx5 NIC by NVIDIA's user-space driver: libibverbs and libmlx5, looked up when the program needs them.
//!
//! Nothing is linked and no header is needed: the functions and structures are declared here. Objects own what they
//! need, so that they are destroyed in the order that the driver wants: a queue pair before its completion queue, that
//! before its memory and doorbell page, all before the context.
//!
//! | module | what it holds |
//! |---|---|
//! | [`library`] | [`Library`]: the two libraries and their functions |
//! | [`abi`] | structures of libibverbs |
//! | [`dv`] | structures of libmlx5 |
//! | [`device`] | [`Device`]: the NICs of this machine |
//! | [`context`] | [`Context`], [`Port`]: an open NIC, its port and addresses |
//! | [`capabilities`] | what a NIC must be able to do, a sentence for each that it is not |
//! | [`devx`] | commands to the firmware, objects made by them |
//! | [`memory`] | [`Pd`], [`Region`], [`Umem`]: memory that the NIC may use |
//! | [`uar`] | [`Uar`]: doorbell pages |
//! | [`cq`], [`qp`] | [`Cq`], [`Qp`]: queues in memory of ours, by commands to the firmware |
//! | [`event`] | [`Event`]: what the NIC reports on its own |
//! | [`watch`] | [`QpWatch`]: queue pairs of ours that went to the error state |
//! | [`classic`] | queues that libmlx5 makes and posts to, for comparison |
//! | [`mailbox`] | the commands, byte by byte |
//! | [`error`] | [`VerbsError`] |

pub mod abi;
pub mod capabilities;
pub mod classic;
pub mod context;
pub mod cq;
pub mod device;
pub mod devx;
pub mod dv;
pub mod error;
pub mod event;
pub mod library;
pub mod mailbox;
pub mod memory;
pub mod qp;
pub mod uar;
pub mod watch;

pub use context::{Context, Port};
pub use cq::Cq;
pub use device::Device;
pub use error::VerbsError;
pub use event::Event;
pub use library::Library;
pub use memory::{Pd, Region, Umem};
pub use qp::Qp;
pub use uar::Uar;
pub use watch::{QpFault, QpWatch};
