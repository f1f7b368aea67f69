//! What is expected of each probe.
//!
//! A row holds for the kernels that it names, on every architecture. A new probe needs a row: the suite says so.

mod atomic;
mod data;
mod engine;
mod order;
mod packet;
mod scalar;
mod signal;
mod updates;

use super::expectation::Kernel;

/// All rows.
pub(crate) const ALL: &[&[Kernel]] = &[
    scalar::ROWS,
    data::ROWS,
    signal::ROWS,
    packet::ROWS,
    order::ROWS,
    atomic::ROWS,
    engine::ROWS,
    updates::ROWS,
];

/// The one probe that is allowed local memory: it puts a thread's own array.
pub(crate) const OWN_ARRAY: &str = "put_own_array";

/// A kernel that holds a single operation of one thread takes no more registers than this, so that beside it there is
/// room for what the kernel is for.
const OF_ONE_THREAD: Option<u32> = Some(24);

/// The same where several things may be wrong, at several places.
const OF_SEVERAL_CHECKS: Option<u32> = Some(28);

/// Fences that another PE, or the whole device, takes part in. The report of a failure has one of the block, which is none
/// of these.
const FENCES: &[&str] = &["fence.sc", "fence.acq_rel.sys", "fence.acq_rel.gpu", "membar"];
/// These, and barriers of any scope.
const FENCES_AND_BARRIERS: &[&str] =
    &["fence.sc", "fence.acq_rel.sys", "fence.acq_rel.gpu", "membar", "bar", "barrier"];

/// An instruction of the bulk copy engine, which a kernel without a tile has none of.
const ENGINE: &str = "cp.async.bulk";

/// In a kernel with a tile, what every thread waits for before a fence or a release that covers its past.
const STORED: &str = "cp.async.bulk.wait_group 0";
