//! The rounds in which a block sends and applies batches.
//!
//! | step of a round | threads |
//! |---|---|
//! | look: which batch has come, which can go | owners |
//! | join; whoever cannot go on ends the block here, and nowhere else | all |
//! | apply what has come, write what goes into the slots; join | all |
//! | close: tell the senders and the receivers | owners |
//! | vote whether somebody waits for more; if nothing moved, owners poll | all |

use super::UpdateOp;
use super::buffer::{FROM_IT, Peer, TO_IT};
use super::entry::Carried;
use super::inbox::{COUNT, LAST, PRESENT};
use super::state::Updates;
use crate::abi::{Cause, Cmp, Operation};
use crate::arch::{Word, atomic, order};
use crate::atomic::AtomicWord;
use crate::context::MayWait;
use crate::fault::{Expired, Fault};
use crate::poll::{Polled, Until, poll_until};
use crate::scope::Scope;
use core::mem::offset_of;

const FILL: usize = offset_of!(Peer, fill);
const READY: usize = offset_of!(Peer, ready);
const GO: usize = offset_of!(Peer, go);
const SENT: usize = offset_of!(Peer, sent);
const APPLIED: usize = offset_of!(Peer, applied);
const ENDED: usize = offset_of!(Peer, ended);

/// Why a thread cannot go on, and the PE that it is about. All else that its report says is looked up when it is written.
#[derive(Clone, Copy)]
pub(super) struct Trouble {
    pub(super) cause: Cause,
    pub(super) pe: u32,
}

/// The report of a [`Trouble`].
struct Late<'u, U> {
    trouble: Trouble,
    updates: &'u U,
    finishing: bool,
}

impl<T: AtomicWord, O: UpdateOp<T>, C: MayWait, const BATCH: usize, const PES: usize> Expired
    for Late<'_, Updates<T, O, C, BATCH, PES>>
{
    #[inline(always)]
    fn fault(self, seen: u64) -> Fault {
        let Self { trouble: Trouble { cause, pe }, updates, finishing } = self;
        let context = updates.scope.context;
        let peer = context.named(pe);
        let (offset, expected) = match cause {
            Cause::PeOutOfRange => (updates.offset, context.pes().into()),
            Cause::IndexOutOfRange => (updates.offset, updates.len),
            _ => {
                let applied = updates.memory.get(pe, APPLIED);
                let (at, expected) = if updates.wants(pe, finishing) {
                    (updates.shape.taken(peer), updates.memory.get(pe, SENT).wrapping_sub(1))
                } else {
                    (updates.shape.arrived(peer, applied & 1), applied.wrapping_add(1))
                };
                (updates.part + at, expected.into())
            }
        };
        let (operation, cmp) = (Operation::Updates, Cmp::Ge as u32);
        Fault { cause, operation, cmp, peer, offset, expected, seen }
    }
}

impl<T: AtomicWord, O: UpdateOp<T>, C: MayWait, const BATCH: usize, const PES: usize>
    Updates<T, O, C, BATCH, PES>
{
    /// Rounds until every full bin has been sent; if `finishing`, until every bin has been and the last batch of each PE has
    /// been applied. `polled` and `trouble` say whether the calling thread can go on at all.
    #[inline(always)]
    pub(super) fn serve(&mut self, finishing: bool, mut polled: Polled, mut trouble: Trouble) {
        let shmem = self.scope.shmem();
        let deadline = shmem.abi.deadline;
        let mut until = Until::within(deadline);
        loop {
            self.look(finishing);
            self.scope.scope.join(shmem, polled, Late { trouble, updates: self, finishing });
            polled = Polled::Held;
            let (worked, bad) = self.work();
            self.scope.meet();
            let moved = self.close(finishing);
            let woken = self.woken();
            let need = self.need(finishing);
            let needs = need.is_some();
            if let Some(pe) = need {
                trouble = Trouble { cause: Cause::Deadline, pe };
            }
            if let Some((pe, index)) = bad {
                (polled, trouble) = (Polled::Expired(index), Trouble { cause: Cause::IndexOutOfRange, pe });
            }
            if !self.scope.any(needs | bad.is_some()) {
                break;
            }
            // Who needs nothing itself waits for the others' sake, and lets them report first.
            if moved | !needs {
                until = Until::within(if needs { deadline } else { deadline.saturating_mul(2) });
            }
            if !worked {
                polled = self.wait(finishing, woken, &mut until);
                if !needs & matches!(polled, Polled::Expired(_)) {
                    polled = Polled::Aborted;
                }
            }
        }
        self.ahead = 0;
    }

    /// Takes over the counts of PE `pe` from the last use.
    #[inline(always)]
    pub(super) fn begin(&self, pe: u32) {
        let mut counts = 0;
        if let Some(world) = self.other(pe) {
            // SAFETY: a word of the own inbox, which only the owner's block reads and writes.
            counts = unsafe { u64::load_global(self.own(self.shape.counts(world))) };
        }
        self.memory.set(pe, SENT, counts as u32);
        self.memory.set(pe, APPLIED, (counts >> 32) as u32);
        self.memory.set(pe, FILL, 0);
        self.memory.set(pe, READY, 0);
        self.memory.set(pe, GO, 0);
        self.memory.set(pe, ENDED, 0);
    }

    /// Leaves the counts of PE `pe` to the next use.
    #[inline(always)]
    pub(super) fn end(&self, pe: u32) {
        if let Some(world) = self.other(pe) {
            let counts = u64::from(self.memory.get(pe, SENT)) | u64::from(self.memory.get(pe, APPLIED)) << 32;
            // SAFETY: as in `begin`.
            unsafe { u64::store_global(self.own(self.shape.counts(world)), counts) };
        }
    }

    /// The job's number of PE `pe`, unless that is the own one.
    #[inline(always)]
    pub(super) fn other(&self, pe: u32) -> Option<u32> {
        let world = self.scope.context.world_pe(pe);
        if world == self.scope.shmem().my_pe() { None } else { Some(world) }
    }

    /// Address of something in the own part of the inbox; made where it is used, not held in registers.
    #[inline(always)]
    fn own(&self, offset: u64) -> u64 {
        self.scope.shmem().abi.heap_base + order::opaque(self.part) + offset
    }

    /// Address of the same in that of another PE, which `updates` has looked at.
    #[inline(always)]
    fn its(&self, world: u32, offset: u64) -> u64 {
        self.scope.shmem().peer_base(world) + order::opaque(self.part) + offset
    }

    /// Address of the word in which the next batch of PE `pe` arrives.
    #[inline(always)]
    pub(super) fn arrived(&self, pe: u32, world: u32) -> u64 {
        self.own(self.shape.arrived(world, self.memory.get(pe, APPLIED) & 1))
    }

    /// The lower half of an `arrived` word if it is that of PE `pe`'s next batch, else 0. Of a PE whose last batch has been
    /// applied there is none: what comes then belongs to the next use.
    #[inline(always)]
    pub(super) fn batch(&self, pe: u32, word: u64) -> u32 {
        let (low, number) = (word as u32, (word >> 32) as u32);
        let next = number == self.memory.get(pe, APPLIED).wrapping_add(1);
        if next & (low & PRESENT != 0) & (self.memory.get(pe, ENDED) & FROM_IT == 0) { low } else { 0 }
    }

    /// Whether there is something to send to PE `pe`.
    #[inline(always)]
    fn wants(&self, pe: u32, finishing: bool) -> bool {
        if finishing {
            self.memory.get(pe, ENDED) & TO_IT == 0
        } else {
            self.memory.get(pe, FILL) >= BATCH as u32
        }
    }

    /// Whether a slot is free at a PE that says it has taken so many batches.
    #[inline(always)]
    fn free(&self, pe: u32, taken: u64) -> bool {
        self.memory.get(pe, SENT).wrapping_sub(taken as u32) < 2
    }

    #[inline(always)]
    fn woken(&self) -> u32 {
        // SAFETY: a word of the block's own shared memory.
        unsafe { atomic::load_acquire_shared_u32(self.memory.woken()) }
    }

    /// By the owners: which batches are applied in this round, and which sent.
    #[inline(always)]
    fn look(&self, finishing: bool) {
        let mut pe = self.rank;
        while pe < self.scope.context.pes() {
            if let Some(world) = self.other(pe) {
                // SAFETY: a mapped, aligned word of the own inbox; only atomic accesses reach it.
                let word = unsafe { u64::load_acquire(self.arrived(pe, world)) };
                self.memory.set(pe, READY, self.batch(pe, word));
                let mut go = 0;
                if self.wants(pe, finishing) {
                    // SAFETY: as above.
                    let taken = unsafe { u64::load_acquire(self.own(self.shape.taken(world))) };
                    if self.free(pe, taken) {
                        let fill = self.memory.get(pe, FILL);
                        let count = if fill < BATCH as u32 { fill } else { BATCH as u32 };
                        go = count | PRESENT | if finishing { LAST } else { 0 };
                    }
                }
                self.memory.set(pe, GO, go);
            }
            pe += self.size;
        }
    }

    /// Applies what has come, and writes what goes. Whether there was any; the PE and the index of an update of a word that
    /// the own table has not got, if the calling thread met one.
    #[inline(always)]
    fn work(&self) -> (bool, Option<(u32, u64)>) {
        let (mut worked, mut bad) = (false, None);
        let mut pe = 0;
        while pe < self.scope.context.pes() {
            let (ready, go) = (self.memory.get(pe, READY), self.memory.get(pe, GO));
            if ready != 0
                && let Some(index) = self.apply(pe, ready & COUNT)
            {
                bad = Some((pe, index));
            }
            if go != 0 {
                self.send(pe, go & COUNT);
            }
            worked |= ready | go != 0;
            pe += 1;
        }
        (worked, bad)
    }

    /// Applies the batch of `count` updates that has come from PE `pe`; an index that is out of range.
    #[inline(always)]
    fn apply(&self, pe: u32, count: u32) -> Option<u64> {
        let world = self.scope.context.world_pe(pe);
        let slot = self.own(self.shape.slot::<T>(world, self.memory.get(pe, APPLIED) & 1));
        let mut bad = None;
        let mut i = self.rank;
        while i < count {
            // SAFETY: an update in the own inbox, whose arrival was acquired.
            let (index, bits) = T::Bits::unpack(unsafe { Word::load_global(slot + entry_bytes::<T>(i)) });
            if index < self.len {
                // SAFETY: a word of the own copy of the table, whose index was checked.
                unsafe { O::apply(self.table + index * size_of::<T>() as u64, T::of(bits)) };
            } else {
                bad = Some(index);
            }
            i += self.size;
        }
        bad
    }

    /// Writes the first `count` updates of PE `pe`'s bin into its slot there.
    #[inline(always)]
    fn send(&self, pe: u32, count: u32) {
        let (me, world) = (self.scope.shmem().my_pe(), self.scope.context.world_pe(pe));
        let slot = self.its(world, self.shape.slot::<T>(me, self.memory.get(pe, SENT) & 1));
        let mut i = self.rank;
        while i < count {
            // SAFETY: a place of the bin that was filled before the block was joined; a place of the slot, which the
            // receiver has read.
            unsafe {
                let entry = <T::Bits as Carried>::Entry::load_shared(self.memory.place(pe, i));
                Word::store_global(slot + entry_bytes::<T>(i), entry);
            }
            i += self.size;
        }
    }

    /// By the owners: tells the PEs what was taken and what was sent. Whether that was what the thread waits for.
    #[inline(always)]
    fn close(&self, finishing: bool) -> bool {
        let me = self.scope.shmem().my_pe();
        let mut moved = false;
        let mut pe = self.rank;
        while pe < self.scope.context.pes() {
            if let Some(world) = self.other(pe) {
                let (ready, go) = (self.memory.get(pe, READY), self.memory.get(pe, GO));
                if ready != 0 {
                    let applied = self.memory.get(pe, APPLIED).wrapping_add(1);
                    // SAFETY: a mapped, aligned word of a peer's inbox; only atomic accesses reach it.
                    unsafe { u64::store_release(self.its(world, self.shape.taken(me)), applied.into()) };
                    self.memory.set(pe, APPLIED, applied);
                    self.memory.set(pe, READY, 0);
                    self.ended(pe, ready, FROM_IT);
                }
                if go != 0 {
                    let sent = self.memory.get(pe, SENT);
                    let word = u64::from(sent.wrapping_add(1)) << 32 | u64::from(go);
                    // SAFETY: as above.
                    unsafe { u64::store_release(self.its(world, self.shape.arrived(me, sent & 1)), word) };
                    self.memory.set(pe, SENT, sent.wrapping_add(1));
                    self.memory.set(pe, FILL, 0);
                    self.memory.set(pe, GO, 0);
                    self.ended(pe, go, TO_IT);
                }
                moved |= (go != 0) | (finishing & (ready != 0));
            }
            pe += self.size;
        }
        moved
    }

    /// Notes that a batch was the last in its direction, if it was.
    #[inline(always)]
    fn ended(&self, pe: u32, batch: u32, direction: u32) {
        if batch & LAST != 0 {
            self.memory.set(pe, ENDED, self.memory.get(pe, ENDED) | direction);
        }
    }

    /// The first PE of which the calling thread, as an owner, waits for something.
    #[inline(always)]
    fn need(&self, finishing: bool) -> Option<u32> {
        let mut pe = self.rank;
        while pe < self.scope.context.pes() {
            if self.other(pe).is_some() && self.needs(pe, finishing) {
                return Some(pe);
            }
            pe += self.size;
        }
        None
    }

    /// Whether something is to be sent to PE `pe`, or is still to come from it.
    #[inline(always)]
    fn needs(&self, pe: u32, finishing: bool) -> bool {
        self.wants(pe, finishing) | (finishing & (self.memory.get(pe, ENDED) & FROM_IT == 0))
    }

    /// By the owners: polls until something can be applied or sent, by this thread's PEs or another's.
    #[inline(always)]
    fn wait(&self, finishing: bool, woken: u32, until: &mut Until) -> Polled {
        let (shmem, pes) = (self.scope.shmem(), self.scope.context.pes());
        if self.rank >= pes {
            return Polled::Held;
        }
        let mut event = false;
        let polled = poll_until(shmem, until, || {
            // Of the first PE that the thread needs something of.
            let (mut needed, mut seen) = (false, 0);
            let mut pe = self.rank;
            while pe < pes {
                if let Some(world) = self.other(pe) {
                    // SAFETY: a mapped, aligned word of the own inbox; only atomic accesses reach it.
                    let word = unsafe { u64::load_relaxed(self.arrived(pe, world)) };
                    event |= self.batch(pe, word) != 0;
                    let mut now = word >> 32;
                    if self.wants(pe, finishing) {
                        // SAFETY: as above.
                        now = unsafe { u64::load_relaxed(self.own(self.shape.taken(world))) };
                        event |= self.free(pe, now);
                    }
                    if !needed & self.needs(pe, finishing) {
                        (needed, seen) = (true, now);
                    }
                }
                pe += self.size;
            }
            (event || self.woken() != woken, seen)
        });
        if event {
            // SAFETY: a word of the block's own shared memory.
            unsafe { atomic::arrive_shared_u32(self.memory.woken(), 1) };
        }
        polled
    }
}

/// Bytes that `count` updates take.
#[inline(always)]
fn entry_bytes<T: AtomicWord>(count: u32) -> u64 {
    u64::from(count) * size_of::<<T::Bits as Carried>::Entry>() as u64
}
