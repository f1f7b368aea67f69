//! Single elements: `p` and `g`, and gets whose values stay in registers.

use super::GetRequest;
use crate::abi::{Cause, Operation};
use crate::context::Context;
use crate::copy::{self, GlobalSpace, Racing};
use crate::fault::{Fault, fail};
use crate::scope::{Scope, Scoped, Thread, Warp};
use crate::sym::{Data, Sym};
use bytemuck::Pod;
use core::mem::MaybeUninit;

impl<C: Context> Scoped<Thread, C> {
    /// Writes one element of at most 16 bytes to `target` on `pe`, by a strong relaxed store: a fence before
    /// it makes it a release. Ordered as a put otherwise. (OpenSHMEM 1.6, 9.6.)
    #[inline(always)]
    #[track_caller]
    pub fn p<T: Data>(self, target: Sym<T>, value: T, pe: u32) {
        const { assert!(size_of::<T>() <= 16, "`p` writes elements of at most 16 bytes: use `put`") };
        let _recorded = self.enter(Operation::P, target.offset(), size_of::<T>() as u64, pe);
        let address = self.remote(target.span(), pe, Operation::P);
        // SAFETY: a mapped, aligned element.
        unsafe { copy::store::<Racing, T>(address, value) };
    }

    /// Reads one element of at most 16 bytes from `source` on `pe`. (OpenSHMEM 1.6, 9.6.)
    #[inline(always)]
    #[track_caller]
    pub fn g<T: Data>(self, source: Sym<T>, pe: u32) -> T {
        let _recorded = self.enter(Operation::G, source.offset(), size_of::<T>() as u64, pe);
        self.read(source, pe, Operation::G)
    }

    /// As [`g`](Self::g), but the value is there after `quiet` of the request: between them the thread goes on, with as
    /// many gets in flight as it has requests.
    ///
    /// ```
    /// use oxshmem_device::prelude::*;
    ///
    /// /// The sum of four elements on `pe`, whose loads are in flight together.
    /// #[nvshmem_kernel]
    /// pub fn sum_of_four(shmem: Shmem, values: Sym<[u64]>, sum: Sym<[u64]>, pe: u32) {
    ///     let thread = shmem.thread();
    ///     let (a, b) = (thread.g_nbi(values.at(0), pe), thread.g_nbi(values.at(100), pe));
    ///     let (c, d) = (thread.g_nbi(values.at(200), pe), thread.g_nbi(values.at(300), pe));
    ///     let total = a.quiet(thread) + b.quiet(thread) + c.quiet(thread) + d.quiet(thread);
    ///     shmem.local(sum).set(0, total);
    /// }
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn g_nbi<T: Data>(self, source: Sym<T>, pe: u32) -> GetRequest<T, Thread> {
        let _recorded = self.enter(Operation::GNbi, source.offset(), size_of::<T>() as u64, pe);
        GetRequest::new(self.read(source, pe, Operation::GNbi))
    }

    /// Reads `N` elements from the start of `source` on `pe` into an array of the thread's own, which `quiet` of the
    /// request hands out: `N` loads are in flight. With a constant `N` of a few, and constant indices, the array stays
    /// in registers. A source of fewer elements ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn get_array_nbi<T: Data, const N: usize>(
        self,
        source: Sym<[T]>,
        pe: u32,
    ) -> GetRequest<[T; N], Thread>
    where
        [T; N]: Pod,
    {
        let _recorded = self.enter(Operation::GetNbi, source.offset(), (N * size_of::<T>()) as u64, pe);
        let address = self.remote(source.span(), pe, Operation::GetNbi);
        if source.len() < N as u64 {
            let fault = Fault {
                peer: self.context.named(pe),
                offset: source.offset(),
                ..Fault::new(Cause::LengthMismatch, Operation::GetNbi)
            };
            fail(self.shmem(), Fault { expected: N as u64, seen: source.len(), ..fault });
        }
        let mut values = MaybeUninit::<[T; N]>::uninit();
        let to = values.as_mut_ptr().cast::<T>();
        let mut i = 0;
        while i < N {
            // SAFETY: element `i` of both; the source's are mapped and aligned.
            unsafe { to.add(i).write(copy::load::<GlobalSpace, T>(address + (i * size_of::<T>()) as u64)) };
            i += 1;
        }
        // SAFETY: all `N` elements were written.
        GetRequest::new(unsafe { values.assume_init() })
    }

    #[inline(always)]
    fn read<T: Data>(self, source: Sym<T>, pe: u32, operation: Operation) -> T {
        const { assert!(size_of::<T>() <= 16, "`g` reads elements of at most 16 bytes: use `get`") };
        let address = self.remote(source.span(), pe, operation);
        // SAFETY: a mapped, aligned element.
        unsafe { copy::load::<Racing, T>(address) }
    }
}

impl<C: Context> Scoped<Warp, C> {
    /// Reads one element per lane from `source` on `pe`, together: lane `i` gets element `i`. Neighbouring elements
    /// of at most 16 bytes make one coalesced load of the warp. All threads of the warp call it; a source of fewer
    /// elements than the warp has threads ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn g<T: Data>(self, source: Sym<[T]>, pe: u32) -> T {
        const { assert!(size_of::<T>() <= 16, "`g` reads elements of at most 16 bytes: use `get`") };
        let _recorded = self.enter(Operation::G, source.offset(), self.size() * size_of::<T>() as u64, pe);
        let address = self.remote(source.span(), pe, Operation::G);
        if source.len() < self.size() {
            let fault = Fault {
                peer: self.context.named(pe),
                offset: source.offset(),
                ..Fault::new(Cause::LengthMismatch, Operation::G)
            };
            fail(self.shmem(), Fault { expected: self.size(), seen: source.len(), ..fault });
        }
        // SAFETY: a mapped, aligned element.
        unsafe { copy::load::<Racing, T>(address + self.scope.rank() * size_of::<T>() as u64) }
    }
}
