//! Handles to local device memory: weights, activations, scratch. Not reachable by other PEs.

use crate::launch::{KernelParam, Named};
use bytemuck::Pod;
use core::marker::PhantomData;

/// A handle to a `[T]` in this PE's device memory outside the symmetric heap.
pub struct Global<T: ?Sized> {
    pub(crate) address: u64,
    pub(crate) len: u64,
    of: PhantomData<fn(*const T)>,
}

impl<T: ?Sized> Clone for Global<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for Global<T> {}
impl<T: ?Sized> core::fmt::Debug for Global<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Global({:#x}, {} elements)", self.address, self.len)
    }
}

impl<T: Pod> Global<[T]> {
    /// A handle from its parts.
    ///
    /// # Safety
    /// `address` is a device address of `len` elements, aligned for `T`, that stays allocated while kernels
    /// use the handle.
    #[inline(always)]
    pub unsafe fn from_parts(address: u64, len: u64) -> Self {
        Self { address, len, of: PhantomData }
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
}

// SAFETY: the pieces are the handle's own fields; a launcher checks the range that `names` gives.
unsafe impl<T: Pod> KernelParam for Global<[T]> {
    type R0 = u64;
    type R1 = u64;
    #[inline(always)]
    fn into_raw(self) -> (u64, u64) {
        (self.address, self.len)
    }
    #[inline(always)]
    unsafe fn from_raw(address: u64, len: u64) -> Self {
        Self { address, len, of: PhantomData }
    }
    fn names(self) -> Named {
        Named::Local { address: self.address, bytes: self.len.saturating_mul(size_of::<T>() as u64) }
    }
}
