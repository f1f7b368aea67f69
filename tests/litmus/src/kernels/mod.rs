//! Litmus tests of the memory model: small kernels of two to four PEs, each with an outcome that the model forbids.
//!
//! A kernel plays many rounds. In each the PEs of a group write, order and read as the shape says, with values that no
//! other round uses, and one of them looks for the forbidden outcome. With [`Run::twin`] the same kernel runs with its
//! ordering removed or weakened; then the outcome is allowed.
//!
//! | file | what its shapes ask |
//! |---|---|
//! | `play` | – : groups, rounds, delays, the count |
//! | `values` | – : what a round writes |
//! | [`message`] | does who sees the signal see the data? |
//! | [`release`] | does one thread's release cover its whole scope? |
//! | [`chain`] | does a third PE see what the first wrote? |
//! | [`order`] | do two PEs agree on the order of two writes? |
//! | [`credit`] | is what was read before a signal safe from what is written after it? |
//! | [`bulk`] | is the bulk copy engine ordered with loads and stores? |
//! | [`words`] | are words and 16-byte elements accessed as one? |
//! | [`bytes`] | do puts change their own bytes only? |

pub mod bulk;
pub mod bytes;
pub mod chain;
pub mod credit;
pub mod message;
pub mod order;
mod play;
pub mod release;
mod values;
pub mod words;

pub use play::{CREDIT, ROUNDS, Run, SIGNALS, VIOLATIONS};
