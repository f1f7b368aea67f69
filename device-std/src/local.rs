//! A view of this PE's own memory for reading and writing single elements, symmetric or not.

use crate::abi::{Cause, Operation};
use crate::context::Shmem;
use crate::copy::{self, GlobalSpace};
use crate::fault::{Fault, fail};
use crate::global::Global;
use crate::seam;
use crate::sym::Sym;
use crate::together::Together;
use bytemuck::Pod;
use core::marker::PhantomData;

/// This PE's own copy of some memory. Reads and writes are plain: what a peer writes is seen only after a
/// wait or barrier that orders it, what is written here is seen by peers only after a signal, fence or barrier.
#[derive(Clone, Copy)]
pub struct Local<T> {
    shmem: Shmem,
    address: u64,
    len: u64,
    of: PhantomData<fn(T)>,
}

impl Shmem {
    /// A view of the own copy of symmetric memory, or of local device memory.
    #[inline(always)]
    pub fn local<T: Pod>(self, memory: impl Memory<T>) -> Local<T> {
        let (address, len) = memory.locate(self);
        Local { shmem: self, address, len, of: PhantomData }
    }
}

/// Memory of which a PE has its own copy: [`Sym`] or [`Global`].
pub trait Memory<T>: Copy {
    /// Address and number of elements.
    #[doc(hidden)]
    fn locate(self, shmem: Shmem) -> (u64, u64);
}

impl<T: Pod> Memory<T> for Sym<[T]> {
    #[inline(always)]
    fn locate(self, shmem: Shmem) -> (u64, u64) {
        (shmem.own_address(self.span(), Operation::Access), self.len())
    }
}
impl<T: Pod> Memory<T> for Sym<T> {
    #[inline(always)]
    fn locate(self, shmem: Shmem) -> (u64, u64) {
        (shmem.own_address(self.span(), Operation::Access), 1)
    }
}
impl<T: Pod> Memory<T> for Global<[T]> {
    #[inline(always)]
    fn locate(self, _: Shmem) -> (u64, u64) {
        (self.address, self.len)
    }
}

impl<T: Pod> Local<T> {
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

    /// Reads the element at `index`. Out of range ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, index: u64) -> T {
        seam::access(Together::OneThread, Operation::Access);
        // SAFETY: `element` checked the index; the view's memory outlives the kernel.
        unsafe { copy::load::<GlobalSpace, T>(self.element(index)) }
    }

    /// Writes the element at `index`. Out of range ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, index: u64, value: T) {
        seam::access(Together::OneThread, Operation::Access);
        // SAFETY: as in `get`.
        unsafe { copy::store::<GlobalSpace, T>(self.element(index), value) }
    }

    #[inline(always)]
    fn element(self, index: u64) -> u64 {
        if index >= self.len {
            let fault = Fault {
                expected: self.len,
                seen: index,
                ..Fault::new(Cause::IndexOutOfRange, Operation::Access)
            };
            fail(self.shmem, Fault { peer: self.shmem.my_pe(), ..fault });
        }
        self.address + index * size_of::<T>() as u64
    }
}

impl<T> core::fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Local({:#x}, {} elements)", self.address, self.len)
    }
}
