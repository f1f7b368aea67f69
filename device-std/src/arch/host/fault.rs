//! The end of a thread that failed: see `arch/ptx/fault.rs`.

use super::hooks::current;
use super::{order, thread};
use crate::abi::{Cause, ContextAbi, ErrorRecord, RECORD_COMPLETE, control};
use crate::arch::{Add, Exchange, Semantic, Word};
use crate::fault::{Fault, first_base};
use core::mem::offset_of;

/// Claims the PE's error record; the thread that gets it writes it, takes a ticket from PE 0, and raises the alarm. Ends
/// the thread.
///
/// # Safety
/// `context` is that of a launch whose memory is mapped.
pub(crate) unsafe fn report(context: ContextAbi, fault: Fault) -> ! {
    if let Some(checked) = current().checked() {
        checked.failed(&record(context, fault));
        // That is what the program asks for, and what the host is told.
        if fault.cause as u32 != Cause::GlobalExit as u32 {
            order::exit()
        }
    }
    // SAFETY: the control areas of the own heap and of PE 0's, the record and the alarm word are mapped
    // as long as kernels run (abi.rs); the record's other fields are read after `state` only.
    unsafe {
        if u32::compare_swap(Semantic::Relaxed, context.heap_base + control::CLAIM, 0, 1) == 0 {
            let first = first_base(context);
            let ticket = u32::fetch_add(Semantic::Relaxed, first + control::TICKET, 1);
            let put = |field: usize, value: u32| {
                u32::store_global(context.error_record + field as u64, value);
            };
            let put_long = |field: usize, value: u64| {
                u64::store_global(context.error_record + field as u64, value);
            };
            put(offset_of!(ErrorRecord, ticket), ticket);
            put(offset_of!(ErrorRecord, cause), fault.cause as u32);
            put(offset_of!(ErrorRecord, operation), fault.operation as u32);
            put(offset_of!(ErrorRecord, cmp), fault.cmp);
            put(offset_of!(ErrorRecord, peer), fault.peer);
            put(offset_of!(ErrorRecord, pe), context.my_pe);
            put(offset_of!(ErrorRecord, launch), context.launch);
            let block = [thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()];
            let own = [thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z()];
            for (i, (block, own)) in block.into_iter().zip(own).enumerate() {
                put(offset_of!(ErrorRecord, block) + 4 * i, block);
                put(offset_of!(ErrorRecord, thread) + 4 * i, own);
            }
            put_long(offset_of!(ErrorRecord, offset), fault.offset);
            put_long(offset_of!(ErrorRecord, expected), fault.expected);
            put_long(offset_of!(ErrorRecord, seen), fault.seen);
            let state = context.error_record + offset_of!(ErrorRecord, state) as u64;
            u32::store_release(state, RECORD_COMPLETE);
            u32::store_release(context.alarm, 1);
        }
    }
    order::exit()
}

/// The record that a thread leaves in a checked run.
fn record(context: ContextAbi, fault: Fault) -> ErrorRecord {
    let position = current().position();
    ErrorRecord {
        state: RECORD_COMPLETE,
        ticket: 0,
        cause: fault.cause as u32,
        operation: fault.operation as u32,
        cmp: fault.cmp,
        peer: fault.peer,
        pe: context.my_pe,
        launch: context.launch,
        block: position.block_idx,
        thread: position.thread_idx,
        offset: fault.offset,
        expected: fault.expected,
        seen: fault.seen,
    }
}
