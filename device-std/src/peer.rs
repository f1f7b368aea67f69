//! Direct access to a peer's copy of symmetric data, where the peer is reached by loads and stores (OpenSHMEM 1.6,
//! 9.1.9, `shmem_ptr`).
//!
//! | access | PTX | orders |
//! |---|---|---|
//! | `load`, `store` | `ld.global`, `st.global`, 16 bytes as `.v2.b64` | nothing, and must not race: a wait, barrier or signal orders it |
//! | `load_relaxed`, `store_relaxed` | `.relaxed.sys`, 16 bytes as one `.b128` | nothing, but may race; after a [`fence`](crate::Scoped::fence) of the same thread the store releases |
//! | `load_acquire` | `ld.acquire.sys` | what follows comes after it |
//! | `store_release` | `st.release.sys` | what this thread did before is visible first |
//! | `load_volatile`, `store_volatile` | `ld.volatile`, `st.volatile` | as relaxed, and no access is left out or moved past another volatile one |
//!
//! A peer's copy written so is ordered as by a put: a [`fence`](crate::Scoped::fence) or a strong signal to that PE covers
//! the stores before it, a [`quiet`](crate::Scoped::quiet) or barrier completes them. Any thread may use it alone; it is
//! an address, and no remote operation takes one.

use crate::abi::{Cause, Operation};
use crate::arch::{V16, Word};
use crate::context::{Context, Shmem};
use crate::copy::{self, Access, GlobalSpace, Racing};
use crate::fault::{Fault, fail};
use crate::seam;
use crate::sym::{Data, Sym};
use crate::together::Together;
use core::marker::PhantomData;

/// A peer's copy of some elements, or of one, for direct loads and stores.
#[derive(Clone, Copy)]
pub struct PeerPtr<T> {
    shmem: Shmem,
    address: u64,
    len: u64,
    pe: u32,
    of: PhantomData<fn(T)>,
}

/// Symmetric data of which [`Shmem::ptr`] gives the address of a peer's copy: `Sym<T>` and `Sym<[T]>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `PeerPtr` of `{T}`: `ptr` takes a `Sym<T>` or `Sym<[T]>` of plain data",
    label = "not symmetric plain data",
    note = "signals and atomic words are reached by their own operations only: `signal`, `atomic_*`, `wait_until`, `test`"
)]
pub trait Pointed<T: Data>: Copy + sealed::Located {}
impl<T: Data> Pointed<T> for Sym<T> {}
impl<T: Data> Pointed<T> for Sym<[T]> {}

mod sealed {
    use super::*;
    use crate::sym::Span;

    /// Where data starts in the heap, and how many elements it has.
    #[expect(private_interfaces, reason = "sealed: what a handle holds is this crate's business")]
    pub trait Located {
        /// Its start.
        fn span(self) -> Span;
        /// Its elements.
        fn elements(self) -> u64;
    }
    #[expect(private_interfaces, reason = "as above")]
    impl<T: Data> Located for Sym<T> {
        #[inline(always)]
        fn span(self) -> Span {
            Sym::span(self)
        }
        #[inline(always)]
        fn elements(self) -> u64 {
            1
        }
    }
    #[expect(private_interfaces, reason = "as above")]
    impl<T: Data> Located for Sym<[T]> {
        #[inline(always)]
        fn span(self) -> Span {
            Sym::span(self)
        }
        #[inline(always)]
        fn elements(self) -> u64 {
            self.len()
        }
    }
}

impl Shmem {
    /// The copy of `data` that PE `pe` has, for direct loads and stores; `None` if there is no such PE, or
    /// if `data` is out of range: every PE of a job is reached by loads and stores. By any thread.
    #[inline(always)]
    #[track_caller]
    pub fn ptr<T: Data>(self, data: impl Pointed<T>, pe: u32) -> Option<PeerPtr<T>> {
        let (span, len) = (data.span(), data.elements());
        seam::operation(Together::OneThread, Operation::Ptr, span.offset(), len * size_of::<T>() as u64, pe);
        if pe >= self.pes() || span.out_of_range().is_some() {
            return None;
        }
        let address = self.peer_base(self.world_pe(pe)) + span.offset();
        Some(PeerPtr { shmem: self, address, len, pe, of: PhantomData })
    }
}

/// Strong accesses of one kind.
macro_rules! strong {
    ($($name:ident $load:ident $store:ident;)*) => {
        $(
            struct $name;
            impl Access for $name {
                #[inline(always)]
                unsafe fn load_word<W: Word>(address: u64) -> W {
                    // SAFETY: passed on.
                    unsafe { W::$load(address) }
                }
                #[inline(always)]
                unsafe fn store_word<W: Word>(address: u64, value: W) {
                    // SAFETY: passed on.
                    unsafe { W::$store(address, value) }
                }
            }
        )*
    };
}
strong! {
    Ordered load_acquire store_release;
    Volatile load_volatile store_volatile;
}

macro_rules! accesses {
    ($($load:ident $store:ident $access:ty, $read:literal, $write:literal;)*) => {
        $(
            #[doc = $read]
            #[inline(always)]
            #[track_caller]
            pub fn $load(self) -> T {
                seam::access(Together::OneThread, Operation::Ptr);
                const { assert!(one_access::<T>(), "a `PeerPtr` accesses elements of 1, 2, 4, 8 or 16 bytes, aligned to their size") };
                // SAFETY: `first` checked that there is an element; it is mapped and aligned.
                unsafe { copy::load::<$access, T>(self.first()) }
            }

            #[doc = $write]
            #[inline(always)]
            #[track_caller]
            pub fn $store(self, value: T) {
                seam::access(Together::OneThread, Operation::Ptr);
                const { assert!(one_access::<T>(), "a `PeerPtr` accesses elements of 1, 2, 4, 8 or 16 bytes, aligned to their size") };
                // SAFETY: as in the load.
                unsafe { copy::store::<$access, T>(self.first(), value) }
            }
        )*
    };
}

/// Whether an element is moved by one access.
const fn one_access<T>() -> bool {
    matches!(size_of::<T>(), 1 | 2 | 4 | 8 | 16) && align_of::<T>() == size_of::<T>()
}
const _: () = assert!(one_access::<V16>());

impl<T: Data> PeerPtr<T> {
    accesses! {
        load store GlobalSpace, "Reads the first element, weak.", "Writes the first element, weak.";
        load_relaxed store_relaxed Racing, "Reads the first element, relaxed.", "Writes the first element, relaxed.";
        load_acquire store_release Ordered, "Reads the first element and acquires.", "Writes the first element and releases.";
        load_volatile store_volatile Volatile, "Reads the first element, volatile.", "Writes the first element, volatile.";
    }

    /// Number of elements.
    #[inline(always)]
    pub fn len(self) -> u64 {
        self.len
    }

    /// Whether it has no element.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The PE whose copy it is.
    #[inline(always)]
    pub fn pe(self) -> u32 {
        self.pe
    }

    /// The element at `index`. Out of range ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn at(self, index: u64) -> Self {
        self.check(index < self.len, index);
        Self { address: self.address + index * size_of::<T>() as u64, len: 1, ..self }
    }

    /// `count` elements from `start` on. Out of range ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn slice(self, start: u64, count: u64) -> Self {
        self.check(start <= self.len && count <= self.len - start, start.saturating_add(count));
        Self { address: self.address + start * size_of::<T>() as u64, len: count, ..self }
    }

    #[inline(always)]
    fn first(self) -> u64 {
        self.check(self.len > 0, 0);
        self.address
    }

    #[inline(always)]
    #[track_caller]
    fn check(self, holds: bool, index: u64) {
        if !holds {
            seam::access(Together::OneThread, Operation::Ptr);
            let fault = Fault { peer: self.pe, ..Fault::new(Cause::IndexOutOfRange, Operation::Ptr) };
            fail(self.shmem, Fault { expected: self.len, seen: index, ..fault });
        }
    }
}

impl<T> core::fmt::Debug for PeerPtr<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PeerPtr({:#x}, {} elements of PE {})", self.address, self.len, self.pe)
    }
}
