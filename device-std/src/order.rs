//! Ordering and completion: `fence`, `quiet`, `barrier_all`.
//!
//! On the fast path the fence is `fence.sc.sys` for both: acquire-release would let a later get pass an
//! earlier put, and lets two PEs' puts to one place be delivered in different orders.

use crate::abi::Operation;
use crate::arch::order;
use crate::barrier::{BarrierRound, all_pes_barrier};
use crate::context::{Context, MayWait};
use crate::poll::Polled;
use crate::scope::{Scope, Scoped};
use crate::seam;

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Orders delivery: what this scope put, stored, signalled or updated before reaches each PE before what
    /// the scope's *leader* sends there afterwards. Other threads of the scope use a strong signal. All
    /// threads of the scope call it. (OpenSHMEM 1.6, 9.12.1.)
    #[inline(always)]
    #[track_caller]
    pub fn fence(self) {
        let shmem = self.shmem();
        seam::operation(Operation::Fence, 0, 0, shmem.my_pe());
        self.settle();
        if self.scope.leads() {
            order::fence_sc_sys();
        }
    }

    /// Completes: when it returns, everything that this scope put, stored, signalled or updated before is
    /// visible at its target, and all sources may be reused. All threads of the scope call it.
    /// (OpenSHMEM 1.6, 9.12.2.)
    #[inline(always)]
    #[track_caller]
    pub fn quiet(self) {
        let shmem = self.shmem();
        seam::operation(Operation::Quiet, 0, 0, shmem.my_pe());
        self.settle();
        if self.scope.leads() {
            order::fence_sc_sys();
        }
        self.settle();
    }

    /// Quiet, then waits until every PE has called it: afterwards each sees what all did before. On each PE
    /// one thread, warp, block or grid at a time may be in it, all threads of it together.
    /// (OpenSHMEM 1.6, 9.10.1.)
    ///
    /// Does not return if the deadline passes or a peer fails.
    #[inline(always)]
    #[track_caller]
    pub fn barrier_all(self)
    where
        C: MayWait,
    {
        let shmem = self.shmem();
        seam::operation(Operation::BarrierAll, 0, 0, shmem.my_pe());
        self.settle();
        let (polled, round) =
            if self.scope.leads() { all_pes_barrier(shmem) } else { (Polled::Held, BarrierRound::default()) };
        self.scope.join(shmem, polled, |seen| round.fault(seen));
    }
}
