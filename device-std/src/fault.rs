//! How a kernel fails: the first failing thread of a PE writes the error record, tells the peers, and exits;
//! every other thread that meets the failure exits too.
//!
//! | step | who | edge |
//! |---|---|---|
//! | compare-and-swap of the own PE's claim word | any failing thread | one winner per PE |
//! | ticket from PE 0's counter | the winner | orders the failures of all PEs |
//! | record, then its `state` with release | the winner | host reads `state` first |
//! | alarm word | the winner | host's launches see it without a device access |
//! | abort word of every peer and its own | the winner | waits there give up |

use crate::abi::{Cause, ErrorRecord, Operation, RECORD_COMPLETE, control};
use crate::arch::{Word, atomic, memory, order, thread};
use crate::context::Shmem;
use core::mem::offset_of;

/// What goes into the error record, beyond what the thread knows of itself.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
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

/// Reports and ends the calling thread.
#[inline(always)]
pub(crate) fn fail(shmem: Shmem, fault: Fault) -> ! {
    report(shmem, fault);
    order::exit()
}

/// Writes the error record if this PE has none yet, and poisons every reachable PE.
#[inline(always)]
pub(crate) fn report(shmem: Shmem, fault: Fault) {
    let abi = shmem.abi;
    // SAFETY: here and below: the control areas of the own heap and of every mapped peer, the peer table, the
    // record and the alarm word are mapped for this device as long as kernels run (abi.rs).
    if unsafe { atomic::compare_swap_u32(abi.heap_base + control::CLAIM, 0, 1) } != 0 {
        return;
    }
    // SAFETY: see above.
    let first = unsafe { u64::load_global(abi.peer_bases) };
    let ticket = if first == 0 {
        u32::MAX
    } else {
        // SAFETY: see above.
        unsafe { atomic::fetch_add_u32(first + control::TICKET, 1) }
    };
    let field = |offset: usize, value: u32| {
        // SAFETY: a field of the record, aligned.
        unsafe { u32::store_relaxed(abi.error_record + offset as u64, value) }
    };
    let long = |offset: usize, value: u64| {
        // SAFETY: as above.
        unsafe { u64::store_relaxed(abi.error_record + offset as u64, value) }
    };
    field(offset_of!(ErrorRecord, cause), fault.cause as u32);
    field(offset_of!(ErrorRecord, operation), fault.operation as u32);
    field(offset_of!(ErrorRecord, cmp), fault.cmp);
    field(offset_of!(ErrorRecord, ticket), ticket);
    field(offset_of!(ErrorRecord, pe), abi.my_pe);
    field(offset_of!(ErrorRecord, peer), fault.peer);
    field(offset_of!(ErrorRecord, launch), abi.launch);
    field(offset_of!(ErrorRecord, block), thread::block_idx_x());
    field(offset_of!(ErrorRecord, block) + 4, thread::block_idx_y());
    field(offset_of!(ErrorRecord, block) + 8, thread::block_idx_z());
    field(offset_of!(ErrorRecord, thread), thread::thread_idx_x());
    field(offset_of!(ErrorRecord, thread) + 4, thread::thread_idx_y());
    field(offset_of!(ErrorRecord, thread) + 8, thread::thread_idx_z());
    long(offset_of!(ErrorRecord, offset), fault.offset);
    long(offset_of!(ErrorRecord, expected), fault.expected);
    long(offset_of!(ErrorRecord, seen), fault.seen);
    // SAFETY: see above.
    unsafe {
        memory::store_release_u32(abi.error_record + offset_of!(ErrorRecord, state) as u64, RECORD_COMPLETE)
    };
    // SAFETY: see above.
    unsafe { memory::store_release_u32(abi.alarm, 1) };
    let mut pe = 0;
    while pe < abi.n_pes {
        // SAFETY: see above.
        let base = unsafe { u64::load_global(abi.peer_bases + 8 * u64::from(pe)) };
        if base != 0 {
            // SAFETY: see above.
            unsafe { memory::store_release_u64(base + control::ABORT, 1 + u64::from(abi.my_pe)) };
        }
        pe += 1;
    }
}
