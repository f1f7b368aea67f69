//! An emulated mlx5 NIC: what a GPU posts to when there is no NIC.
//!
//! A [`Nic`] has the rings, records and doorbells of the real one, reads work requests as strictly as firmware
//! may, executes them on registered memory, its own or another NIC's over a [`Fabric`], and answers in
//! completion queues. It promises no more than the standard: an [`Adversary`] uses every freedom that hardware
//! has. It leaves to its front ends how commands and doorbells reach it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`command`] | commands to the firmware, byte by byte |
//! | [`config`] | [`NicConfig`], [`Adversary`], [`Time`] |
//! | [`description`] | what queues, regions and paths are described by |
//! | [`refused`] | [`Refused`]: why a command was not carried out |
//! | [`violation`] | [`Violation`]: what a driver did wrong on the data path |
//! | [`event`], [`fault`] | [`Event`]: what happened beside the queues; [`Fault`]: what can be made to happen |
//! | [`fabric`] | [`Fabric`]: the wire between NICs, in one process or in several |
//! | [`syndrome`] | the codes of error completions |

mod adapter;
mod answer;
mod chance;
pub mod command;
mod completion;
pub mod config;
mod core;
mod delivery;
pub mod description;
pub mod event;
pub mod fabric;
pub mod fault;
#[cfg(test)]
mod hostile;
mod log;
mod memory;
mod objects;
mod packet;
mod qp;
pub mod refused;
mod regions;
mod requester;
mod responder;
mod room;
pub mod syndrome;
mod thread;
pub mod violation;
mod wqe;

pub use adapter::Nic;
pub use config::{Adversary, NicConfig, Time};
pub use description::{
    Access, Address, CqDescription, Keys, Pd, Place, QpDescription, QpState, Receive, State, Transition, Uar,
    Umem,
};
pub use event::Event;
pub use fabric::Fabric;
pub use fault::Fault;
pub use log::Statistics;
pub use refused::Refused;
pub use syndrome::Syndrome;
pub use thread::NicThread;
pub use violation::{Rule, Violation};
