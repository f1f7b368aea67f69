//! The NIC's firmware: commands byte by byte, as a driver's DEVX calls carry them.
//!
//! Decoding is strict and knows nothing of who encodes: every bit that is set must be one that is understood, and a value
//! that the emulated NIC does not support is refused, with a status as firmware has it and a sentence that a log can
//! keep. Numbers of fields follow the mlx5 programmer's reference.
//!
//! | module | what it holds |
//! |---|---|
//! | [`input`] | reading of bits, with a memory of which were read |
//! | [`failure`] | [`Failure`], [`Status`] |
//! | [`mod@create`] | [`Create`]: completion queues and queue pairs |
//! | [`mod@change`] | [`Change`]: transitions of queue pairs |
//! | [`mod@ask`] | [`Ask`]: queries, and their answers |
//! | [`run`] | [`Created`]; commands carried out on a [`Nic`](super::Nic) |

pub mod ask;
pub mod change;
pub mod create;
pub mod failure;
pub mod input;
pub mod run;

pub use ask::Ask;
pub use change::Change;
pub use create::Create;
pub use failure::{Failure, Status};
pub use run::{Created, ask, change, create, destroy};

/// The number of the only event queue.
pub const EVENT_QUEUE: u32 = 0x21;
