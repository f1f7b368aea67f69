//! From a handle to an address: the PE's base plus the offset, with the checks that end a kernel.

use crate::abi::{Cause, Operation};
use crate::arch::memory;
use crate::context::{Context, Shmem};
use crate::fault::{Fault, fail};
use crate::sym::Span;

impl Shmem {
    /// Where `pe`'s segment is mapped here, 0 if nowhere. `pe` is less than `n_pes`.
    #[inline(always)]
    pub(crate) fn peer_base(self, pe: u32) -> u64 {
        if self.abi.peer_stride != 0 { self.even_base(pe) } else { self.tabled_base(pe) }
    }

    /// The base of `pe` where bases are evenly spaced.
    #[inline(always)]
    fn even_base(self, pe: u32) -> u64 {
        let distance = i64::from(pe) - i64::from(self.abi.my_pe);
        self.abi.heap_base.wrapping_add((distance as u64).wrapping_mul(self.abi.peer_stride))
    }

    /// The base of `pe` in the table.
    #[inline(always)]
    fn tabled_base(self, pe: u32) -> u64 {
        // SAFETY: the table has `n_pes` entries, which do not change while kernels run.
        unsafe { memory::load_unchanging_u64(self.abi.peer_bases + 8 * u64::from(pe)) }
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
        if pe < context.pes() && span.out_of_range().is_none() {
            let world = context.world_pe(pe);
            if self.abi.peer_stride != 0 {
                return self.even_base(world) + span.offset();
            }
            let base = self.tabled_base(world);
            if base != 0 {
                return base + span.offset();
            }
        }
        // Field by field: a choice between two whole records would be made in local memory.
        let (pes, index) = (context.pes(), span.out_of_range());
        let cause = match index {
            Some(_) => Cause::IndexOutOfRange,
            None if pe < pes => Cause::NoPath,
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
