//! The kernels that the host runtime launches for its own operations: what a program asks for from the host or on a
//! stream, and no copy engine can do. Programs do not launch them; they call the operation, `Shmem::put_on` and its like.
//!
//! The host has checked every handle, length and PE before it launches one. Data comes as bytes, whatever its type: one
//! kernel serves all of them, and copies 16 bytes at a time at any alignment. Each kernel is one block, what is too large
//! for that goes through the copy engine. Collective operations of teams are in `oxshmem-stream-collectives`.
//!
//! | module | kernels |
//! |---|---|
//! | [`rma`] | put, get, put_signal, one element |
//! | [`signal`] | signals, and waits for them and for words of atomics |
//! | [`atomic`] | atomics on one word |
//! | [`strided`] | iput, iget |
//! | [`order`] | quiet, and barriers of all PEs and of teams |
//! | [`clock`] | the device's time, for timelines |

pub mod atomic;
pub mod clock;
pub mod order;
pub mod rma;
pub mod signal;
pub mod strided;

oxshmem_device::kernels!();
