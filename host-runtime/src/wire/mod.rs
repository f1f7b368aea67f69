//! Authenticated connections between processes. Who does not know the job's [`Secret`] gets nothing in and
//! nothing changed: both sides prove it on every connection, and every message carries a tag that binds it to
//! its connection, its direction and its place in the order. Nothing is encrypted: the wire carries addresses
//! and sizes, and who can read a local network may know them.
//!
//! A stranger cannot exhaust a process either. Memory is given for bytes that came, never for a length that was
//! announced; every wait for the rest of something has a limit in total; and strangers share a fixed number of
//! places.
//!
//! | file | what it holds |
//! |---|---|
//! | `secret`, `address`, `unique_id` | what a process needs to know to join, and its text form |
//! | `stream`, `listener`, `connect`, `until` | sockets of both families, and waits that end |
//! | `mac`, `handshake`, `frame` | the protocol, as functions of bytes |
//! | `channel`, `descriptor` | a proven connection: messages and descriptors |
//! | `acceptor`, `pending`, `refusals` | one thread that takes connections from anybody and hands out the proven ones |
//! | `codec` | what stands in a message |

mod acceptor;
mod address;
mod channel;
mod codec;
mod connect;
mod descriptor;
mod error;
mod frame;
mod handshake;
mod listener;
mod mac;
mod pending;
mod refusals;
mod secret;
#[cfg(feature = "fuzzing")]
mod stranger;
mod stream;
mod unique_id;
mod until;

#[cfg(test)]
use frame::MAX_FRAME;
#[cfg(test)]
use stream::Stream;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use acceptor::{Acceptor, Stop};
pub(crate) use address::Address;
pub(crate) use channel::{Channel, Closer, Receiver, Sender};
pub(crate) use codec::{Malformed, Reader, Writer};
pub(crate) use connect::{attempt, attempt_unix, connect};
pub(crate) use error::WireError;
pub(crate) use listener::Listener;
pub(crate) use refusals::Refusals;
pub(crate) use secret::Secret;
#[cfg(feature = "fuzzing")]
pub(crate) use stranger::lets_in;
pub(crate) use stream::credentials;
pub(crate) use unique_id::UniqueId;
pub(crate) use until::Until;
