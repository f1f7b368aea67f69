//! Ordering and completion: `fence`, `quiet`, `flush`, and the barriers of PEs.
//!
//! | operation | at the caller | at the targets |
//! |---|---|---|
//! | [`fence`](Scoped::fence), [`pe_fence`](Scoped::pe_fence) | – | what the scope did before arrives before what its leader does after |
//! | [`flush`](Scoped::flush) | sources may be reused | – |
//! | [`quiet`](Scoped::quiet), [`pe_quiet`](Scoped::pe_quiet) | sources may be reused, destinations are valid | all is visible |
//! | [`barrier_all`](Scoped::barrier_all) | as `quiet` | as `quiet`, and every PE has come |
//! | [`sync_all`](Scoped::sync_all) | – | the stores of every PE are visible to all, and every PE has come |
//! | [`team_barrier`](Scoped::team_barrier), [`team_sync`](Scoped::team_sync) | as `barrier_all`, `sync_all` | the same among the PEs of a team |
//!
//! | step | thread | edge |
//! |---|---|---|
//! | `cp.async.bulk.wait_group 0` | all | the bulk engine's stores are no program order: only their completion is (PTX ISA 9.7.9.25) |
//! | scope barrier | all | joins them to the leader |
//! | `fence.sc.sys` | leader | acquire-release would let a later get pass an earlier put, and two PEs' puts to one place be delivered in different orders (PTX ISA 8.10.6) |
//! | scope barrier; not of `fence` | all | nobody goes on before |
//!
//! In `barrier_all` and `team_barrier` each thread that tells another PE fences in the leader's place, before it tells.

use crate::abi::{Operation, control};
use crate::arch::{bulk, order};
use crate::barrier::{Words, pes_barrier};
use crate::context::{Context, MayWait};
use crate::meeting::Meeting;
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::sym::Span;

/// The channel by which the checker knows the barriers of all PEs from those of teams.
const ALL_PES: u32 = u32::MAX;

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Orders delivery: what this scope put, stored, signalled or updated before reaches each PE before what
    /// the scope's *leader* sends there afterwards. Other threads of the scope use a strong signal. It orders no gets.
    /// All threads of the scope call it. (OpenSHMEM 1.6, 9.12.1.)
    #[inline(always)]
    #[track_caller]
    pub fn fence(self) {
        let _recorded = self.enter_here(Operation::Fence, 0, 0);
        self.order();
    }

    /// As [`fence`](Self::fence), of what goes to `pe` only.
    #[inline(always)]
    #[track_caller]
    pub fn pe_fence(self, pe: u32) {
        let _recorded = self.enter(Operation::PeFence, 0, 0, pe);
        self.remote(Span::START, pe, Operation::PeFence);
        self.order();
    }

    /// Completes: when it returns, everything that this scope put, stored, signalled or updated before is
    /// visible at its target, what it got is there, and all sources may be reused. All threads of the scope call it.
    /// (OpenSHMEM 1.6, 9.12.2.)
    #[inline(always)]
    #[track_caller]
    pub fn quiet(self) {
        let _recorded = self.enter_here(Operation::Quiet, 0, 0);
        self.order();
        self.meet();
    }

    /// As [`quiet`](Self::quiet), of what went to or came from `pe` only. (OpenSHMEM 1.6, 9.12.3.)
    #[inline(always)]
    #[track_caller]
    pub fn pe_quiet(self, pe: u32) {
        let _recorded = self.enter(Operation::PeQuiet, 0, 0, pe);
        self.remote(Span::START, pe, Operation::PeQuiet);
        self.order();
        self.meet();
    }

    /// When it returns, the sources of all non-blocking puts of this scope may be reused. It says nothing of their
    /// targets, and does not complete gets. All threads of the scope call it.
    #[inline(always)]
    #[track_caller]
    pub fn flush(self) {
        let _recorded = self.enter_here(Operation::Flush, 0, 0);
        if self.shmem().has_engine() {
            bulk::wait_reads();
        }
        self.meet();
    }

    /// Quiet, then waits until every PE of the job has called it: afterwards each sees what all did before. On each PE
    /// one thread, warp, block or grid at a time may be in it, all threads of it together. Through a team it is
    /// the job's barrier all the same. (OpenSHMEM 1.6, 9.10.1.)
    ///
    /// Does not return if the deadline passes or a peer fails.
    #[inline(always)]
    #[track_caller]
    pub fn barrier_all(self)
    where
        C: MayWait,
    {
        let _recorded = self.enter_here(Operation::BarrierAll, 0, 0);
        self.settle();
        self.all_pes(Operation::BarrierAll, true);
    }

    /// Waits until every PE of the job has called it, and makes the *stores* of each visible to all: those to its own
    /// memory and through [`ptr`](crate::Shmem::ptr). It does not complete puts, gets or atomics. Callers as those of
    /// [`barrier_all`](Self::barrier_all), with which it shares its turn. (OpenSHMEM 1.6, 9.10.3.)
    ///
    /// Does not return if the deadline passes or a peer fails.
    #[inline(always)]
    #[track_caller]
    pub fn sync_all(self)
    where
        C: MayWait,
    {
        let _recorded = self.enter_here(Operation::SyncAll, 0, 0);
        self.meet();
        self.all_pes(Operation::SyncAll, false);
    }

    /// As [`barrier_all`](Self::barrier_all), over the PEs of the team through which the scope is seen; without one over
    /// all PEs, beside `barrier_all`. On each PE one thread, warp, block or grid at a time may be in it for a team and
    /// [channel](crate::OnTeam::channel), all threads of it together. The quiet before it is over all PEs.
    /// (OpenSHMEM 1.6, 9.10.1: there a quiet of the team's own contexts.)
    ///
    /// Does not return if the deadline passes or a peer fails.
    #[inline(always)]
    #[track_caller]
    pub fn team_barrier(self)
    where
        C: MayWait,
    {
        let _recorded = self.enter_here(Operation::TeamBarrier, 0, 0);
        self.settle();
        self.team_pes(Operation::TeamBarrier, true);
    }

    /// As [`sync_all`](Self::sync_all), over the PEs of the team. Callers as those of
    /// [`team_barrier`](Self::team_barrier), with which it shares its turn. (OpenSHMEM 1.6, 9.10.3, `shmem_team_sync`.)
    ///
    /// Does not return if the deadline passes or a peer fails.
    #[inline(always)]
    #[track_caller]
    pub fn team_sync(self)
    where
        C: MayWait,
    {
        let _recorded = self.enter_here(Operation::TeamSync, 0, 0);
        self.meet();
        self.team_pes(Operation::TeamSync, false);
    }

    /// Joins the scope, and fences by its leader.
    #[inline(always)]
    fn order(self) {
        self.settle();
        if self.is_leader() {
            order::fence_sc_sys();
        }
    }

    /// The scope goes through the barrier of all PEs, which completes what came before, or not.
    #[inline(always)]
    fn all_pes(self, operation: Operation, completes: bool) {
        let shmem = self.shmem();
        let words = Words { epoch: control::BARRIER, flags: control::BARRIER_FLAGS, me: shmem.my_pe() };
        self.meet_pes(shmem, (operation, Meeting { channel: ALL_PES, ..shmem.meeting() }), words, completes);
    }

    /// As [`all_pes`](Self::all_pes), of the barrier of the context's PEs.
    #[inline(always)]
    fn team_pes(self, operation: Operation, completes: bool) {
        let meeting = self.context.meeting();
        let epoch = meeting.words();
        let words = Words { epoch, flags: epoch + control::TEAM_FLAGS, me: meeting.me };
        self.meet_pes(self.context, (operation, meeting), words, completes);
    }

    #[inline(always)]
    fn meet_pes<D: Context>(
        self,
        context: D,
        (operation, meeting): (Operation, Meeting),
        words: Words,
        completes: bool,
    ) {
        if self.is_leader() {
            seam::collective(operation, context, meeting, || None);
        }
        pes_barrier(self.scope, context, operation, words, completes);
        if self.is_leader() {
            seam::collective_over(operation, context, meeting);
        }
    }
}
