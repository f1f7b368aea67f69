//! Signals: 64-bit words in symmetric memory that one PE sets and another waits for.
//!
//! A *strong* signal ([`signal`](crate::Scoped::signal)) covers the scope's whole past: its earlier puts to
//! that PE, and its own loads and stores. A *weak* one ([`signal_weak`](crate::Scoped::signal_weak)) orders
//! nothing by itself; after a [`fence`](crate::Scoped::fence) of the same thread it is as good as a strong one.
//!
//! | step | thread | edge |
//! |---|---|---|
//! | puts, stores, loads | every thread of the scope | before the scope's barrier |
//! | scope barrier | all | joins them to the leader |
//! | `st.release.sys` or `red.release.sys.add` | leader | release of all of the above (PTX ISA 8.8) |
//! | `ld.relaxed.sys` until true, then `fence.acquire.sys` (sm_80: `ld.acquire.sys`) | waiter's leader | acquire |
//! | scope barrier | waiter's scope | joins the others to it |

use crate::abi::Operation;
use crate::arch::{Add, Semantic, Word};
use crate::context::{Context, Shmem};
use crate::scope::{Scope, Scoped, Thread};
use crate::seam;
use crate::sym::{Sym, Symmetric, sealed};

/// A signal word. Only signal operations, waits and tests reach it: a put cannot write one.
#[derive(Debug)]
pub enum Signal {}

impl sealed::Sealed for Signal {}
impl Symmetric for Signal {
    type Len = ();
    const ELEMENT_BYTES: u64 = 8;
}

/// How a signal changes its word.
///
/// One writer per word may `Set`; several may `Add`. The two must not be mixed on one word (OpenSHMEM 1.6,
/// 9.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalOp {
    /// Stores the value.
    Set(u64),
    /// Adds the value, wrapping.
    Add(u64),
}

impl SignalOp {
    /// Tells different updates apart.
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Set(value) => value,
            Self::Add(value) => !value,
        }
    }
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Updates `signal` on `pe` (strong): whoever sees the new value sees everything that this scope did
    /// before. All threads of the scope call it; its leader sends one update.
    #[inline(always)]
    #[track_caller]
    pub fn signal(self, signal: Sym<Signal>, op: SignalOp, pe: u32) {
        let _recorded = self.enter(Operation::Signal, signal.offset(), 8, pe);
        seam::with(op.number());
        let address = self.remote(signal.opaque().span(), pe, Operation::Signal);
        self.settle();
        if self.scope.leads() {
            release(address, op);
        }
    }

    /// Updates `signal` on `pe` (weak): atomic, but it orders nothing. All threads of the scope call it; its
    /// leader sends one update. The scope is not joined.
    #[inline(always)]
    #[track_caller]
    pub fn signal_weak(self, signal: Sym<Signal>, op: SignalOp, pe: u32) {
        let _recorded = self.enter(Operation::SignalWeak, signal.offset(), 8, pe);
        seam::with(op.number());
        let address = self.remote(signal.span(), pe, Operation::SignalWeak);
        if self.scope.leads() {
            match op {
                // SAFETY: a mapped, aligned signal word; only atomic accesses reach it.
                SignalOp::Set(value) => unsafe { u64::store_relaxed(address, value) },
                // SAFETY: as above.
                SignalOp::Add(value) => unsafe { u64::add(Semantic::Relaxed, address, value) },
            }
        }
    }
}

impl<C: Context> Scoped<Thread, C> {
    /// The value of this PE's own `signal` now. Orders nothing: to act on it, wait or test.
    #[inline(always)]
    #[track_caller]
    pub fn signal_fetch(self, signal: Sym<Signal>) -> u64 {
        let shmem: Shmem = self.shmem();
        let _recorded = self.enter_here(Operation::SignalFetch, signal.offset(), 8);
        let address = shmem.own_address(signal.span(), Operation::SignalFetch);
        // SAFETY: a mapped, aligned signal word; only atomic accesses reach it.
        unsafe { u64::load_relaxed(address) }
    }
}

/// The leader's releasing update.
#[inline(always)]
pub(crate) fn release(address: u64, op: SignalOp) {
    match op {
        // SAFETY: the address of a mapped, aligned signal word; only atomic accesses reach it.
        SignalOp::Set(value) => unsafe { u64::store_release(address, value) },
        // SAFETY: as above.
        SignalOp::Add(value) => unsafe { u64::add(Semantic::Release, address, value) },
    }
}
