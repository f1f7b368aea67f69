//! Reads send queue entries as strictly as firmware may: from the tables of the programmer's reference, not from any
//! encoder of this project.
//!
//! | file | what it reads |
//! |---|---|
//! | `control` | the control segment, which every entry starts with |
//! | `data` | data pointers and inline data |
//! | `atomic` | operands of atomics, and what they do to a word |
//! | `request` | whole entries, by operation |

mod atomic;
mod control;
mod data;
mod request;

pub(super) use atomic::Atomic;
pub(super) use control::{BLOCK, blocks_of};
pub(super) use data::{Data, Source};
pub(super) use request::{Operation, Request};
