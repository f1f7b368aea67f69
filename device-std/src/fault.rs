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

use crate::abi::{Cause, ErrorRecord, Operation, RECORD_COMPLETE, control};
use crate::arch::{V16, Word, atomic, memory, order, thread};
use crate::context::Shmem;
use core::mem::offset_of;

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

/// Writes the error record if this PE has none yet, raises the alarm, and ends the calling thread.
#[inline(always)]
pub(crate) fn fail(shmem: Shmem, fault: Fault) -> ! {
    // SAFETY: here and below: the control areas of the own heap and of every mapped peer, the peer table, the record
    // and the alarm word are mapped for this device as long as kernels run (abi.rs).
    if unsafe { atomic::compare_swap_u32(shmem.abi.heap_base + control::CLAIM, 0, 1) } == 0 {
        // SAFETY: see above.
        unsafe { report(shmem, fault) };
    }
    order::exit()
}

/// # Safety
/// As `fail` says.
#[inline(always)]
unsafe fn report(shmem: Shmem, fault: Fault) {
    let first = shmem.peer_base(0);
    let mut ticket = u32::MAX;
    if first != 0 {
        // SAFETY: passed on.
        ticket = unsafe { atomic::fetch_add_u32(first + control::TICKET, 1) };
    }
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let at = |field: usize| shmem.abi.error_record + field as u64;
    // SAFETY: fields of the record, which is aligned to 64 bytes; nobody reads them before `state`.
    unsafe {
        u32::store_global(at(offset_of!(ErrorRecord, ticket)), ticket);
        u64::store_global(
            at(offset_of!(ErrorRecord, cause)),
            pair(fault.cause as u32, fault.operation as u32),
        );
        let whom = V16(pair(fault.cmp, fault.peer), pair(shmem.abi.my_pe, shmem.abi.launch));
        V16::store_global(at(offset_of!(ErrorRecord, cmp)), whom);
        let (block, third) = (pair(thread::block_idx_x(), thread::block_idx_y()), thread::block_idx_z());
        V16::store_global(
            at(offset_of!(ErrorRecord, block)),
            V16(block, pair(third, thread::thread_idx_x())),
        );
        let rest = pair(thread::thread_idx_y(), thread::thread_idx_z());
        V16::store_global(at(offset_of!(ErrorRecord, thread) + 4), V16(rest, fault.offset));
        V16::store_global(at(offset_of!(ErrorRecord, expected)), V16(fault.expected, fault.seen));
        memory::store_release_u32(at(offset_of!(ErrorRecord, state)), RECORD_COMPLETE);
        memory::store_release_u32(shmem.abi.alarm, 1);
    }
}
