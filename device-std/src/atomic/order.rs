//! How an atomic is ordered with what else its thread does.

use crate::arch::Semantic;
use crate::context::Context;
use crate::scope::{Scoped, Thread};

/// Who does atomics: one [`Thread`], relaxed, or one that asked for an order.
#[diagnostic::on_unimplemented(
    message = "atomics are done by one thread: `{Self}` has none, use `shmem.thread()`",
    label = "not one thread"
)]
pub trait AtomicOrder: Copy + sealed::Order {}

/// An order that an operation which only reads can have: relaxed or acquire.
#[diagnostic::on_unimplemented(
    message = "`atomic_fetch` writes nothing, so it cannot have the order `{Self}`: use `acquire()` or none",
    label = "neither relaxed nor acquire"
)]
pub trait ReadOrder: AtomicOrder {}

/// An order that an operation which returns nothing can have: relaxed or release.
#[diagnostic::on_unimplemented(
    message = "an atomic that returns nothing cannot have the order `{Self}`: use `release()`, or the form that fetches",
    label = "neither relaxed nor release"
)]
pub trait WriteOrder: AtomicOrder {}

/// What the thread does after the atomic comes after it: see [`acquire`](Scoped::acquire).
#[derive(Clone, Copy, Debug)]
pub struct Acquire;
/// What the thread did before the atomic is visible first: see [`release`](Scoped::release).
#[derive(Clone, Copy, Debug)]
pub struct Release;
/// [`Acquire`] and [`Release`]: see [`acq_rel`](Scoped::acq_rel).
#[derive(Clone, Copy, Debug)]
pub struct AcqRel;

impl AtomicOrder for Thread {}
impl AtomicOrder for Acquire {}
impl AtomicOrder for Release {}
impl AtomicOrder for AcqRel {}
impl ReadOrder for Thread {}
impl ReadOrder for Acquire {}
impl WriteOrder for Thread {}
impl WriteOrder for Release {}

impl<C: Context> Scoped<Thread, C> {
    /// This thread, for atomics that acquire: who reads what a releasing update wrote sees what was done before that.
    #[inline(always)]
    pub fn acquire(self) -> Scoped<Acquire, C> {
        Scoped { context: self.context, scope: Acquire }
    }

    /// This thread, for atomics that release: whoever acquires what they wrote sees what this thread did before, its
    /// stores, puts and loads, and what it had itself acquired. Threads of a larger scope are covered by a
    /// [`sync`](Scoped::sync) of that scope before.
    #[inline(always)]
    pub fn release(self) -> Scoped<Release, C> {
        Scoped { context: self.context, scope: Release }
    }

    /// This thread, for atomics that acquire and release.
    #[inline(always)]
    pub fn acq_rel(self) -> Scoped<AcqRel, C> {
        Scoped { context: self.context, scope: AcqRel }
    }
}

mod sealed {
    use super::*;

    /// The order as the arch layer knows it.
    pub trait Order {
        /// Of a read-modify-write.
        const SEMANTIC: Semantic;
        /// Of a load.
        const ACQUIRES: bool = matches!(Self::SEMANTIC, Semantic::Acquire | Semantic::AcqRel);
        /// Of a store.
        const RELEASES: bool = matches!(Self::SEMANTIC, Semantic::Release | Semantic::AcqRel);
    }
    impl Order for Thread {
        const SEMANTIC: Semantic = Semantic::Relaxed;
    }
    impl Order for Acquire {
        const SEMANTIC: Semantic = Semantic::Acquire;
    }
    impl Order for Release {
        const SEMANTIC: Semantic = Semantic::Release;
    }
    impl Order for AcqRel {
        const SEMANTIC: Semantic = Semantic::AcqRel;
    }
}
