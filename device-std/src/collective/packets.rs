//! Packets of collective operations: 8 bytes of data and the round, in one access (the protocol known as LL). All 8 bytes
//! are the data's: the round stands beside them.
//!
//! A PE's packets of one round lie in the half that the round's parity names, in the part of the lane, there in the part of
//! the PE that sends them. A half is written again two rounds later, when every PE is known to have taken it:
//! see [`Lane::settle`].

use super::Round;
use super::lane::Lane;
use crate::abi::collective::PACKET;
use crate::arch::{V16, Word};
use crate::context::MayWait;
use crate::poll::{Polled, Until, poll_until};
use crate::scope::Scope;
use crate::share::Share;

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

impl<W: Scope, C: MayWait> Lane<W, C> {
    #[inline(always)]
    fn part_bytes(self) -> u32 {
        let half = self.packet_bytes / 2;
        let parts = self.lanes * (self.n - 1);
        if parts <= 1 { half } else { (half / parts) & !(PACKET as u32 - 1) }
    }

    /// The packets of the operation's round number `number`, from 0.
    #[inline(always)]
    pub(super) fn packets(self, number: u64) -> Packets<W, C> {
        let (part, round) = (self.part_bytes(), Round(self.round.0 + number));
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

    /// What stands now in packet `index` from PE `pe`, another one.
    #[inline(always)]
    pub(super) fn look(self, pe: u32, index: u64) -> V16 {
        let from = self.lane.own_heap() + self.offset(pe, self.lane.me, index);
        // SAFETY: a packet in the own area, which only such accesses reach.
        unsafe { V16::load_relaxed(from) }
    }

    /// Waits for four packets, by PE and index: their words, of which `own` is this PE's.
    #[inline(always)]
    pub(super) fn four(self, until: &mut Until, at: [(u32, u64); 4], own: u64) -> Got {
        let mut words = [own; 4];
        // One by one: a choice among the array's elements would be one of addresses, and put it into local memory.
        let [(pe_a, at_a), (pe_b, at_b), (pe_c, at_c), (pe_d, at_d)] = at;
        let (mut missing_pe, mut missing_at) = (pe_a, at_a);
        let polled = poll_until(self.lane.shmem(), until, || {
            let look = |pe: u32, index: u64| {
                if pe == self.lane.me { V16(own, self.round.0) } else { self.look(pe, index) }
            };
            let (a, b, c, d) = (look(pe_a, at_a), look(pe_b, at_b), look(pe_c, at_c), look(pe_d, at_d));
            words = [a.0, b.0, c.0, d.0];
            let is = |packet: V16| packet.1 == self.round.0;
            let seen;
            (missing_pe, missing_at, seen) = match (is(a), is(b), is(c)) {
                (false, _, _) => (pe_a, at_a, a.1),
                (_, false, _) => (pe_b, at_b, b.1),
                (_, _, false) => (pe_c, at_c, c.1),
                _ => (pe_d, at_d, d.1),
            };
            (is(a) & is(b) & is(c) & is(d), seen)
        });
        let missing = (missing_pe, missing_at);
        Got { words, polled, missing }
    }

    /// Takes packets by the threads of the worker, four of each under way at once: number `i` of `total` is that from the PE
    /// and with the index that `place` says, and goes to `keep`.
    #[inline(always)]
    pub(super) fn take_all(
        self,
        total: u64,
        place: impl Fn(u64) -> (u32, u64),
        keep: impl Fn(u32, u64, u64),
    ) -> Ended {
        let mut share = Share::new(self.lane.worker.scope, total);
        let mut until = Until::within(self.lane.shmem().abi.deadline);
        let mut ended = Ended::well(self.lane.me);
        while share.has_some() {
            let [a, b, c, d] = share.four().map(&place);
            let got = self.four(&mut until, [a, b, c, d], 0);
            if !ended.note(&got) {
                break;
            }
            share.own(0, |_| keep(a.0, a.1, got.words[0]));
            share.own(1, |_| keep(b.0, b.1, got.words[1]));
            share.own(2, |_| keep(c.0, c.1, got.words[2]));
            share.own(3, |_| keep(d.0, d.1, got.words[3]));
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

/// What came of waiting for packets.
#[derive(Clone, Copy)]
pub(super) struct Got {
    pub(super) words: [u64; 4],
    polled: Polled,
    /// PE and index of the first packet that was missing, if one was.
    missing: (u32, u64),
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
        *self = Self { polled: got.polled, pe: got.missing.0, index: got.missing.1 };
        false
    }
}
