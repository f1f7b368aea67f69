//! The send queue, and the work requests that were read from it.

use crate::nic::chance::Late;
use crate::nic::delivery::Delivery;
use crate::nic::description::State;
use crate::nic::memory::Span;
use crate::nic::qp::Common;
use crate::nic::regions::Broken;
use crate::nic::room::Room;
use crate::nic::syndrome::Syndrome;
use crate::nic::violation::Rule;
use crate::nic::wqe::{BLOCK, Operation, Request, blocks_of};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{Ordering, fence};

/// Most work requests that are read and not completed.
const WINDOW: usize = 64;
/// What consumed WQEBBs are overwritten with: no operation has this code.
const POISON: u8 = 0xa5;

/// Where a work request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It, or a part of it, is still to be sent.
    Queued,
    /// Its answer is awaited.
    Sent,
    /// It went well.
    Done,
    /// It did not.
    Failed { syndrome: Syndrome, vendor: u8 },
}

/// A work request that was read.
#[derive(Debug)]
pub(super) struct Pending {
    /// Counts of its first WQEBB and of the one behind its last.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) opcode: u8,
    pub(super) signalled: bool,
    pub(super) fenced: bool,
    pub(super) operation: Operation,
    /// Number of its first packet; a read takes as many numbers as its answer has packets.
    pub(super) first_psn: u64,
    pub(super) psns: u64,
    /// Packets that were sent, and whether that was ever tried.
    pub(super) sent: u64,
    pub(super) tried: bool,
    /// Bytes of its result that lie in memory.
    pub(super) landed: u64,
    pub(super) stage: Stage,
}

impl Pending {
    pub(super) fn last_psn(&self) -> u64 {
        self.first_psn + self.psns.saturating_sub(1)
    }

    pub(super) fn awaits_result(&self) -> bool {
        self.operation.fetches() && matches!(self.stage, Stage::Queued | Stage::Sent)
    }
}

/// A result's bytes on their way into local memory.
#[derive(Debug)]
pub(super) struct Landing {
    /// The read or atomic, by its first packet.
    pub(super) psn: u64,
    pub(super) bytes: u64,
    pub(super) delivery: Delivery,
}

/// A failure on demand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) skip: u32,
    pub(super) syndrome: Syndrome,
    pub(super) vendor: u8,
}

/// What the transition to ready-to-send sets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) reads: usize,
    /// All tries together; 0 is without end.
    pub(super) patience_ns: u64,
    pub(super) rnr_retry: u8,
}

#[derive(Debug)]
pub(in crate::nic) struct Requester {
    pub(super) send: Span,
    pub(super) log_send: u8,
    /// The record's largest value that was seen.
    pub(super) seen: u64,
    /// What doorbells were rung for.
    pub(super) rung: u64,
    /// What the newest doorbell of each register named, by its offset.
    pub(super) bells: BTreeMap<u32, u64>,
    /// Since when the record is ahead of the doorbell.
    pub(super) ahead_since: Option<u64>,
    pub(super) never_rung_said: bool,
    /// WQEBBs that were read, that hardware is through with, and that software knows to be free.
    pub(super) fetched: u64,
    pub(super) through: u64,
    pub(super) freed: u64,
    pub(super) pending: VecDeque<Pending>,
    /// Nothing is read any more: a work request failed, and the error state follows.
    pub(super) stopped: bool,
    /// A completion told of a failure, which is the cause of all that follows.
    pub(super) told: bool,
    pub(super) next_psn: u64,
    /// The first packet that was not answered.
    pub(super) acked: u64,
    pub(super) limits: Limits,
    /// When patience ends.
    pub(super) deadline: Option<u64>,
    pub(super) rnr_left: u8,
    pub(super) rnr_until: Option<u64>,
    pub(super) landings: VecDeque<Landing>,
    pub(super) lost_doorbells: u32,
    pub(super) planned: Vec<Planned>,
}

impl Requester {
    pub(in crate::nic) fn new(send: Span, log_send: u8) -> Self {
        Self {
            send,
            log_send,
            seen: 0,
            rung: 0,
            bells: BTreeMap::new(),
            ahead_since: None,
            never_rung_said: false,
            fetched: 0,
            through: 0,
            freed: 0,
            pending: VecDeque::new(),
            stopped: false,
            told: false,
            next_psn: 0,
            acked: 0,
            limits: Limits::default(),
            deadline: None,
            rnr_left: 0,
            rnr_until: None,
            landings: VecDeque::new(),
            lost_doorbells: 0,
            planned: Vec::new(),
        }
    }

    /// Forgets what is posted; counters start at 0 again.
    pub(in crate::nic) fn reset(&mut self) {
        *self = Self::new(self.send, self.log_send);
    }

    pub(in crate::nic) fn ready(
        &mut self,
        psn: u32,
        reads: usize,
        ack_timeout: u8,
        retries: u8,
        rnr_retry: u8,
    ) {
        self.next_psn = u64::from(psn);
        self.acked = u64::from(psn);
        // A try lasts 4.096 µs · 2^timeout (InfiniBand specification: Local ACK Timeout).
        let patience_ns = if ack_timeout == 0 { 0 } else { (4096 << ack_timeout) * (u64::from(retries) + 1) };
        self.limits = Limits { reads, patience_ns, rnr_retry };
        self.rnr_left = rnr_retry;
    }

    pub(in crate::nic) fn through(&self) -> u64 {
        self.through
    }

    pub(in crate::nic) fn rung(&self) -> u64 {
        self.rung
    }

    pub(in crate::nic) fn is_at_work(&self) -> bool {
        !self.pending.is_empty() || self.fetched < self.rung
    }

    /// The next `times` doorbells are not seen.
    pub(in crate::nic) fn lose_doorbells(&mut self, times: u32) {
        self.lost_doorbells = times;
    }

    /// The work request after `skip` more fails.
    pub(in crate::nic) fn plan(&mut self, skip: u32, syndrome: Syndrome, vendor: u8) {
        self.planned.push(Planned { skip, syndrome, vendor });
    }

    /// Does what can be done in this step; true if anything was, or waits for the adversary alone.
    pub(in crate::nic) fn advance(&mut self, common: &mut Common, room: &mut Room<'_>) -> bool {
        self.look_at_record(common, room);
        match common.state {
            State::Rts => {
                let mut busy = self.fetch(common, room);
                busy |= self.transmit(common, room);
                busy |= self.land(room);
                self.look_at_clock(room.now);
                busy | self.complete(common, room)
            }
            State::Error => self.flush(common, room),
            State::Reset | State::Init | State::Rtr => false,
        }
    }

    pub(super) fn depth(&self) -> u64 {
        1 << self.log_send
    }

    /// The bytes of WQEBBs, which may go around the ring's end.
    pub(super) fn blocks(&self, start: u64, count: u64) -> Vec<u8> {
        let mut bytes = vec![0; count as usize * BLOCK];
        for (at, block) in (start..).zip(bytes.chunks_exact_mut(BLOCK)) {
            self.send.read(at % self.depth() * BLOCK as u64, block);
        }
        bytes
    }

    /// Overwrites WQEBBs that hardware is through with, before software learns of it.
    pub(super) fn poison(&self, start: u64, end: u64) {
        for at in start..end {
            self.send.write(at % self.depth() * BLOCK as u64, &[POISON; BLOCK]);
        }
    }

    /// Reads work requests that were rung for.
    fn fetch(&mut self, common: &Common, room: &mut Room<'_>) -> bool {
        let mut busy = false;
        while self.fetched < self.rung && self.pending.len() < WINDOW && !self.stopped {
            busy = true;
            if room.chance.late(Late::Start) {
                break;
            }
            // What was written before the record was.
            fence(Ordering::Acquire);
            self.fetch_one(common, room);
        }
        busy
    }

    fn fetch_one(&mut self, common: &Common, room: &mut Room<'_>) {
        room.log.statistics.requests += 1;
        let (start, posted) = (self.fetched, self.rung - self.fetched);
        let first = self.blocks(start, 1);
        let count = blocks_of(&first).unwrap_or(1);
        let (count, bytes) =
            if count == 1 || count > posted { (1, first) } else { (count, self.blocks(start, count)) };
        let read = match blocks_of(&bytes) {
            _ if room.config.poison && bytes[..BLOCK] == [POISON; BLOCK] => Err(Broken::new(
                Rule::Stale,
                "it was not written since the entry before it at this place was consumed".to_owned(),
            )),
            Some(needed) if needed > posted => Err(Broken::new(
                Rule::Size,
                format!("it takes {needed} WQEBBs, and {posted} are posted from its start on"),
            )),
            _ => Request::read(&bytes, start as u16, common.qpn, common.longest),
        };
        self.fetched += count;
        let opcode = bytes[3];
        let (request, stage) = match read {
            Ok(request) => (Some(request), self.planned_stage()),
            Err(broken) => {
                let failed = Stage::Failed { syndrome: broken.rule.syndrome(), vendor: 0 };
                room.log.broken(common.qpn, Some(start as u16), &bytes, broken);
                (None, failed)
            }
        };
        self.stopped = stage != Stage::Queued;
        let nop = Request { signalled: true, fenced: false, operation: Operation::Nop };
        let Request { signalled, fenced, operation } = request.unwrap_or(nop);
        let psns = match operation {
            Operation::Nop | Operation::Dump(_) => 0,
            _ => operation.length().div_ceil(common.mtu).max(1),
        };
        let first_psn = self.next_psn;
        self.next_psn += psns;
        self.pending.push_back(Pending {
            start,
            end: self.fetched,
            opcode,
            signalled,
            fenced,
            operation,
            first_psn,
            psns,
            sent: 0,
            tried: false,
            landed: 0,
            stage,
        });
    }

    /// Whether a failure on demand meets this work request.
    fn planned_stage(&mut self) -> Stage {
        let mut stage = Stage::Queued;
        self.planned.retain_mut(|planned| {
            if planned.skip == 0 && stage == Stage::Queued {
                stage = Stage::Failed { syndrome: planned.syndrome, vendor: planned.vendor };
                return false;
            }
            planned.skip = planned.skip.saturating_sub(1);
            true
        });
        stage
    }
}
