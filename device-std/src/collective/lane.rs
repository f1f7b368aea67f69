//! A lane of a collective operation: which round it is, and the flags by which the PEs tell each other where they stand.
//!
//! | step | edge |
//! |---|---|
//! | scope barrier | what the scope's threads did before is seen by all of them; the count of the operation before is there |
//! | *ready*: thread `p` does `st.release.sys` of the round to its flag on PE `p`; where all PEs are on one GPU `st.release.gpu` | releases what the scope did before: sources may be read, targets written |
//! | thread `p` polls PE `p`'s flag by `ld.relaxed.sys` until it has the round, then `fence.acquire.sys` (sm_80: `ld.acquire.sys`); scope barrier | acquires what that PE did before |
//! | loads and stores of the PEs' memory | ordered by ready and done |
//! | scope barrier; *done*, as ready | releases what was written; sources are free |
//! | `red.relaxed` on the count | the next operation's barrier, or the end of the kernel, comes between |
//!
//! Flags only grow: a peer that is ahead has set a later round, which says as much. Rounds of different teams in the same
//! slot differ in the upper bits, which grow too, so that nothing is reset when a team is made.
//!
//! What an operation with a root leaves open, that every PE has ended it, a later one asks for: see [`Lane::settle`].

use super::Round;
use crate::abi::collective::{self as area, DONE, FLAG_PAIR, FLAGS, ROOTED, ROOTED_BEFORE, ROUND, ROUNDS};
use crate::abi::{Cause, Cmp, Operation, teams};
use crate::arch::{Add, Semantic, Word};
use crate::context::{MayWait, Shmem};
use crate::fault::Fault;
use crate::poll::{Polled, Until, acquire, poll_until};
use crate::scope::{Scope, Scoped};

/// The bits of a team's handle that tell it from earlier teams of its slot.
const TEAM: u64 = !(u64::MAX >> 24);

/// One worker's view of one operation.
#[derive(Clone, Copy)]
pub(super) struct Lane<W, C> {
    pub(super) worker: Scoped<W, C>,
    pub(super) operation: Operation,
    /// This PE's number in the team, and how many it has.
    pub(super) me: u32,
    pub(super) n: u32,
    /// The worker's number, and how many there are.
    pub(super) lane: u32,
    pub(super) lanes: u32,
    pub(super) round: Round,
    /// Heap offset of the channel.
    channel: u64,
    /// Heap offset of the lane's flags.
    flags: u64,
    /// Heap offset of the channel's packets, and their bytes.
    pub(super) packets: u64,
    pub(super) packet_bytes: u32,
    /// The rounds of the last operation with a root and of the last one before it.
    rooted: (Round, Round),
}

impl<W: Scope, C: MayWait> Lane<W, C> {
    /// Begins an operation of `scoped` on so many lanes, at most as the channel has and the scope has workers; `None` for a
    /// worker that has none. All threads of the scope call it.
    #[inline(always)]
    pub(super) fn begin<S: Scope<Worker = W>>(
        scoped: Scoped<S, C>,
        operation: Operation,
        lanes: u32,
    ) -> Option<Self> {
        scoped.meet();
        let (shmem, meeting) = (scoped.shmem(), scoped.context.meeting());
        let slot = teams::slot(meeting.team);
        let channel = area::channel(slot, meeting.channel, shmem.n_pes());
        let (lane, _) = scoped.scope.lane();
        if lane >= lanes {
            return None;
        }
        // SAFETY: the channel's words in the own heap.
        let (count, last, before) = unsafe {
            let at = shmem.abi.heap_base + channel;
            let load = |word| u64::load_relaxed(at + word);
            (load(ROUNDS), load(ROOTED), load(ROOTED_BEFORE))
        };
        let flags = channel + FLAGS;
        let lane_flags = area::lane_flags(shmem.n_pes());
        Some(Self {
            worker: Scoped::new(scoped.context, scoped.scope.worker()),
            operation,
            me: meeting.me,
            n: scoped.context.pes(),
            lane,
            lanes,
            round: Round((meeting.team & TEAM) | (count / ROUND + 1)),
            channel,
            flags: flags + u64::from(lane) * lane_flags,
            packets: flags + u64::from(area::lanes(slot, shmem.n_pes())) * lane_flags,
            packet_bytes: area::packets(slot, shmem.n_pes()),
            rooted: (Round(last), Round(before)),
        })
    }

    /// Ends an operation of so many rounds, whose last step joined each worker. Of a scope of several workers, those without
    /// a lane come here, too.
    #[inline(always)]
    pub(super) fn end<S: Scope<Worker = W>>(this: Option<Self>, scoped: Scoped<S, C>, rounds: u32) {
        if let Some(lane) = this
            && lane.worker.is_leader()
        {
            // The first adds what the others do not, so that all have read the count before it changes.
            let rest = ROUND * u64::from(rounds) - u64::from(lane.lanes - 1);
            let add = if lane.lane == 0 { rest } else { 1 };
            let count = lane.shmem().abi.heap_base + lane.channel + ROUNDS;
            // SAFETY: the channel's word in the own heap.
            unsafe { u64::add(Semantic::Relaxed, count, add) };
            scoped.ends(lane.operation);
        }
        scoped.scope.close(scoped.shmem());
    }

    #[inline(always)]
    pub(super) fn shmem(self) -> Shmem {
        self.worker.shmem()
    }

    /// The team's PE `pe`'s heap here.
    #[inline(always)]
    pub(super) fn heap(self, pe: u32) -> u64 {
        self.shmem().peer_base(self.worker.context.world_pe(pe))
    }

    /// The own heap.
    #[inline(always)]
    pub(super) fn own_heap(self) -> u64 {
        self.shmem().abi.heap_base
    }

    /// The PE that is `step` after this one, `step` less than the team's PEs.
    #[inline(always)]
    pub(super) fn after(self, step: u32) -> u32 {
        let pe = self.me + step;
        if pe >= self.n { pe - self.n } else { pe }
    }

    /// Tells every PE that this one's memory may be read and written for the operation, and waits for all to say so. All
    /// threads of the worker call it, with nothing left to join.
    #[inline(always)]
    pub(super) fn ready(self) {
        self.release(0);
        self.await_all(0, self.round);
    }

    /// Tells every PE that this one has read and written all that it will, and waits for all to say so. All threads of the
    /// worker call it, and are joined by it.
    #[inline(always)]
    pub(super) fn done(self) {
        self.worker.meet();
        self.release(DONE);
        self.await_all(DONE, self.round);
    }

    /// Ends an operation in which some PE has not heard of some other: every PE is told, and asks before the next one.
    /// On one lane.
    #[inline(always)]
    pub(super) fn done_with_root(self) {
        self.worker.meet();
        // SAFETY: as `tell` asks.
        self.tell(DONE, |flag| unsafe { u64::store_relaxed(flag, self.round.0) });
        if self.worker.is_leader() {
            let channel = self.own_heap() + self.channel;
            // SAFETY: the channel's words in the own heap; the lane is the only one.
            unsafe {
                u64::store_relaxed(channel + ROOTED, self.round.0);
                u64::store_relaxed(channel + ROOTED_BEFORE, self.rooted.0.0);
            }
        }
    }

    /// Before packets are sent in place of those of the round before the last: waits until every PE has taken these.
    ///
    /// | the last operation | the one before it | |
    /// |---|---|---|
    /// | without a root | any | every PE has heard of every PE in the last one, and so knows that each has ended the one before it |
    /// | with a root | with one | each has told when it had ended that one |
    /// | with a root | without | each has told when it had ended the last one |
    ///
    /// So of many operations with a root each is under way while the one before it ends. All threads of the worker call it.
    #[inline(always)]
    pub(super) fn settle(self) {
        let (last, before) = self.rooted;
        if last.0 + 1 == self.round.0 {
            // Operations with a root have one lane.
            let at = Self { flags: self.channel + FLAGS, ..self };
            at.await_all(DONE, if before.0 + 1 == last.0 { before } else { last });
        }
    }

    /// Sets the own flags of the other PEs, and releases what the worker did before.
    #[inline(always)]
    fn release(self, which: u64) {
        // SAFETY: as `tell` asks.
        self.tell(which, |flag| unsafe { self.shmem().tell(flag, self.round.0) });
    }

    /// Has `store` write the own flag of each other PE, of which it is given the address: a mapped, aligned word that only atomic
    /// accesses reach.
    #[inline(always)]
    fn tell(self, which: u64, store: impl Fn(u64)) {
        let mine = self.flag(which, self.me);
        self.each_other(|pe| store(self.heap(pe) + mine));
    }

    /// Calls `f` for each other PE, by one of the worker's threads.
    #[inline(always)]
    pub(super) fn each_other(self, f: impl Fn(u32)) {
        let (mut pe, step) = (self.worker.rank() as u32, self.worker.size() as u32);
        while pe < self.n {
            if pe != self.me {
                f(pe);
            }
            pe += step;
        }
    }

    /// Waits until the flags of all other PEs have the round.
    #[inline(always)]
    fn await_all(self, which: u64, round: Round) {
        let shmem = self.shmem();
        let (mut pe, step) = (self.worker.rank() as u32, self.worker.size() as u32);
        let mut until = Until::within(shmem.abi.deadline);
        let (mut polled, mut missing) = (Polled::Held, 0);
        while pe < self.n && matches!(polled, Polled::Held) {
            if pe != self.me {
                let at = self.flag(which, pe);
                polled = poll_until(shmem, &mut until, || {
                    // SAFETY: a flag in the own area.
                    let seen = unsafe { u64::load_relaxed(shmem.abi.heap_base + at) };
                    (seen >= round.0, seen)
                });
                missing = pe;
                // SAFETY: as above.
                unsafe { acquire::<u64>(shmem.abi.heap_base + at) };
            }
            pe += step;
        }
        self.join(polled, missing, self.flag(which, missing), round);
    }

    #[inline(always)]
    fn flag(self, which: u64, pe: u32) -> u64 {
        self.flags + which + FLAG_PAIR * u64::from(pe)
    }

    /// Joins the worker's threads, of which this one has `polled` the word at `offset` for `round` from PE `pe`.
    #[inline(always)]
    pub(super) fn join(self, polled: Polled, pe: u32, offset: u64, round: Round) {
        let peer = self.worker.context.world_pe(pe);
        let fault = Fault { peer, ..Fault::new(Cause::Deadline, self.operation) };
        let fault = Fault { cmp: Cmp::Ge as u32, offset, expected: round.0, ..fault };
        self.worker.scope.join(self.shmem(), polled, fault);
    }
}
