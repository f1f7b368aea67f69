//! What the peer says, and what happens when it says nothing.

use super::queue::{Landing, Requester, Stage};
use super::send::parts;
use crate::nic::chance::Late;
use crate::nic::delivery::Delivery;
use crate::nic::packet::{Header, Kind};
use crate::nic::qp::Common;
use crate::nic::regions::{Bytes, Side, Want};
use crate::nic::room::Room;
use crate::nic::syndrome::Syndrome;
use crate::nic::wqe::{Data, Operation};

/// The vendor's code of retries that ran out, as ConnectX reports it.
const NO_ANSWER: u8 = 0x81;
/// Waits by the code of an RNR answer, in units of 10 µs (InfiniBand specification: RNR NAK timer).
const RNR_WAIT: [u32; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
    3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

impl Requester {
    /// An answer of the peer; false if it answers nothing that was asked.
    pub(in crate::nic) fn answered(
        &mut self,
        header: &Header,
        payload: &[u8],
        common: &Common,
        room: &mut Room<'_>,
    ) -> bool {
        let Some(kind) = header.kind() else { return false };
        // The lower 24 bits travel; at most 2^23 numbers are under way.
        let base = self.acked.saturating_sub(1);
        let psn = base + u64::from(header.psn.wrapping_sub(base as u32) & 0xff_ffff);
        if psn >= self.next_psn {
            return false;
        }
        self.deadline = None;
        // Answers come in order, so whatever comes acknowledges the writes before it.
        let upto = if kind == Kind::Ack { psn + 1 } else { psn };
        self.acknowledge(upto);
        match kind {
            Kind::ReadData | Kind::AtomicResult => self.result(kind, psn, header, payload, common, room),
            Kind::Nak => {
                let syndrome = u8::try_from(header.extra).ok().and_then(Syndrome::of);
                self.fail(psn, syndrome.unwrap_or(Syndrome::BadResponse), 0);
            }
            Kind::Rnr => self.not_ready(psn, header.extra, room.now),
            _ => {}
        }
        true
    }

    /// Writes whose packets are all before `upto` are done.
    fn acknowledge(&mut self, upto: u64) {
        if upto > self.acked {
            self.acked = upto;
            self.rnr_left = self.limits.rnr_retry;
        }
        for pending in &mut self.pending {
            if pending.first_psn >= upto {
                break;
            }
            if pending.stage == Stage::Sent && !pending.operation.fetches() && pending.last_psn() < upto {
                pending.stage = Stage::Done;
            }
        }
    }

    /// The work request that a packet number belongs to.
    fn place(&self, psn: u64) -> Option<usize> {
        let at = self.pending.partition_point(|pending| pending.first_psn + pending.psns <= psn);
        self.pending.get(at).filter(|pending| pending.first_psn <= psn && pending.psns > 0).map(|_| at)
    }

    fn fail(&mut self, psn: u64, syndrome: Syndrome, vendor: u8) {
        if let Some(at) = self.place(psn) {
            self.pending[at].stage = Stage::Failed { syndrome, vendor };
            self.stopped = true;
        }
    }

    fn result(
        &mut self,
        kind: Kind,
        psn: u64,
        header: &Header,
        payload: &[u8],
        common: &Common,
        room: &mut Room<'_>,
    ) {
        let Some(at) = self.place(psn) else { return };
        let pending = &mut self.pending[at];
        let (data, bytes, offset) = match (&pending.operation, kind) {
            (Operation::Read { landing, .. }, Kind::ReadData) => (landing, payload.to_vec(), header.address),
            (Operation::Atomic { landing, atomic, .. }, Kind::AtomicResult) => {
                (landing, atomic.landed(header.operands[0]), 0)
            }
            _ => return self.fail(psn, Syndrome::BadResponse, 0),
        };
        let total = pending.operation.length();
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > total) {
            return self.fail(psn, Syndrome::BadResponse, 0);
        }
        if total == 0 {
            pending.stage = Stage::Done;
            return;
        }
        let (first_psn, start) = (pending.first_psn, pending.start as u16);
        let mut taken = 0;
        let places: Data = parts(data, offset, bytes.len() as u64).collect();
        for part in places {
            if let Err(broken) = room.regions.find(common.pd, part, Side::Local, Want::Write) {
                room.log.broken(common.qpn, Some(start), &[], broken);
                return self.fail(psn, Syndrome::LocalProtection, 0);
            }
            let Bytes { length, .. } = part;
            let piece = bytes[taken..taken + length as usize].to_vec();
            taken += length as usize;
            let delivery = Delivery::new(part, piece, room.regions, room.chance);
            self.landings.push_back(Landing { psn: first_psn, bytes: length, delivery });
        }
    }

    /// Lets results land; a read is done when all of its bytes have.
    pub(super) fn land(&mut self, room: &mut Room<'_>) -> bool {
        let mut busy = false;
        for at in 0..self.landings.len() {
            busy = true;
            // Results for the same bytes land in order.
            let memory = self.landings[at].delivery.memory();
            let mut earlier = self.landings.iter().take(at).map(|landing| &landing.delivery);
            if earlier.all(|earlier| earlier.is_done() || !earlier.overlaps(memory)) {
                self.landings[at].delivery.advance(Late::Landing, room.regions, room.chance);
            }
        }
        while let Some(landing) = self.landings.pop_front_if(|landing| landing.delivery.is_done()) {
            let Some(at) = self.place(landing.psn) else { continue };
            let pending = &mut self.pending[at];
            pending.landed += landing.bytes;
            if pending.stage == Stage::Sent && pending.landed == pending.operation.length() {
                pending.stage = Stage::Done;
                self.acked = self.acked.max(pending.last_psn() + 1);
            }
        }
        busy
    }

    /// The peer had no receive: everything from this packet on is sent again, after the wait that it asks for.
    fn not_ready(&mut self, psn: u64, code: u32, now: u64) {
        if self.rnr_left == 0 {
            return self.fail(psn, Syndrome::RnrRetryExceeded, 0);
        }
        // 7 is without end.
        if self.rnr_left != 7 {
            self.rnr_left -= 1;
        }
        self.rnr_until = Some(now + u64::from(RNR_WAIT[code as usize % 32]) * 10_000);
        for pending in &mut self.pending {
            let again = matches!(pending.stage, Stage::Queued | Stage::Sent) && pending.last_psn() >= psn;
            if again && pending.psns > 0 {
                let kept =
                    if pending.operation.fetches() { 0 } else { psn.saturating_sub(pending.first_psn) };
                pending.sent = pending.sent.min(kept);
                pending.stage = Stage::Queued;
            }
        }
    }

    /// Patience with a silent peer ends: it starts afresh with every answer.
    pub(super) fn look_at_clock(&mut self, now: u64) {
        if self.limits.patience_ns == 0 || self.rnr_until.is_some() {
            return;
        }
        let waits = |stage, tried| stage == Stage::Sent || stage == Stage::Queued && tried;
        // What failed already ends the queue pair, and everything behind it.
        let oldest = self.pending.iter_mut().find(|pending| pending.stage != Stage::Done);
        let oldest = oldest.filter(|oldest| waits(oldest.stage, oldest.tried));
        let Some(oldest) = oldest else {
            self.deadline = None;
            return;
        };
        if now >= *self.deadline.get_or_insert(now.saturating_add(self.limits.patience_ns)) {
            oldest.stage = Stage::Failed { syndrome: Syndrome::RetryExceeded, vendor: NO_ANSWER };
            self.stopped = true;
        }
    }
}
