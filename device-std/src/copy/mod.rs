//! Copies between state spaces, by all threads of a scope.
//!
//! Nothing here is a loop over bytes but the head and tail of byte slices, and `core`'s copies are not used at all:
//! with a run-time length they become byte loops.

mod bits;
mod contiguous;
mod element;
mod space;
mod spread;

pub(crate) use bits::{bits, value};
pub(crate) use contiguous::copy;
pub(crate) use element::{load, store};
pub(crate) use space::{Access, GlobalSpace, PrivateSpace, Racing, SharedSpace, Space};
pub(crate) use spread::{gather, spread};
