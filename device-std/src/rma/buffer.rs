//! The memory of the calling PE that operations read and write, and who may use which.
//!
//! | buffer | scopes | blocking put, get | non-blocking put, get |
//! |---|---|---|---|
//! | `Sym<[T]>`, `Global<[T]>` | all | by value | by value: [`Pending`] |
//! | [`SharedSlice<T>`] | within a block | borrowed | taken: [`PutRequest`], [`GetRequest`] |
//! | [`Tile<T, S>`] of the scope | within a block | borrowed, by the bulk engine | taken, by the bulk engine |
//! | a thread's own `[T]` | thread | borrowed | put: borrowed, captured at once |

use super::request::{GetRequest, Pending, PutRequest};
use crate::abi::Operation;
use crate::context::{Context, Shmem};
use crate::copy::{GlobalSpace, PrivateSpace, SharedSpace, Space};
use crate::global::Global;
use crate::scope::{Block, Scope, Scoped, Thread, Warp, Warps};
use crate::shared::SharedSlice;
use crate::sym::Sym;
use crate::tile::Tile;
use bytemuck::Pod;

/// The scopes that lie in one block, whose shared memory they may use.
#[diagnostic::on_unimplemented(
    message = "shared memory belongs to one block, not to a `{Self}`: use `thread()`, `warp()`, `warps(n)` or `block()`",
    label = "reaches beyond the block"
)]
pub trait WithinBlock: Scope {}
impl WithinBlock for Thread {}
impl WithinBlock for Warp {}
impl WithinBlock for Warps {}
impl WithinBlock for Block {}

/// Memory of the calling PE that a put of scope `S` reads: `Sym<[T]>`, `Global<[T]>`, `&SharedSlice<T>`, `&Tile<T, S>`
/// or, at thread scope, a thread's own `&[T]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of `{T}`s at `{S}` scope: give a `Sym<[T]>`, a `Global<[T]>`, within a block a `&SharedSlice<T>`, or at thread scope a `&[T]`",
    label = "not a source of `{T}` here",
    note = "the source has the target's `T`; shared memory is borrowed, and a thread's own memory is known to that thread only"
)]
pub trait Source<T: Pod, S>: sealed::Buffer<T> {}

/// Memory of the calling PE that a get of scope `S` writes: `Sym<[T]>`, `Global<[T]>`, `&SharedSlice<T>`,
/// `&mut Tile<T, S>` or, at thread scope, a thread's own `&mut [T]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of `{T}`s at `{S}` scope: give a `Sym<[T]>`, a `Global<[T]>`, within a block a `&SharedSlice<T>`, or at thread scope a `&mut [T]`",
    label = "not a destination of `{T}` here",
    note = "the destination has the source's `T`; shared memory is borrowed, and a thread's own memory is known to that thread only"
)]
pub trait Destination<T: Pod, S: Scope>: sealed::Buffer<T> {
    /// Joins the scope when the data is there.
    #[doc(hidden)]
    #[inline(always)]
    fn landed<C: Context>(&mut self, scope: Scoped<S, C>) {
        scope.meet();
    }
}

/// What a non-blocking put of scope `S` reads: `Sym<[T]>`, `Global<[T]>`, a thread's own `&[T]` (captured at once), or
/// a `SharedSlice<T>` or `Tile<T, S>`, which it takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be lent to a non-blocking operation at `{S}` scope: pass shared memory by value, its request gives it back",
    label = "not a source of `{T}` that can be lent",
    note = "`Sym<[T]>` and `Global<[T]>` are passed as they are; a thread's own `&[T]` is captured at once, at thread scope"
)]
pub trait LendSource<T: Pod, S>: sealed::Buffer<T> {
    /// What the put gives back.
    type Request;
    /// Makes it.
    #[doc(hidden)]
    fn lend(self) -> Self::Request;
}

/// What a non-blocking get of scope `S` writes: `Sym<[T]>`, `Global<[T]>`, or a `SharedSlice<T>` or `Tile<T, S>`, which
/// it takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be lent to a non-blocking get at `{S}` scope: pass shared memory by value, its request gives it back; for a thread's own array use `get_array_nbi`",
    label = "not a destination of `{T}` that can be lent",
    note = "`Sym<[T]>` and `Global<[T]>` are passed as they are"
)]
pub trait LendDestination<T: Pod, S>: sealed::Buffer<T> {
    /// What the get gives back.
    type Request;
    /// Makes it.
    #[doc(hidden)]
    fn lend(self) -> Self::Request;
}

pub(crate) mod sealed {
    use super::*;

    /// Where a buffer lies.
    #[expect(private_bounds, reason = "sealed: the space is this crate's business")]
    pub trait Buffer<T> {
        /// Its state space.
        type Space: Space;
        /// Whether the bulk engine moves it.
        const ENGINE: bool = false;
        /// Address and elements; `operation` names the caller if the handle is invalid.
        fn resolve(&self, shmem: Shmem, operation: Operation) -> (u64, u64);
        /// Shared-memory address of the barrier on which the engine's loads complete.
        #[inline(always)]
        fn barrier(&self) -> u64 {
            0
        }
        /// The engine loads into it now; `issued` by the calling thread.
        #[inline(always)]
        fn loading(&mut self, issued: bool) {
            let _ = issued;
        }
    }

    impl<T: Pod> Buffer<T> for Sym<[T]> {
        type Space = GlobalSpace;
        #[inline(always)]
        fn resolve(&self, shmem: Shmem, operation: Operation) -> (u64, u64) {
            (shmem.own_address(self.opaque().span(), operation), self.len())
        }
    }
    impl<T: Pod> Buffer<T> for Global<[T]> {
        type Space = GlobalSpace;
        #[inline(always)]
        fn resolve(&self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.address, self.len)
        }
    }
    impl<T: Pod> Buffer<T> for SharedSlice<T> {
        type Space = SharedSpace;
        #[inline(always)]
        fn resolve(&self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.address(), u64::from(self.len()))
        }
    }
    impl<T: Pod, S> Buffer<T> for Tile<T, S> {
        type Space = SharedSpace;
        const ENGINE: bool = true;
        #[inline(always)]
        fn resolve(&self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.address(), u64::from(self.len()))
        }
        #[inline(always)]
        fn barrier(&self) -> u64 {
            Tile::barrier(self)
        }
        #[inline(always)]
        fn loading(&mut self, issued: bool) {
            Tile::loading(self, issued);
        }
    }
    impl<T: Pod> Buffer<T> for [T] {
        type Space = PrivateSpace;
        #[inline(always)]
        fn resolve(&self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.as_ptr() as u64, self.len() as u64)
        }
    }
    impl<T: Pod, const N: usize> Buffer<T> for [T; N] {
        type Space = PrivateSpace;
        #[inline(always)]
        fn resolve(&self, _: Shmem, _: Operation) -> (u64, u64) {
            (self.as_ptr() as u64, N as u64)
        }
    }
    impl<T, B: Buffer<T> + ?Sized> Buffer<T> for &B {
        type Space = B::Space;
        const ENGINE: bool = B::ENGINE;
        #[inline(always)]
        fn resolve(&self, shmem: Shmem, operation: Operation) -> (u64, u64) {
            B::resolve(self, shmem, operation)
        }
    }
    impl<T, B: Buffer<T> + ?Sized> Buffer<T> for &mut B {
        type Space = B::Space;
        const ENGINE: bool = B::ENGINE;
        #[inline(always)]
        fn resolve(&self, shmem: Shmem, operation: Operation) -> (u64, u64) {
            B::resolve(self, shmem, operation)
        }
        #[inline(always)]
        fn barrier(&self) -> u64 {
            B::barrier(self)
        }
        #[inline(always)]
        fn loading(&mut self, issued: bool) {
            B::loading(self, issued);
        }
    }
}

impl<T: Pod, S: Scope> Source<T, S> for Sym<[T]> {}
impl<T: Pod, S: Scope> Source<T, S> for Global<[T]> {}
impl<T: Pod, S: WithinBlock> Source<T, S> for &SharedSlice<T> {}
impl<T: Pod, S: WithinBlock> Source<T, S> for &Tile<T, S> {}
impl<T: Pod> Source<T, Thread> for &[T] {}
impl<T: Pod, const N: usize> Source<T, Thread> for &[T; N] {}

impl<T: Pod, S: Scope> Destination<T, S> for Sym<[T]> {}
impl<T: Pod, S: Scope> Destination<T, S> for Global<[T]> {}
impl<T: Pod, S: WithinBlock> Destination<T, S> for &SharedSlice<T> {}
impl<T: Pod, S: WithinBlock> Destination<T, S> for &mut Tile<T, S> {
    #[inline(always)]
    fn landed<C: Context>(&mut self, scope: Scoped<S, C>) {
        self.loaded(scope);
    }
}
impl<T: Pod> Destination<T, Thread> for &mut [T] {}
impl<T: Pod, const N: usize> Destination<T, Thread> for &mut [T; N] {}

macro_rules! lends {
    ($([$($generics:tt)*] $ty:ty, $scope:ty, $lend:ident => $request:ty, $make:expr;)*) => {
        $(
            impl<T: Pod, $($generics)*> $lend<T, $scope> for $ty {
                type Request = $request;
                #[inline(always)]
                fn lend(self) -> $request {
                    $make(self)
                }
            }
        )*
    };
}
lends! {
    [S: Scope] Sym<[T]>, S, LendSource => Pending, Pending::of;
    [S: Scope] Global<[T]>, S, LendSource => Pending, Pending::of;
    [] &[T], Thread, LendSource => Pending, Pending::of;
    [const N: usize] &[T; N], Thread, LendSource => Pending, Pending::of;
    [S: WithinBlock] SharedSlice<T>, S, LendSource => PutRequest<Self, S>, PutRequest::new;
    [S: WithinBlock] Tile<T, S>, S, LendSource => PutRequest<Self, S>, PutRequest::new;
    [S: Scope] Sym<[T]>, S, LendDestination => Pending, Pending::of;
    [S: Scope] Global<[T]>, S, LendDestination => Pending, Pending::of;
    [S: WithinBlock] SharedSlice<T>, S, LendDestination => GetRequest<Self, S>, GetRequest::new;
    [S: WithinBlock] Tile<T, S>, S, LendDestination => GetRequest<Self, S>, GetRequest::new;
}
