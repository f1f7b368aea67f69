//! From a handle to an address: `peer_bases[pe] + offset`, with the checks that end a kernel.

use crate::abi::{Cause, Operation};
use crate::arch::Word;
use crate::context::Shmem;
use crate::fault::{Fault, fail};
use crate::sym::Span;

impl Shmem {
    /// Where `pe`'s segment is mapped here, 0 if nowhere. `pe` is less than `n_pes`.
    #[inline(always)]
    pub(crate) fn peer_base(self, pe: u32) -> u64 {
        // SAFETY: the table has `n_pes` entries, which do not change while kernels run.
        unsafe { u64::load_global(self.abi.peer_bases + 8 * u64::from(pe)) }
    }

    /// Address of the own copy of `span`; ends the kernel thread if the handle came from an index out of range.
    #[inline(always)]
    pub(crate) fn own_address(self, span: Span, operation: Operation) -> u64 {
        self.checked(span, operation);
        self.abi.heap_base + span.offset()
    }

    /// Address here of `pe`'s copy of `span`; ends the kernel thread if there is none.
    #[inline(always)]
    pub(crate) fn remote_address(self, span: Span, pe: u32, operation: Operation) -> u64 {
        self.checked(span, operation);
        if pe >= self.abi.n_pes {
            let fault =
                Fault { peer: pe, offset: span.offset(), ..Fault::new(Cause::PeOutOfRange, operation) };
            fail(self, Fault { expected: u64::from(self.abi.n_pes), seen: u64::from(pe), ..fault });
        }
        let base = self.peer_base(pe);
        if base == 0 {
            fail(self, Fault { peer: pe, offset: span.offset(), ..Fault::new(Cause::NoPath, operation) });
        }
        base + span.offset()
    }

    #[inline(always)]
    fn checked(self, span: Span, operation: Operation) {
        if let Some(index) = span.out_of_range() {
            let fault = Fault { peer: self.abi.my_pe, ..Fault::new(Cause::IndexOutOfRange, operation) };
            fail(self, Fault { seen: index, ..fault });
        }
    }
}
