//! How a kernel fails: the first failing thread of a PE writes the error record, raises the alarm, and exits; every
//! other thread that meets the failure exits too.
//!
//! | step | who | edge |
//! |---|---|---|
//! | compare-and-swap of the own PE's claim word | any failing thread | one winner per PE |
//! | ticket from PE 0's counter | the winner | orders the failures of all PEs |
//! | record, then its `state` with release | the winner | the host reads `state` first |
//! | alarm word, in host memory, with release | the winner | launches see it without a device access; waits of every PE of the host look at it after some failed polls |
//!
//! All of this stands where the check is: no call, so that a check costs a compare, a branch never taken, and no
//! register. A call would set the number of registers of every kernel, also of one that holds a single `p`.

use crate::abi::{Cause, ContextAbi, Operation};
use crate::arch::fault::report;
use crate::context::Shmem;

/// What goes into the error record, beyond what the thread knows of itself.
#[derive(Clone, Copy)]
pub struct Fault {
    pub(crate) cause: Cause,
    pub(crate) operation: Operation,
    pub(crate) cmp: u32,
    pub(crate) peer: u32,
    pub(crate) offset: u64,
    pub(crate) expected: u64,
    pub(crate) seen: u64,
}

impl Fault {
    #[inline(always)]
    pub(crate) fn new(cause: Cause, operation: Operation) -> Self {
        Self { cause, operation, cmp: 0, peer: u32::MAX, offset: 0, expected: 0, seen: 0 }
    }
}

/// What a wait reports whose time ran out. No closure: those are not always inlined, and the record would then be made in
/// local memory.
pub trait Expired {
    /// The fault of a wait that saw `seen` last.
    fn fault(self, seen: u64) -> Fault;
}
impl Expired for Fault {
    #[inline(always)]
    fn fault(self, seen: u64) -> Fault {
        Fault { seen, ..self }
    }
}

/// Where PE 0's segment is mapped here.
#[inline(always)]
pub(crate) fn first_base(context: ContextAbi) -> u64 {
    context.heap_base.wrapping_sub(u64::from(context.my_pe).wrapping_mul(context.peer_stride))
}

/// Writes the error record if this PE has none yet, raises the alarm, and ends the calling thread.
#[inline(always)]
pub(crate) fn fail(shmem: Shmem, fault: Fault) -> ! {
    // SAFETY: the context is that of this launch.
    unsafe { report(shmem.abi, fault) }
}
