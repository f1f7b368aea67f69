//! Queue pairs that the GPU posts to by itself: no thread of the host takes part in an operation.
//!
//! Many threads share a queue pair. Its send queue is a ring of basic blocks, counted on and on in 64 bits:
//!
//! | counter | up to there | moved by |
//! |---|---|---|
//! | `reserved` | blocks belong to somebody | an add |
//! | `ready` | blocks are written | the owner of the blocks at `ready`, by compare-and-swap |
//! | `produced` | the NIC was told | the holder of the ring lock |
//! | `completed` | blocks are free again | the holder of the poll lock |
//!
//! An operation reserves its blocks, waits until the ring has room for them, writes them, publishes them, and sees to it that
//! somebody rings. Whoever is the last that has reserved rings, and whoever crosses a batch; a thread that waits helps: it rings
//! and polls, so that nobody waits for a thread that waits. Each happens-before edge of this is an [`Edge`], with what it is for.
//!
//! Nothing here asserts, and every wait has a [`Deadline`]. What goes wrong first is kept in one word of the queue pair
//! ([`Failure`]); every later wait returns it.
//!
//! | file | what it holds |
//! |---|---|
//! | `abi` | the layouts that the host fills in |
//! | `memory`, `device` | what the ring needs of memory, and how the device does it |
//! | `failure`, `deadline` | what went wrong; how long a wait may take |
//! | `queue` | reserve, write, publish, ring |
//! | `complete` | poll, wait, quiet |
//! | `transfer`, `inline`, `atomic`, `landing` | put and get; `p`; atomics and signals; values that come back |
//! | `dirty` | which queue pairs have something under way |

pub mod abi;
mod atomic;
mod complete;
mod deadline;
mod device;
mod dirty;
mod failure;
mod inline;
mod landing;
mod memory;
mod queue;
mod transfer;

pub use super::mlx5::wqe::{Masked, Place};
pub use atomic::{NicAtomic, NicSignal};
pub use deadline::{Deadline, Ticks};
pub use device::DeviceMemory;
pub use dirty::{Dirty, WORDS_AT};
pub use failure::{Cause, Failure, Waiting};
pub use landing::Awaited;
pub use memory::{Edge, Memory, Visible};
pub use queue::{QueuePair, Reserved};
