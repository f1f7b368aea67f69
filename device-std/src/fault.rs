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
//!
//! All of this is one function out of line that never returns, so that a check in a kernel costs a compare, a
//! branch never taken, and no register.

use crate::abi::{Cause, ContextAbi, ErrorRecord, Operation, RECORD_COMPLETE, control};
use crate::arch::{Word, atomic, memory, order, thread};
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

/// Reports and ends the calling thread.
#[inline(always)]
pub(crate) fn fail(shmem: Shmem, fault: Fault) -> ! {
    let what = fault.cause as u32 | (fault.operation as u32) << 8 | fault.cmp << 16;
    #[cfg(target_arch = "nvptx64")]
    let context = shmem.param;
    #[cfg(not(target_arch = "nvptx64"))]
    let context = &raw const shmem.abi as u64;
    report(context, what, fault.peer, fault.offset, fault.expected, fault.seen)
}

/// Writes the error record if this PE has none yet, poisons every reachable PE, and exits. `context` is the
/// generic address of the launch's [`ContextAbi`].
#[cold]
#[inline(never)]
fn report(context: u64, what: u32, peer: u32, offset: u64, expected: u64, seen: u64) -> ! {
    // SAFETY: `context` is the address of a live `ContextAbi`.
    let long = |field: usize| unsafe { u64::load_generic(context + field as u64) };
    // SAFETY: as above.
    let short = |field: usize| unsafe { u32::load_generic(context + field as u64) };
    let (heap, peers) = (long(offset_of!(ContextAbi, heap_base)), long(offset_of!(ContextAbi, peer_bases)));
    let (my_pe, n_pes) = (short(offset_of!(ContextAbi, my_pe)), short(offset_of!(ContextAbi, n_pes)));
    // SAFETY: here and below: the control areas of the own heap and of every mapped peer, the peer table, the
    // record and the alarm word are mapped for this device as long as kernels run (abi.rs).
    if unsafe { atomic::compare_swap_u32(heap + control::CLAIM, 0, 1) } != 0 {
        order::exit();
    }
    // SAFETY: see above.
    let first = unsafe { u64::load_global(peers) };
    let ticket = if first == 0 {
        u32::MAX
    } else {
        // SAFETY: see above.
        unsafe { atomic::fetch_add_u32(first + control::TICKET, 1) }
    };
    let record = long(offset_of!(ContextAbi, error_record));
    let put = |field: usize, value: u32| {
        // SAFETY: a field of the record, aligned.
        unsafe { u32::store_relaxed(record + field as u64, value) }
    };
    let put_long = |field: usize, value: u64| {
        // SAFETY: as above.
        unsafe { u64::store_relaxed(record + field as u64, value) }
    };
    put(offset_of!(ErrorRecord, cause), what & 0xff);
    put(offset_of!(ErrorRecord, operation), (what >> 8) & 0xff);
    put(offset_of!(ErrorRecord, cmp), what >> 16);
    put(offset_of!(ErrorRecord, ticket), ticket);
    put(offset_of!(ErrorRecord, pe), my_pe);
    put(offset_of!(ErrorRecord, peer), peer);
    put(offset_of!(ErrorRecord, launch), short(offset_of!(ContextAbi, launch)));
    put(offset_of!(ErrorRecord, block), thread::block_idx_x());
    put(offset_of!(ErrorRecord, block) + 4, thread::block_idx_y());
    put(offset_of!(ErrorRecord, block) + 8, thread::block_idx_z());
    put(offset_of!(ErrorRecord, thread), thread::thread_idx_x());
    put(offset_of!(ErrorRecord, thread) + 4, thread::thread_idx_y());
    put(offset_of!(ErrorRecord, thread) + 8, thread::thread_idx_z());
    put_long(offset_of!(ErrorRecord, offset), offset);
    put_long(offset_of!(ErrorRecord, expected), expected);
    put_long(offset_of!(ErrorRecord, seen), seen);
    // SAFETY: see above.
    unsafe { memory::store_release_u32(record + offset_of!(ErrorRecord, state) as u64, RECORD_COMPLETE) };
    // SAFETY: see above.
    unsafe { memory::store_release_u32(long(offset_of!(ContextAbi, alarm)), 1) };
    let mut pe = 0;
    while pe < n_pes {
        // SAFETY: see above.
        let base = unsafe { u64::load_global(peers + 8 * u64::from(pe)) };
        if base != 0 {
            // SAFETY: see above.
            unsafe { memory::store_release_u64(base + control::ABORT, 1 + u64::from(my_pe)) };
        }
        pe += 1;
    }
    order::exit()
}
