//! Scopes: who performs an operation together. A scope is a value made by the context; operations are its
//! methods, and all threads of the scope call them together with the same arguments.

mod apart;
mod block;
mod grid;
mod thread;
mod warp;
mod warps;

use crate::abi::Operation;
use crate::arch::{bulk, order};
use crate::context::{Collective, Context, KernelContext, MayWait, Shmem};
use crate::fault::{Expired, fail};
use crate::poll::Polled;
use crate::sym::Span;
use crate::team::OnTeam;
use crate::together::Together;
use crate::trace::Recorded;

pub use apart::Apart;
pub use block::Block;
pub use grid::Grid;
pub use thread::Thread;
pub use warp::Warp;
pub use warps::Warps;

/// A context seen from a scope. Made by `shmem.thread()`, `.warp()`, `.warps(n)`, `.block()` and `.grid()`.
#[derive(Clone, Copy, Debug)]
pub struct Scoped<S, C> {
    pub(crate) context: C,
    pub(crate) scope: S,
}

impl<S, C: Context> Scoped<S, C> {
    /// Enters an operation of one thread on PE `pe` of this context, which the emulator is told by its number in the job.
    /// What it returns lives until the operation's end.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub(crate) fn enter_alone(self, what: Operation, offset: u64, bytes: u64, pe: u32) -> Recorded {
        #[cfg(not(target_arch = "nvptx64"))]
        crate::seam::operation(Together::OneThread, what, offset, bytes, self.context.named(pe));
        Recorded::alone(self, what, (offset, bytes), pe)
    }
}

impl<S: Scope, C: Context> Scoped<S, C> {
    #[inline(always)]
    pub(crate) fn new(context: C, scope: S) -> Self {
        Self { context, scope }
    }

    /// Enters an operation of the scope on PE `pe` of this context, which the emulator is told by its number in the job.
    /// What it returns lives until the operation's end.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub(crate) fn enter(self, what: Operation, offset: u64, bytes: u64, pe: u32) -> Recorded {
        #[cfg(not(target_arch = "nvptx64"))]
        crate::seam::operation(S::TOGETHER, what, offset, bytes, self.context.named(pe));
        Recorded::together(self, what, (offset, bytes), pe)
    }

    /// Enters an operation of the scope that names no other PE. What it returns lives until the operation's end.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub(crate) fn enter_here(self, what: Operation, offset: u64, bytes: u64) -> Recorded {
        crate::seam::operation(S::TOGETHER, what, offset, bytes, self.shmem().my_pe());
        Recorded::here(self, what, (offset, bytes))
    }

    /// The initiating context.
    #[inline(always)]
    pub(crate) fn shmem(self) -> Shmem {
        self.context.shmem()
    }

    /// Address here of the copy of `span` that PE `pe` of this context has; ends the kernel thread if there is none.
    #[inline(always)]
    pub(crate) fn remote(self, span: Span, pe: u32, operation: Operation) -> u64 {
        self.shmem().remote_address(span, self.context, pe, operation)
    }

    /// Joins the scope's threads before something that covers what they did: what each has in flight through the
    /// bulk engine is complete first.
    #[inline(always)]
    pub(crate) fn settle(self) {
        let shmem = self.shmem();
        if shmem.has_engine() {
            bulk::wait_stores();
        }
        self.scope.sync(shmem);
    }

    /// The calling thread's number in the scope, from 0.
    #[inline(always)]
    pub fn rank(self) -> u64 {
        self.scope.rank()
    }

    /// How many threads the scope has.
    #[inline(always)]
    pub fn size(self) -> u64 {
        self.scope.size()
    }

    /// Whether the calling thread is the scope's leader (number 0).
    #[inline(always)]
    pub fn is_leader(self) -> bool {
        self.scope.leads()
    }

    /// Joins the scope's threads: what each wrote before is visible to all after. At grid scope and among
    /// [`warps`](Shmem::warps) this is a barrier that polls, bounded by the deadline.
    #[inline(always)]
    #[track_caller]
    pub fn sync(self) {
        crate::seam::access(S::TOGETHER, Operation::Sync);
        let _recorded = Recorded::here(self, Operation::Sync, (0, 0));
        self.meet();
    }

    /// Joins the scope's threads, as a part of an operation.
    #[inline(always)]
    pub(crate) fn meet(self) {
        self.scope.sync(self.shmem());
    }
}

macro_rules! scopes {
    ($context:ty $(, $parameter:ident: $bound:path)?) => {
        impl$(<$parameter: $bound>)? $context {
            /// The calling thread alone.
            #[inline(always)]
            pub fn thread(self) -> Scoped<Thread, Self> {
                Scoped::new(self, Thread)
            }

            /// The calling thread's warp; all its threads call together.
            #[inline(always)]
            pub fn warp(self) -> Scoped<Warp, Self> {
                Scoped::new(self, Warp)
            }

            /// The block's warps in groups of `n`, of which this is the calling thread's; the last group has what is
            /// left. All threads of the *block* call `warps` together, because it prepares what the groups join at;
            /// operations are then called by all threads of a group together. A later call replaces the groups
            /// of an earlier one.
            ///
            /// `n` of 0 ends the kernel with an error record.
            #[inline(always)]
            pub fn warps(self, n: u32) -> Scoped<Warps, Self> {
                Scoped::new(self, Warps::new(self.shmem(), n))
            }

            /// The calling thread's block; all its threads call together.
            #[inline(always)]
            pub fn block(self) -> Scoped<Block, Self> {
                Scoped::new(self, Block)
            }
        }
    };
}
scopes!(Shmem);
scopes!(Collective);
scopes!(OnTeam<C>, C: KernelContext);

/// Grid scope, for kernels whose launch checks that the whole grid is resident. In the prelude.
pub trait GridScope: Context {
    /// All threads of the grid; all of them call together. Takes [`Collective`], or it seen through a
    /// team.
    #[inline(always)]
    fn grid(self) -> Scoped<Grid, Self>
    where
        Self: MayWait,
    {
        Scoped::new(self, Grid)
    }

    /// The blocks of a grid that does one collective operation and nothing else, so that they need not join each other.
    /// The host runtime's own kernels use it.
    #[doc(hidden)]
    #[inline(always)]
    fn apart(self) -> Scoped<Apart, Self>
    where
        Self: MayWait,
    {
        Scoped::new(self, Apart)
    }
}
impl<C: Context> GridScope for C {}

/// One of [`Thread`], [`Warp`], [`Warps`], [`Block`], [`Grid`].
pub trait Scope: Copy + 'static + sealed::Sealed {
    /// How many threads it has at most, as far as that decides how much each has in flight.
    #[doc(hidden)]
    const WIDTH: Width = Width::Many;
    /// Which it is.
    #[doc(hidden)]
    const TOGETHER: Together;
    /// The calling thread's number in the scope.
    #[doc(hidden)]
    fn rank(self) -> u64;
    /// Threads in the scope.
    #[doc(hidden)]
    fn size(self) -> u64;
    /// Whether the calling thread posts for the scope.
    #[doc(hidden)]
    fn leads(self) -> bool;
    /// Whether the calling thread polls: the leader, at grid scope the first thread of each block.
    #[doc(hidden)]
    fn polls(self) -> bool;
    /// Joins the scope.
    #[doc(hidden)]
    fn sync(self, shmem: Shmem);
    /// Joins the scope after a wait by the threads that poll. If one of them gave up, none returns, and the
    /// one whose time ran out reports `expired` of what it saw.
    #[doc(hidden)]
    fn join(self, shmem: Shmem, polled: Polled, expired: impl Expired);
    /// The threads that do a lane's part of a collective operation.
    #[doc(hidden)]
    type Worker: Scope;
    /// Those of the calling thread.
    #[doc(hidden)]
    fn worker(self) -> Self::Worker;
    /// Their number among the scope's, and how many there are.
    #[doc(hidden)]
    #[inline(always)]
    fn lane(self) -> (u32, u32) {
        (0, 1)
    }
    /// Joins the workers, each of which has joined its own threads.
    #[doc(hidden)]
    #[inline(always)]
    fn close(self, _: Shmem) {}
    /// Joins the scope and gives the leader's `value` to all.
    #[doc(hidden)]
    fn share(self, shmem: Shmem, value: u64) -> u64;
    /// Joins the scope and gives the leader's `holds` to all.
    #[doc(hidden)]
    #[inline(always)]
    fn agree(self, shmem: Shmem, holds: bool) -> bool {
        self.share(shmem, holds.into()) != 0
    }
}

/// Classes of scopes by their threads.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One.
    One,
    /// Up to 32.
    Warp,
    /// Any number.
    Many,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Thread {}
    impl Sealed for super::Warp {}
    impl Sealed for super::Warps {}
    impl Sealed for super::Block {}
    impl Sealed for super::Grid {}
    impl Sealed for super::Apart {}
}

/// Ends the calling thread if the wait of its scope was given up.
#[inline(always)]
fn end_if_given_up(shmem: Shmem, given_up: bool, polled: Polled, expired: impl Expired) {
    if given_up {
        match polled {
            Polled::Expired(seen) => fail(shmem, expired.fault(seen)),
            _ => order::exit(),
        }
    }
}
