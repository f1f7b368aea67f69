//! Remote memory access. All threads of the scope call an operation together with the same arguments, and each moves a
//! part.
//!
//! | operation | at return | file |
//! |---|---|---|
//! | [`put`](crate::Scoped::put), [`iput`](crate::Scoped::iput), [`p`](crate::Scoped::p) | the source may be reused; the data arrives later, in any order | `put`, `strided`, `scalar` |
//! | [`put_nbi`](crate::Scoped::put_nbi), [`iput_nbi`](crate::Scoped::iput_nbi) | nothing: the source is in use until [`flush`](crate::Scoped::flush) or [`quiet`](crate::Scoped::quiet) | `put`, `strided` |
//! | [`put_signal`](crate::Scoped::put_signal), [`put_signal_nbi`](crate::Scoped::put_signal_nbi) | as the put; whoever sees the signal sees its data | `put_signal` |
//! | [`get`](crate::Scoped::get), [`iget`](crate::Scoped::iget), [`gather`](crate::Scoped::gather), [`g`](crate::Scoped::g) | the data is there, for the whole scope | `get`, `strided`, `gather`, `scalar` |
//! | [`get_nbi`](crate::Scoped::get_nbi), [`iget_nbi`](crate::Scoped::iget_nbi), [`gather_nbi`](crate::Scoped::gather_nbi), [`g_nbi`](crate::Scoped::g_nbi) | nothing: the destination is in use until `quiet` | `get`, `strided`, `gather`, `scalar` |
//!
//! [`put_add`](crate::Scoped::put_add) adds to the target's elements (`put_add`). [`put_staged`](crate::Scoped::put_staged) and [`get_staged`](crate::Scoped::get_staged) are `put` and `get` through
//! the bulk copy engine (`staged`).
//!
//! [`put_packets`](crate::Scoped::put_packets) and [`put_mailbox`](crate::Scoped::put_mailbox) send small messages whose
//! data and flag travel together (`packet`, `mailbox`).
//!
//! Non-blocking operations between symmetric and local device memory give a plain [`Pending`]: the next `quiet` of the
//! scope, or a barrier, completes them. Those with memory of the block or of the thread take it, and give it back with
//! a [`PutRequest`] or [`GetRequest`]: see `request`.
//!
//! Source and target of one operation must not overlap in part; the same range twice is allowed (OpenSHMEM 1.6, 9.6).

mod buffer;
mod gather;
mod get;
mod mailbox;
mod packet;
mod put;
mod put_add;
mod put_signal;
mod request;
mod scalar;
mod staged;
mod strided;

pub use buffer::{Destination, LendDestination, LendSource, Source, WithinBlock};
pub use mailbox::{IN_PACKETS, Mailbox};
pub use packet::Packet;
pub use put_add::PutAdd;
pub use request::{GetRequest, Pending, PutRequest};

use crate::abi::{Cause, Operation};
use crate::arch::order;
use crate::context::Context;
use crate::copy::{self, Space};
use crate::fault::{Fault, fail};
use crate::scope::{Scope, Scoped, Width};
use crate::sym::Sym;
use bytemuck::Pod;

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Ends the calling thread if the lengths of a copy differ.
    #[inline(always)]
    fn same_length(self, target: u64, source: u64, offset: u64, pe: u32, operation: Operation) {
        if target != source {
            let peer = self.context.named(pe);
            let fault = Fault { peer, offset, ..Fault::new(Cause::LengthMismatch, operation) };
            fail(self.shmem(), Fault { expected: target, seen: source, ..fault });
        }
    }
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Copies `bytes` of a range of `T`, as which they begin and end aligned, by the threads of the scope.
    ///
    /// # Safety
    /// Both ranges are valid in their spaces and aligned for `T`, and do not overlap in part; nothing else accesses the
    /// target meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn transfer<D: Space, F: Space, T: Pod>(self, target: u64, source: u64, bytes: u64) {
        let (mut rank, mut size) = (self.rank(), self.size());
        if S::WIDTH != Width::One {
            // Threads that have nothing to do are soon done: mostly all of it is words of 16 bytes.
            let unit = if (target | source | bytes) & 15 == 0 { 16 } else { align_of::<T>() as u64 };
            if rank * unit >= bytes {
                return;
            }
            // Else their products with constants are kept, too.
            (rank, size) = (order::opaque(rank), order::opaque(size));
        }
        // SAFETY: passed on.
        unsafe {
            match S::WIDTH {
                Width::One if D::IS_FAR && F::IS_FAR => {
                    copy::copy::<D, F, T, 16>(target, source, bytes, rank, size);
                }
                Width::Warp if D::IS_FAR && F::IS_FAR => {
                    copy::copy::<D, F, T, 12>(target, source, bytes, rank, size);
                }
                _ => copy::copy::<D, F, T, 4>(target, source, bytes, rank, size),
            }
        }
    }
}

/// Bytes that a handle names.
#[inline(always)]
fn bytes_of<T: Pod>(memory: Sym<[T]>) -> u64 {
    memory.len() * size_of::<T>() as u64
}

/// How many of `len` elements the bulk engine can move: as many as are whole 16-byte words.
#[inline(always)]
fn engine_part<T>(len: u64) -> u64 {
    let size = size_of::<T>() as u64;
    // Elements in the smallest number of whole words: 16 over the largest power of two that divides both.
    let group = const {
        if size_of::<T>().trailing_zeros() >= 4 { 1 } else { 16 >> size_of::<T>().trailing_zeros() }
    };
    if size == 0 { 0 } else { len - len % group }
}
