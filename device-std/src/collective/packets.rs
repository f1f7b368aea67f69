//! Packets of collective operations: 8 bytes of data and the round, in one access (the protocol known as LL). All 8 bytes
//! are the data's: the round stands beside them.
//!
//! A PE's packets of one round lie in the half that the round's parity names, in the part of the lane, there in the part of
//! the PE that sends them. A half is written again two rounds later, when every PE is known to have taken it:
//! see [`Lane::settle`].

use super::Round;
use super::lane::Lane;
use super::walk::Walk;
use crate::abi::collective::{PACKET, divided};
use crate::arch::{V16, Word};
use crate::context::MayWait;
use crate::poll::{Polled, Until, poll_until};
use crate::scope::Scope;

/// Where a lane's packets of one round lie in every heap.
#[derive(Clone, Copy)]
pub(super) struct Packets<W, C> {
    pub(super) lane: Lane<W, C>,
    pub(super) round: Round,
    /// Heap offset of the lane's part of the round's half.
    at: u64,
    /// Bytes for one sender.
    part: u32,
}

/// Bytes of a part, where a half of `packet_bytes` in all has so many.
#[inline(always)]
pub(super) fn part_bytes(packet_bytes: u32, parts: u32) -> u32 {
    divided(packet_bytes / 2, parts) & !(PACKET as u32 - 1)
}

impl<W: Scope, C: MayWait> Lane<W, C> {
    /// The packets of the operation's round number `number`, from 0.
    #[inline(always)]
    pub(super) fn packets(self, number: u64) -> Packets<W, C> {
        let (part, round) =
            (part_bytes(self.packet_bytes, self.lanes * (self.n - 1)), Round(self.round.0 + number));
        let half = u64::from(self.packet_bytes / 2) * (round.0 & 1);
        let own = u64::from(part) * u64::from(self.n - 1) * u64::from(self.lane);
        Packets { lane: self, round, at: self.packets + half + own, part }
    }
}

impl<W: Scope, C: MayWait> Packets<W, C> {
    /// Heap offset of packet `index` from PE `from`, in PE `at`'s heap. They differ.
    #[inline(always)]
    fn offset(self, from: u32, at: u32, index: u64) -> u64 {
        let number = if from > at { from - at } else { from + self.lane.n - at } - 1;
        self.at + u64::from(self.part) * u64::from(number) + PACKET * index
    }

    /// Sends word `index` to PE `pe`, another one.
    #[inline(always)]
    pub(super) fn send(self, pe: u32, index: u64, word: u64) {
        let to = self.lane.heap(pe) + self.offset(self.lane.me, pe, index);
        // SAFETY: a packet in a mapped peer's area, which only such accesses reach.
        unsafe { V16::store_relaxed(to, V16(word, self.round.0)) };
    }

    /// Sends packets by the threads of the worker: `words` to each of `parts` PEs, which `pe` numbers, as `load` reads them.
    #[inline(always)]
    pub(super) fn send_all(
        self,
        (parts, words): (u32, u64),
        pe: impl Fn(u32) -> u32,
        load: impl Fn(u32, u64) -> u64,
    ) {
        self.lane.settle();
        let mut walk = Walk::new(self.lane.worker.scope, parts, words as u32);
        while walk.is_inside() {
            let (pe, word) = (pe(walk.part), walk.word.into());
            self.send(pe, word, load(pe, word));
            walk = walk.next();
        }
    }

    /// What stands now in packet `index` from PE `pe`, another one.
    #[inline(always)]
    pub(super) fn look(self, pe: u32, index: u64) -> V16 {
        let from = self.lane.own_heap() + self.offset(pe, self.lane.me, index);
        // SAFETY: a packet in the own area, which only such accesses reach.
        unsafe { V16::load_relaxed(from) }
    }

    /// Waits for four packets, by PE and index: their words, of which `own` is this PE's. No arrays: they would be in local
    /// memory.
    #[inline(always)]
    pub(super) fn four(self, until: &mut Until, at: Four<(u32, u64)>, own: u64) -> Got {
        let mut words = Four(own, own, own, own);
        // Field by field: a choice between pairs would be made in local memory.
        let (mut pe, mut index) = (0, 0);
        let polled = poll_until(self.lane.shmem(), until, || {
            let (a, b) = (self.seen(at.0, own), self.seen(at.1, own));
            let (c, d) = (self.seen(at.2, own), self.seen(at.3, own));
            words = Four(a.0, b.0, c.0, d.0);
            let round = self.round.0;
            let (no_a, no_b, no_c) = (a.1 != round, b.1 != round, c.1 != round);
            let first = |a: u64, b: u64, c: u64, d: u64| {
                let of = if no_c { c } else { d };
                let of = if no_b { b } else { of };
                if no_a { a } else { of }
            };
            pe = first(at.0.0.into(), at.1.0.into(), at.2.0.into(), at.3.0.into()) as u32;
            index = first(at.0.1, at.1.1, at.2.1, at.3.1);
            (!(no_a | no_b | no_c) & (d.1 == round), first(a.1, b.1, c.1, d.1))
        });
        Got { words, polled, pe, index }
    }

    /// Waits for one packet, of another PE.
    #[inline(always)]
    fn one(self, until: &mut Until, (pe, index): (u32, u64)) -> Got {
        let mut word = 0;
        let polled = poll_until(self.lane.shmem(), until, || {
            let V16(found, round) = self.look(pe, index);
            word = found;
            (round == self.round.0, round)
        });
        Got { words: Four(word, 0, 0, 0), polled, pe, index }
    }

    /// What stands in a packet now; of this PE itself its `own` word.
    #[inline(always)]
    fn seen(self, (pe, index): (u32, u64), own: u64) -> V16 {
        if pe == self.lane.me { V16(own, self.round.0) } else { self.look(pe, index) }
    }

    /// Takes packets by the threads of the worker, four of each under way at once: `words` from each of `parts` PEs, which `pe`
    /// numbers, of which each goes to `keep`.
    #[inline(always)]
    pub(super) fn take_all(
        self,
        (parts, words): (u32, u64),
        pe: impl Fn(u32) -> u32,
        keep: impl Fn(u32, u64, u64),
    ) -> Ended {
        let scope = self.lane.worker.scope;
        let mut walk = Walk::new(scope, parts, words as u32);
        let mut share = walk.share(scope);
        let mut until = Until::within(self.lane.shmem().abi.deadline);
        let mut ended = Ended::well(self.lane.me);
        let place = |at: Walk| {
            let at = at.within();
            (pe(at.part), u64::from(at.word))
        };
        if share.is_one_each() {
            // Without three more looks at the same packet, which hold up the other threads'.
            if share.has_some() {
                let at = place(walk);
                let got = self.one(&mut until, at);
                if ended.note(&got) {
                    share.own(0, |_| keep(at.0, at.1, got.words.0));
                }
            }
            return ended;
        }
        while share.has_some() {
            let Four(a, b, c, d) = walk.four();
            let (a, b, c, d) = (place(a), place(b), place(c), place(d));
            let got = self.four(&mut until, Four(a, b, c, d), 0);
            if !ended.note(&got) {
                break;
            }
            share.own(0, |_| keep(a.0, a.1, got.words.0));
            share.own(1, |_| keep(b.0, b.1, got.words.1));
            share.own(2, |_| keep(c.0, c.1, got.words.2));
            share.own(3, |_| keep(d.0, d.1, got.words.3));
            share.advance();
        }
        ended
    }

    /// Joins the worker's threads after they have taken their packets.
    #[inline(always)]
    pub(super) fn join(self, ended: Ended) {
        let at = if ended.pe == self.lane.me { 0 } else { self.offset(ended.pe, self.lane.me, ended.index) };
        self.lane.join(ended.polled, ended.pe, at, self.round);
    }
}

/// Four of something.
#[derive(Clone, Copy)]
pub(super) struct Four<T>(pub(super) T, pub(super) T, pub(super) T, pub(super) T);

/// What came of waiting for packets.
#[derive(Clone, Copy)]
pub(super) struct Got {
    pub(super) words: Four<u64>,
    polled: Polled,
    /// Those of the first packet that was missing, if one was.
    pe: u32,
    index: u64,
}

/// How a thread's taking of packets ended.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    polled: Polled,
    /// Of the packet that was missing, if one was: who should have sent it, and its number.
    pe: u32,
    index: u64,
}

impl Ended {
    /// Nothing was missing yet.
    #[inline(always)]
    pub(super) fn well(me: u32) -> Self {
        Self { polled: Polled::Held, pe: me, index: 0 }
    }

    /// Notes how a wait ended; whether it is well.
    #[inline(always)]
    pub(super) fn note(&mut self, got: &Got) -> bool {
        if matches!(got.polled, Polled::Held) {
            return true;
        }
        *self = Self { polled: got.polled, pe: got.pe, index: got.index };
        false
    }
}
