//! From a handle to an address: the PE's base plus the offset, with the checks that end a kernel.

use crate::abi::{Cause, Operation};
use crate::context::{Context, Shmem};
use crate::fault::{Fault, fail};
use crate::sym::Span;

impl Shmem {
    /// Where `pe`'s segment is mapped here. `pe` is less than `n_pes`.
    #[inline(always)]
    pub(crate) fn peer_base(self, pe: u32) -> u64 {
        let distance = i64::from(pe) - i64::from(self.abi.my_pe);
        self.abi.heap_base.wrapping_add((distance as u64).wrapping_mul(self.abi.peer_stride))
    }

    /// Address of the own copy of `span`; ends the kernel thread if the handle came from an index out of range.
    #[inline(always)]
    pub(crate) fn own_address(self, span: Span, operation: Operation) -> u64 {
        if let Some(index) = span.out_of_range() {
            let fault = Fault { peer: self.abi.my_pe, ..Fault::new(Cause::IndexOutOfRange, operation) };
            fail(self, Fault { seen: index, ..fault });
        }
        self.abi.heap_base + span.offset()
    }

    /// Address here of the copy of `span` that PE `pe` of `context` has; ends the kernel thread if there is none.
    #[inline(always)]
    pub(crate) fn remote_address<C: Context>(
        self,
        span: Span,
        context: C,
        pe: u32,
        operation: Operation,
    ) -> u64 {
        // One branch for all that may be wrong; what it was is found out there.
        if pe < context.pes() && span.out_of_range().is_none() {
            return self.peer_base(context.world_pe(pe)) + span.offset();
        }
        // Field by field: a choice between two whole records would be made in local memory.
        let (pes, index) = (context.pes(), span.out_of_range());
        let cause = match index {
            Some(_) => Cause::IndexOutOfRange,
            None => Cause::PeOutOfRange,
        };
        let peer = if index.is_some() { self.abi.my_pe } else { context.named(pe) };
        let offset = if index.is_some() { 0 } else { span.offset() };
        let expected = if index.is_some() { 0 } else { u64::from(pes) };
        let seen = index.unwrap_or(u64::from(pe));
        let fault = Fault { cause, operation, cmp: 0, peer, offset, expected, seen };
        fail(self, fault)
    }
}
