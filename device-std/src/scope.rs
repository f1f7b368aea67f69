//! Scopes: who performs an operation together. A scope is a value made by the context; operations are its
//! methods, and all threads of the scope call them together with the same arguments.

use crate::abi::{Cause, Operation};
use crate::arch::{order, thread, warp};
use crate::barrier::{grid_barrier, grid_word};
use crate::context::{Collective, Context, Shmem};
use crate::fault::{Fault, fail};
use crate::poll::Polled;
use crate::{thread as indices, warp as lanes};
use core::marker::PhantomData;

/// A context seen from a scope. Made by `shmem.thread()`, `.warp()`, `.block()` and `.grid()`.
#[derive(Clone, Copy, Debug)]
pub struct Scoped<S, C> {
    context: C,
    scope: PhantomData<S>,
}

impl<S: Scope, C: Context> Scoped<S, C> {
    #[inline(always)]
    pub(crate) fn new(context: C) -> Self {
        Self { context, scope: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn context(self) -> C {
        self.context
    }

    /// The calling thread's number in the scope, from 0.
    #[inline(always)]
    pub fn rank(self) -> u64 {
        S::rank()
    }

    /// How many threads the scope has.
    #[inline(always)]
    pub fn size(self) -> u64 {
        S::size()
    }

    /// Whether the calling thread is the scope's leader (number 0).
    #[inline(always)]
    pub fn is_leader(self) -> bool {
        S::leads()
    }

    /// Joins the scope's threads: what each wrote before is visible to all after. At grid scope this is the
    /// grid barrier, bounded by the deadline.
    #[inline(always)]
    pub fn sync(self) {
        S::sync(self.context.shmem());
    }
}

macro_rules! scopes {
    ($context:ty) => {
        impl $context {
            /// The calling thread alone.
            #[inline(always)]
            pub fn thread(self) -> Scoped<Thread, Self> {
                Scoped::new(self)
            }

            /// The calling thread's warp; all its threads call together.
            #[inline(always)]
            pub fn warp(self) -> Scoped<Warp, Self> {
                Scoped::new(self)
            }

            /// The calling thread's block; all its threads call together.
            #[inline(always)]
            pub fn block(self) -> Scoped<Block, Self> {
                Scoped::new(self)
            }
        }
    };
}
scopes!(Shmem);
scopes!(Collective);

impl Collective {
    /// All threads of the grid; all of them call together.
    #[inline(always)]
    pub fn grid(self) -> Scoped<Grid, Self> {
        Scoped::new(self)
    }
}

/// One of [`Thread`], [`Warp`], [`Block`], [`Grid`].
pub trait Scope: Copy + 'static + sealed::Sealed {
    /// The calling thread's number in the scope.
    #[doc(hidden)]
    fn rank() -> u64;
    /// Threads in the scope.
    #[doc(hidden)]
    fn size() -> u64;
    /// Whether the calling thread posts for the scope.
    #[doc(hidden)]
    fn leads() -> bool;
    /// Whether the calling thread polls: the leader, at grid scope the first thread of each block.
    #[doc(hidden)]
    fn polls() -> bool;
    /// Joins the scope.
    #[doc(hidden)]
    fn sync(shmem: Shmem);
    /// Joins the scope after a wait by the threads that poll. If one of them gave up, none returns, and the
    /// one whose time ran out reports `expired` of what it saw.
    #[doc(hidden)]
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault);
    /// Joins the scope (each block at grid scope) and tells everyone whether any `predicate` was true.
    #[doc(hidden)]
    fn any(predicate: bool) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Thread {}
    impl Sealed for super::Warp {}
    impl Sealed for super::Block {}
    impl Sealed for super::Grid {}
}

/// One thread.
#[derive(Clone, Copy, Debug)]
pub struct Thread;

/// The threads of one warp: 32, or what is left of the block in its last warp.
#[derive(Clone, Copy, Debug)]
pub struct Warp;

/// The threads of one block.
#[derive(Clone, Copy, Debug)]
pub struct Block;

/// The threads of all blocks of the launch. Only on [`Collective`].
#[derive(Clone, Copy, Debug)]
pub struct Grid;

impl Scope for Thread {
    #[inline(always)]
    fn rank() -> u64 {
        0
    }
    #[inline(always)]
    fn size() -> u64 {
        1
    }
    #[inline(always)]
    fn leads() -> bool {
        true
    }
    #[inline(always)]
    fn polls() -> bool {
        true
    }
    #[inline(always)]
    fn sync(_: Shmem) {}
    #[inline(always)]
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
        end_if_given_up(shmem, !matches!(polled, Polled::Held), polled, expired);
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        predicate
    }
}

impl Scope for Warp {
    #[inline(always)]
    fn rank() -> u64 {
        u64::from(indices::in_block() & 31)
    }
    #[inline(always)]
    fn size() -> u64 {
        u64::from(lanes::size())
    }
    #[inline(always)]
    fn leads() -> bool {
        indices::in_block() & 31 == 0
    }
    #[inline(always)]
    fn polls() -> bool {
        Self::leads()
    }
    #[inline(always)]
    fn sync(_: Shmem) {
        warp::sync(lanes::mask());
    }
    #[inline(always)]
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
        end_if_given_up(shmem, Self::any(!matches!(polled, Polled::Held)), polled, expired);
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        // The vote alone does not order memory; the warp barrier does (PTX ISA 9.7.13.4).
        let any = warp::any(lanes::mask(), predicate);
        warp::sync(lanes::mask());
        any
    }
}

impl Scope for Block {
    #[inline(always)]
    fn rank() -> u64 {
        u64::from(indices::in_block())
    }
    #[inline(always)]
    fn size() -> u64 {
        u64::from(indices::per_block())
    }
    #[inline(always)]
    fn leads() -> bool {
        indices::in_block() == 0
    }
    #[inline(always)]
    fn polls() -> bool {
        Self::leads()
    }
    #[inline(always)]
    fn sync(_: Shmem) {
        thread::block_barrier();
    }
    #[inline(always)]
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
        end_if_given_up(shmem, Self::any(!matches!(polled, Polled::Held)), polled, expired);
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        thread::block_barrier_or(predicate)
    }
}

impl Scope for Grid {
    #[inline(always)]
    fn rank() -> u64 {
        u64::from(indices::block()) * u64::from(indices::per_block()) + u64::from(indices::in_block())
    }
    #[inline(always)]
    fn size() -> u64 {
        u64::from(indices::blocks()) * u64::from(indices::per_block())
    }
    #[inline(always)]
    fn leads() -> bool {
        indices::block() == 0 && indices::in_block() == 0
    }
    #[inline(always)]
    fn polls() -> bool {
        indices::in_block() == 0
    }
    #[inline(always)]
    fn sync(shmem: Shmem) {
        thread::block_barrier();
        let polled = if Self::polls() { grid_barrier(shmem) } else { Polled::Held };
        Block::join(shmem, polled, |seen| Fault {
            peer: shmem.my_pe(),
            offset: grid_word(shmem),
            expected: u64::from(indices::blocks()),
            seen,
            ..Fault::new(Cause::Deadline, Operation::GridSync)
        });
    }
    #[inline(always)]
    fn join(shmem: Shmem, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
        Block::join(shmem, polled, expired);
        Self::sync(shmem);
    }
    #[inline(always)]
    fn any(predicate: bool) -> bool {
        thread::block_barrier_or(predicate)
    }
}

/// Ends the calling thread if the wait of its scope was given up.
#[inline(always)]
fn end_if_given_up(shmem: Shmem, given_up: bool, polled: Polled, expired: impl FnOnce(u64) -> Fault) {
    if given_up {
        match polled {
            Polled::Expired(seen) => fail(shmem, expired(seen)),
            _ => order::exit(),
        }
    }
}
