//! Probes: kernels of one operation each, whose PTX the suite `oxshmem-tests/tests/ptx` reads. None is ever launched.
//!
//! A probe is named after its operation, with its scope where there are several; what it needs beyond the call is a
//! place for the result.
#![expect(missing_docs, reason = "a probe's name says which operation it holds")]

pub mod atomic;
pub mod contiguous;
pub mod engine;
pub mod memory;
pub mod order;
pub mod packet;
pub mod scalar;
pub mod signal;
pub mod spread;
pub mod updates;

oxshmem_device::kernels!();
