//! `put_signal`.
//!
//! | step | thread | edge |
//! |---|---|---|
//! | scope barrier | all | what any thread wrote to the source is what is sent |
//! | weak vector loads and stores, or the bulk engine | all, or the leader | – |
//! | the bulk engine's stores are complete; scope barrier | all | all stores reach the leader |
//! | `st.release.sys` / `red.release.sys.add` of the signal | leader | whoever acquires the signal sees the data |

use super::buffer::sealed::Buffer;
use super::{LendSource, Source, bytes_of};
use crate::abi::Operation;
use crate::context::Context;
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::signal::{Signal, SignalOp, release};
use crate::sym::{Data, Sym};

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Writes `source` to `target` on `pe`, then updates `signal` there: whoever sees the new value sees the
    /// data. It covers *its own* data only; two of them in flight are unordered, so a double buffer has one
    /// signal per slot. With zero elements it still signals. As [`put`](Self::put) otherwise.
    /// (OpenSHMEM 1.6, 9.8.3.)
    #[inline(always)]
    #[track_caller]
    pub fn put_signal<T: Data>(
        self,
        target: Sym<[T]>,
        source: impl Source<T, S>,
        signal: Sym<Signal>,
        op: SignalOp,
        pe: u32,
    ) {
        self.put_then_signal(target, &source, (signal, op), pe, Operation::PutSignal);
    }

    /// As [`put_signal`](Self::put_signal), but the source is in use as that of a [`put_nbi`](Self::put_nbi): until
    /// [`flush`](Self::flush), [`quiet`](Self::quiet) or a barrier of the scope. (OpenSHMEM 1.6, 9.8.4.)
    #[inline(always)]
    #[track_caller]
    pub fn put_signal_nbi<T: Data, B: LendSource<T, S>>(
        self,
        target: Sym<[T]>,
        source: B,
        signal: Sym<Signal>,
        op: SignalOp,
        pe: u32,
    ) -> B::Request {
        self.put_then_signal(target, &source, (signal, op), pe, Operation::PutSignalNbi);
        source.lend()
    }

    #[inline(always)]
    #[track_caller]
    fn put_then_signal<T: Data, B: Buffer<T>>(
        self,
        target: Sym<[T]>,
        source: &B,
        (signal, op): (Sym<Signal>, SignalOp),
        pe: u32,
        operation: Operation,
    ) {
        let _recorded = self.enter(operation, target.offset(), bytes_of(target), pe);
        seam::with(op.number());
        let word = self.remote(signal.span(), pe, operation);
        self.put_data(target, source, pe, operation);
        self.settle();
        if self.is_leader() {
            release(word, op);
        }
    }
}
