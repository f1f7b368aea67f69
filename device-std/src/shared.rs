//! The block's shared memory: one typed layout per kernel, declared by [`shared!`](crate::shared!).
//!
//! ```
//! use oxshmem_device::prelude::*;
//!
//! shared! {
//!     /// What a block keeps.
//!     pub struct Layout {
//!         tile: [f32; 256],
//!         total: f32,
//!     }
//! }
//!
//! #[nvshmem_kernel(shared = Layout)]
//! pub fn reverse(shmem: Shmem, data: Sym<[f32]>) {
//!     let own = shmem.local(data);
//!     let layout = Layout::of(shmem);
//!     let i = thread::idx_x();
//!     layout.tile.set(i, own.get(i.into()));
//!     shmem.block().sync();
//!     own.set(i.into(), layout.tile.get(255 - i));
//! }
//! ```

use crate::abi::{Cause, Operation};
use crate::arch::shared;
use crate::context::Shmem;
use crate::copy::{self, SharedSpace};
use crate::fault::{Fault, fail};
use crate::seam;
use crate::together::Together;
use bytemuck::Pod;
use core::marker::PhantomData;

/// A field type of a layout: `T: Pod` becomes a [`Shared<T>`], `[T; N]` a [`SharedSlice<T>`].
pub trait SharedField {
    /// The handle that the layout hands out.
    type Handle;
    /// Whether the bulk copy engine reads or writes it.
    #[doc(hidden)]
    const ENGINE: bool = false;
    /// Makes it.
    #[doc(hidden)]
    fn handle(address: u32, shmem: Shmem) -> Self::Handle;
}

macro_rules! scalar_fields {
    ($($ty:ty)*) => {
        $(
            impl SharedField for $ty {
                type Handle = Shared<$ty>;
                #[inline(always)]
                fn handle(address: u32, _: Shmem) -> Shared<$ty> {
                    Shared { address: wide(address), of: PhantomData }
                }
            }
        )*
    };
}
scalar_fields!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 usize isize crate::f16 crate::bf16);

impl<T: Pod, const N: usize> SharedField for [T; N] {
    type Handle = SharedSlice<T>;
    #[inline(always)]
    fn handle(address: u32, shmem: Shmem) -> SharedSlice<T> {
        SharedSlice { address: wide(address), len: N as u32, shmem, of: PhantomData }
    }
}

/// The full address of a byte of the block's shared memory.
#[inline(always)]
pub(crate) fn wide(offset: u32) -> u64 {
    shared::base() + u64::from(offset)
}

/// Checks that the launch gave `bytes` of dynamic shared memory, and that the kernel knows of the bulk copy engine if the
/// layout has room for it. Generated layouts call this.
#[doc(hidden)]
#[inline(always)]
pub fn base_of(shmem: Shmem, bytes: u32, engine: bool) {
    let unnamed = engine && !shmem.has_engine();
    if shared::bytes() < bytes || unnamed {
        let cause = if unnamed { Cause::TileNotNamed } else { Cause::SharedMemory };
        let fault = Fault { peer: shmem.my_pe(), ..Fault::new(cause, Operation::Shared) };
        fail(shmem, Fault { expected: u64::from(bytes), seen: u64::from(shared::bytes()), ..fault });
    }
}

/// One value in shared memory. Reads and writes of different threads are ordered by a block barrier only.
#[derive(Clone, Copy)]
pub struct Shared<T> {
    address: u64,
    of: PhantomData<fn(T)>,
}

impl<T: Pod> Shared<T> {
    /// Reads it.
    #[inline(always)]
    #[track_caller]
    pub fn get(self) -> T {
        seam::access(Together::OneThread, Operation::Access);
        // SAFETY: a field of the block's layout, which `base_of` checked.
        unsafe { copy::load::<SharedSpace, T>(self.address) }
    }

    /// Writes it.
    #[inline(always)]
    #[track_caller]
    pub fn set(self, value: T) {
        seam::access(Together::OneThread, Operation::Access);
        // SAFETY: as in `get`.
        unsafe { copy::store::<SharedSpace, T>(self.address, value) }
    }
}

/// An array in shared memory. Not `Copy`: a non-blocking operation takes it, and gives it back when the array may be
/// touched again. Blocking operations borrow it.
pub struct SharedSlice<T> {
    address: u64,
    len: u32,
    shmem: Shmem,
    of: PhantomData<fn(T)>,
}

impl<T: Pod> SharedSlice<T> {
    /// Number of elements.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it has no element.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads the element at `index`. Out of range ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, index: u32) -> T {
        seam::access(Together::OneThread, Operation::Access);
        // SAFETY: `element` checked the index; the field lies in the block's layout.
        unsafe { copy::load::<SharedSpace, T>(self.element(index)) }
    }

    /// Writes the element at `index`. Out of range ends the kernel with an error record.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, index: u32, value: T) {
        seam::access(Together::OneThread, Operation::Access);
        // SAFETY: as in `get`.
        unsafe { copy::store::<SharedSpace, T>(self.element(index), value) }
    }

    /// Two arrays: the elements before `at`, and the others. Out of range ends the kernel with an error record.
    #[inline(always)]
    pub fn split_at(self, at: u32) -> (Self, Self) {
        if at > self.len {
            self.out_of_range(at);
        }
        let Self { address, len, shmem, of } = self;
        let second = address + u64::from(at) * size_of::<T>() as u64;
        (Self { address, len: at, shmem, of }, Self { address: second, len: len - at, shmem, of })
    }

    /// The first `count` elements. Out of range ends the kernel with an error record.
    #[inline(always)]
    pub fn truncated(self, count: u32) -> Self {
        self.split_at(count).0
    }

    #[inline(always)]
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    #[inline(always)]
    pub(crate) fn shmem(&self) -> Shmem {
        self.shmem
    }

    #[inline(always)]
    fn element(&self, index: u32) -> u64 {
        if index >= self.len {
            self.out_of_range(index);
        }
        self.address + u64::from(index) * size_of::<T>() as u64
    }

    #[inline(always)]
    fn out_of_range(&self, index: u32) -> ! {
        let fault =
            Fault { peer: self.shmem.my_pe(), ..Fault::new(Cause::IndexOutOfRange, Operation::Shared) };
        fail(self.shmem, Fault { expected: u64::from(self.len), seen: u64::from(index), ..fault })
    }
}

impl<T> core::fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Shared({:#x})", self.address)
    }
}
impl<T> core::fmt::Debug for SharedSlice<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SharedSlice({:#x}, {} elements)", self.address, self.len)
    }
}
