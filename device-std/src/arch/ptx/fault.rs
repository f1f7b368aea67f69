//! The end of a thread that failed, as one piece of asm: it stands at every check, and should cost the compiler nothing
//! there and the kernel no register. The fences between its stores order nothing that matters; they keep the assembler from
//! having all of them on their way, each with registers of its own, which would set the number of a small kernel's.

use crate::abi::{ContextAbi, ErrorRecord, RECORD_COMPLETE, control};
use crate::fault::{Fault, first_base};
use core::arch::asm;
use core::mem::offset_of;

/// Claims the PE's error record; the thread that gets it writes it, takes a ticket from PE 0, and raises the alarm. Ends
/// the thread.
///
/// # Safety
/// `context` is that of a launch whose memory is mapped.
#[inline(always)]
pub(crate) unsafe fn report(context: ContextAbi, fault: Fault) -> ! {
    // SAFETY: the control areas of the own heap and of PE 0's, the record and the alarm word are mapped
    // for this device as long as kernels run (abi.rs); the record's other fields are read after `state` only.
    unsafe {
        asm!(
            "{{ .reg .pred p; .reg .b32 t; .reg .b32 x<6>;",
            "atom.relaxed.sys.global.cas.b32 t, [{heap} + {claim}], 0, 1;",
            "setp.ne.u32 p, t, 0;",
            "@p exit;",
            "atom.relaxed.sys.global.add.u32 t, [{first} + {ticket}], 1;",
            "st.global.v2.b32 [{record} + 8], {{{cause}, {operation}}}; fence.acq_rel.cta;",
            "st.global.b32 [{record} + 4], t; fence.acq_rel.cta;",
            "st.global.v4.b32 [{record} + 16], {{{cmp}, {peer}, {pe}, {launch}}}; fence.acq_rel.cta;",
            "mov.u32 x0, %ctaid.x; mov.u32 x1, %ctaid.y; mov.u32 x2, %ctaid.z;",
            "mov.u32 x3, %tid.x;",
            "st.global.v4.b32 [{record} + 32], {{x0, x1, x2, x3}}; fence.acq_rel.cta;",
            "mov.u32 x4, %tid.y; mov.u32 x5, %tid.z;",
            "st.global.v2.b32 [{record} + 48], {{x4, x5}}; fence.acq_rel.cta;",
            "st.global.b64 [{record} + 56], {offset}; fence.acq_rel.cta;",
            "st.global.v2.b64 [{record} + 64], {{{expected}, {seen}}};",
            "st.release.sys.global.b32 [{record}], {complete};",
            "st.release.sys.global.b32 [{alarm}], 1;",
            "exit; }}",
            claim = const control::CLAIM,
            ticket = const control::TICKET,
            complete = const RECORD_COMPLETE,
            heap = in(reg64) context.heap_base,
            first = in(reg64) first_base(context),
            record = in(reg64) context.error_record,
            alarm = in(reg64) context.alarm,
            pe = in(reg32) context.my_pe,
            launch = in(reg32) context.launch,
            cause = in(reg32) fault.cause as u32,
            operation = in(reg32) fault.operation as u32,
            cmp = in(reg32) fault.cmp,
            peer = in(reg32) fault.peer,
            offset = in(reg64) fault.offset,
            expected = in(reg64) fault.expected,
            seen = in(reg64) fault.seen,
            options(nostack, noreturn),
        )
    }
}

/// Where the asm above has the record's fields.
const _: () = assert!(
    offset_of!(ErrorRecord, state) == 0
        && offset_of!(ErrorRecord, ticket) == 4
        && offset_of!(ErrorRecord, cause) == 8
        && offset_of!(ErrorRecord, operation) == 12
        && offset_of!(ErrorRecord, cmp) == 16
        && offset_of!(ErrorRecord, peer) == 20
        && offset_of!(ErrorRecord, pe) == 24
        && offset_of!(ErrorRecord, launch) == 28
        && offset_of!(ErrorRecord, block) == 32
        && offset_of!(ErrorRecord, thread) == 44
        && offset_of!(ErrorRecord, offset) == 56
        && offset_of!(ErrorRecord, expected) == 64
        && offset_of!(ErrorRecord, seen) == 72
);
