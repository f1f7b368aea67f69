//! The wire between NICs: memory that they share, with a mailbox for each ordered pair.
//!
//! Nobody ever waits in it and there is no lock: a NIC claims its place by one compare-and-swap, and a mailbox has
//! one writer and one reader, each of which publishes by one store. So a process may die at any instruction; the
//! others see a NIC that does not answer, and its place can be claimed again.
//!
//! | file | what it holds |
//! |---|---|
//! | `file` | [`Fabric`]: the shared memory and its layout |
//! | `place` | who is where: claim, look-up, liveness |
//! | `mailbox` | one ring of packets |
//! | `port` | what a NIC holds: it sends and receives |

mod file;
mod mailbox;
mod place;
mod port;

pub use file::Fabric;
pub(super) use port::{Peer, Port, Sent};
