//! How `&[T]`, `*const T` and `*mut T` of a rust-cuda kernel travel: as an address and a length.

use crate::global::Global;
use crate::launch::{KernelParam, Named};
use bytemuck::Pod;

/// A device address as one raw piece. A scalar pointer in an entry's parameter list is known to be global memory; a
/// pointer inside a struct of several fields is not.
#[repr(transparent)]
pub struct Address<T>(*mut T);

impl<T> Clone for Address<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Address<T> {}
// SAFETY: a number; whoever makes a reference of it answers for it.
unsafe impl<T> Send for Address<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Address<T> {}

/// The memory of one parameter.
pub struct Buffer<T> {
    address: Address<T>,
    len: usize,
}

impl<T> Clone for Buffer<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Buffer<T> {}

impl<T: Pod> Buffer<T> {
    /// What a launch was given. Memory without bytes may be at address 0, where a reference cannot be.
    pub fn new(memory: Global<[T]>) -> Self {
        let address = if memory.len == 0 { align_of::<T>() } else { memory.address as usize };
        Self { address: Address(core::ptr::with_exposed_provenance_mut(address)), len: memory.len as usize }
    }

    /// The first element.
    #[inline(always)]
    pub fn as_ptr(self) -> *mut T {
        self.address.0
    }

    /// The elements.
    ///
    /// # Safety
    /// Nothing writes them as long as the slice is used.
    #[inline(always)]
    pub unsafe fn as_slice<'a>(self) -> &'a [T] {
        // SAFETY: a launch checked that the memory is there for that many elements, and it stays until the kernel has
        // ended; any bytes are a `T`.
        unsafe { core::slice::from_raw_parts(self.address.0, self.len) }
    }
}

// SAFETY: the pieces are the value's own fields; a launcher checks the range that `names` gives.
unsafe impl<T: Pod> KernelParam for Buffer<T> {
    type R0 = Address<T>;
    type R1 = usize;
    #[inline(always)]
    fn into_raw(self) -> (Address<T>, usize) {
        (self.address, self.len)
    }
    #[inline(always)]
    unsafe fn from_raw(address: Address<T>, len: usize) -> Self {
        Self { address, len }
    }
    fn names(self) -> Named {
        let bytes = (self.len as u64).saturating_mul(size_of::<T>() as u64);
        Named::Local { address: self.address.0.addr() as u64, bytes }
    }
}

// SAFETY: two numbers, as `Address`.
unsafe impl<T> Send for Buffer<T> {}
