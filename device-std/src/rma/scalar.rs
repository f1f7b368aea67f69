//! `p` and `g`: one element, by one thread.

use crate::abi::Operation;
use crate::context::Context;
use crate::copy::{self, Racing};
use crate::scope::{Scoped, Thread};
use crate::seam;
use crate::sym::{Data, Sym};

impl<C: Context> Scoped<Thread, C> {
    /// Writes one element of at most 16 bytes to `target` on `pe`, by a strong relaxed store: a fence before
    /// it makes it a release. Ordered as a put otherwise.
    #[inline(always)]
    #[track_caller]
    pub fn p<T: Data>(self, target: Sym<T>, value: T, pe: u32) {
        const { assert!(size_of::<T>() <= 16, "`p` writes elements of at most 16 bytes: use `put`") };
        seam::operation(Operation::P, target.offset(), size_of::<T>() as u64, pe);
        let address = self.remote(target.span(), pe, Operation::P);
        // SAFETY: a mapped, aligned element.
        unsafe { copy::store::<Racing, T>(address, value) };
    }

    /// Reads one element of at most 16 bytes from `source` on `pe`.
    #[inline(always)]
    #[track_caller]
    pub fn g<T: Data>(self, source: Sym<T>, pe: u32) -> T {
        const { assert!(size_of::<T>() <= 16, "`g` reads elements of at most 16 bytes: use `get`") };
        seam::operation(Operation::G, source.offset(), size_of::<T>() as u64, pe);
        let address = self.remote(source.span(), pe, Operation::G);
        // SAFETY: a mapped, aligned element.
        unsafe { copy::load::<Racing, T>(address) }
    }
}
