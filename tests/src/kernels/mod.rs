//! One kernel per operation; the scope is a parameter, so that each is tested at every scope.

pub mod alignments;
pub mod atomics;
pub mod failures;
pub mod large;
pub mod nbi;
pub mod ordering;
pub mod packets;
pub mod peers;
pub mod ported;
pub mod rma;
pub mod scope;
pub mod signals;
pub mod strided;
pub mod teams;
pub mod tiles;
pub mod updates;
pub mod waits;
pub mod warps;

pub(crate) use scope::at_scope;
