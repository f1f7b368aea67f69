//! Remote memory access: `put`, `get`, `p`, `g`, `put_signal`, and the buffers they take.

mod bulk;
mod scalar;

use crate::abi::Operation;
use crate::context::Shmem;
use crate::copy::{GlobalSpace, PrivateSpace, SharedSpace, Space};
use crate::global::Global;
use crate::shared::SharedSlice;
use crate::sym::Sym;
use bytemuck::Pod;

/// Memory of the calling PE that a put reads: `Sym<[T]>`, `Global<[T]>`, a shared tile, or a thread's own `&[T]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of this put",
    label = "not a source of `{T}`",
    note = "a source is `Sym<[T]>`, `Global<[T]>`, `&SharedSlice<T>` or, at thread scope, `&[T]`, with the same `T` as the destination"
)]
pub trait Source<T: Pod>: Copy + sealed::Buffer<T> {}

/// Memory of the calling PE that a get writes: `Sym<[T]>`, `Global<[T]>` or a shared tile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of this get",
    label = "not a destination of `{T}`",
    note = "a destination is `Sym<[T]>`, `Global<[T]>` or `&SharedSlice<T>`, with the same `T` as the source"
)]
pub trait Destination<T: Pod>: Copy + sealed::Buffer<T> {}

pub(crate) mod sealed {
    use super::*;

    /// Where a buffer lies.
    #[expect(private_bounds, reason = "sealed: the space is this crate's business")]
    pub trait Buffer<T> {
        /// Its state space.
        type Space: Space;
        /// Address and elements; `operation` names the caller if the handle is invalid.
        fn resolve(self, shmem: Shmem, operation: Operation) -> (u64, u64);
    }

    impl<T: Pod> Buffer<T> for Sym<[T]> {
        type Space = GlobalSpace;
        #[inline(always)]
        fn resolve(self, shmem: Shmem, operation: Operation) -> (u64, u64) {
            (shmem.own_address(self.span(), operation), self.len())
        }
    }
    impl<T: Pod> Buffer<T> for Global<[T]> {
        type Space = GlobalSpace;
        #[inline(always)]
        fn resolve(self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.address, self.len)
        }
    }
    impl<T: Pod> Buffer<T> for &SharedSlice<T> {
        type Space = SharedSpace;
        #[inline(always)]
        fn resolve(self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.address(), u64::from(self.len()))
        }
    }
    impl<T: Pod> Buffer<T> for &[T] {
        type Space = PrivateSpace;
        #[inline(always)]
        fn resolve(self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.as_ptr() as u64, self.len() as u64)
        }
    }
    impl<T: Pod, const N: usize> Buffer<T> for &[T; N] {
        type Space = PrivateSpace;
        #[inline(always)]
        fn resolve(self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.as_ptr() as u64, N as u64)
        }
    }
}

impl<T: Pod> Source<T> for Sym<[T]> {}
impl<T: Pod> Source<T> for Global<[T]> {}
impl<T: Pod> Source<T> for &SharedSlice<T> {}
impl<T: Pod> Source<T> for &[T] {}
impl<T: Pod, const N: usize> Source<T> for &[T; N] {}
impl<T: Pod> Destination<T> for Sym<[T]> {}
impl<T: Pod> Destination<T> for Global<[T]> {}
impl<T: Pod> Destination<T> for &SharedSlice<T> {}
