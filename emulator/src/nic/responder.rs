//! The half of a queue pair that answers: executes its peer's requests on this NIC's memory.
//!
//! Requests are taken in order and executed so far in order as the standard asks: a write's bytes arrive in any order,
//! but before anything of the next write, unless the region's ordering is relaxed; an atomic sees what came before it;
//! a read is taken up after what came before it, and sampled when its answer leaves, which later writes need not wait
//! for. Answers leave in order.

use super::answer::{Answer, Answers};
use super::chance::Late;
use super::completion::{Completion, Says};
use super::delivery::Delivery;
use super::description::State;
use super::event::Event;
use super::packet::{FIRST, Header, IMMEDIATE, Kind, LAST};
use super::qp::Common;
use super::regions::{Broken, Bytes, Side, Want};
use super::room::Room;
use super::syndrome::Syndrome;
use super::violation::Rule;
use super::wqe::Atomic;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// How far the adversary looks for something that may pass.
const LOOK: usize = 16;
/// Offset of the receive queue's word in a doorbell record.
const RECEIVE_WORD: u64 = 0;

/// A request that was taken.
#[derive(Debug)]
struct Work {
    psn: u32,
    /// Which message it is of.
    message: u64,
    does: Does,
}

#[derive(Debug)]
enum Does {
    Write { delivery: Delivery, relaxed: bool, received: Option<Received> },
    Read { bytes: Bytes },
    Atomic { bytes: Bytes, memory: Range<u64>, atomic: Atomic, old: Option<u64> },
    Refuse { syndrome: Syndrome },
    NotReady,
}

/// The end of a write with an immediate value.
#[derive(Clone, Copy, Debug)]
struct Received {
    immediate: u32,
    bytes: u32,
}

#[derive(Debug, Default)]
pub(super) struct Responder {
    expected: u32,
    most_reads: usize,
    rnr_timer: u8,
    /// Of the write that comes in: its length, and what is still to come.
    open: Option<(u32, u64)>,
    message: u64,
    work: VecDeque<Work>,
    answers: Answers,
    /// Receives taken.
    received: u16,
    /// Requests that find no receive, on demand.
    not_ready: u32,
    silent: bool,
    /// A request was refused: what was answered until then still leaves.
    refused: bool,
}

impl Responder {
    pub(super) fn new(expected: u32, log_most_reads: u8, rnr_timer: u8) -> Self {
        Self { expected, most_reads: 1 << log_most_reads, rnr_timer, ..Self::default() }
    }

    pub(super) fn be_silent(&mut self) {
        self.silent = true;
    }

    pub(super) fn be_not_ready(&mut self, times: u32) {
        self.not_ready = times;
    }

    pub(super) fn is_at_work(&self) -> bool {
        !self.work.is_empty() || !self.answers.is_empty()
    }

    /// A request of the peer; false if it is dropped.
    pub(super) fn take(
        &mut self,
        header: &Header,
        payload: &[u8],
        common: &Common,
        room: &mut Room<'_>,
    ) -> bool {
        let is_open = matches!(common.state, State::Rtr | State::Rts);
        if !is_open || self.silent || self.refused || header.psn != self.expected {
            return false;
        }
        let psn = header.psn;
        if header.has(FIRST) || header.kind() != Some(Kind::Write) {
            self.message += 1;
        }
        let ends = header.kind() != Some(Kind::Write) || header.has(LAST);
        let does = if ends && self.finds_no_receive(header, common) {
            Does::NotReady
        } else {
            self.understand(header, payload, common, room).unwrap_or_else(|broken| {
                let syndrome = broken.rule.syndrome();
                let Broken { rule, sentence } = broken;
                let sentence = format!("a request of its peer {:#x}: {sentence}", common.remote_qpn);
                room.log.violation(common.qpn, rule, &[], sentence);
                self.refused = true;
                Does::Refuse { syndrome }
            })
        };
        if !matches!(does, Does::NotReady) {
            let packets = match &does {
                Does::Read { bytes } => bytes.length.div_ceil(common.mtu).max(1) as u32,
                _ => 1,
            };
            self.expected = self.expected.wrapping_add(packets) & 0xff_ffff;
        }
        self.work.push_back(Work { psn, message: self.message, does });
        true
    }

    /// Whether the request is turned away for now: a test asked for it, or it needs a receive and there is none.
    fn finds_no_receive(&mut self, header: &Header, common: &Common) -> bool {
        if self.not_ready > 0 {
            self.not_ready -= u32::from(self.not_ready != u32::MAX);
            return true;
        }
        if !header.has(IMMEDIATE) || common.receive_cqn.is_none() {
            return false;
        }
        let taken =
            self.work.iter().filter(|work| matches!(work.does, Does::Write { received: Some(_), .. }));
        self.receives(common) <= taken.count()
    }

    /// Receives that are posted and not completed.
    fn receives(&self, common: &Common) -> usize {
        let word = common.record.word32(RECEIVE_WORD);
        let posted = word.map_or(0, |word| u32::from_be(word.load(Ordering::Acquire)));
        usize::from((posted as u16).wrapping_sub(self.received))
    }

    /// In the error state receives complete with "flushed".
    fn flush_receives(&mut self, common: &mut Common, room: &mut Room<'_>) -> bool {
        let mut busy = false;
        while let Some(cqn) = common.receive_cqn
            && common.state == State::Error
            && self.receives(common) > 0
        {
            busy = true;
            if room.chance.late(Late::Completion) {
                break;
            }
            self.complete_receive(Says::ReceiveFlushed, cqn, common, room);
        }
        busy
    }

    fn understand(
        &mut self,
        header: &Header,
        payload: &[u8],
        common: &Common,
        room: &mut Room<'_>,
    ) -> Result<Does, Broken> {
        let invalid = |sentence: String| Err(Broken::new(Rule::RemoteRequest, sentence));
        let Header { key, address, .. } = *header;
        let length = u64::from(header.length);
        if length > common.longest {
            return invalid(format!("a message of {length} bytes; here they are at most {}", common.longest));
        }
        let (may, name) = match header.kind() {
            Some(Kind::Write) => (common.access.remote_write, "writes"),
            Some(Kind::Read) => (common.access.remote_read, "reads"),
            _ => (common.access.remote_atomic, "atomics"),
        };
        if !may {
            return invalid(format!("the queue pair was set up without remote {name}"));
        }
        if header.kind() == Some(Kind::Write) {
            return self.understand_write(header, payload, common, room);
        }
        let awaited = self.answers.results()
            + self
                .work
                .iter()
                .filter(|work| matches!(work.does, Does::Read { .. } | Does::Atomic { .. }))
                .count();
        if awaited >= self.most_reads {
            return invalid(format!("more than {} reads and atomics at once", self.most_reads));
        }
        let bytes = Bytes { key, address, length };
        if header.kind() == Some(Kind::Read) {
            if length > 0 {
                room.regions.find(common.pd, bytes, Side::Remote, Want::Read)?;
            }
            return Ok(Does::Read { bytes });
        }
        let Some(atomic) = Atomic::unpack(header.extra, header.operands) else {
            return invalid("an atomic that there is not".to_owned());
        };
        let size = u64::from(atomic.size);
        if !address.is_multiple_of(size) {
            return invalid(format!(
                "an atomic of {size} bytes at {address:#x}, which is not aligned to them"
            ));
        }
        let bytes = Bytes { length: size, ..bytes };
        let span = room.regions.find(common.pd, bytes, Side::Remote, Want::Atomic)?;
        if !span.is_aligned(atomic.size as usize) {
            return invalid(format!(
                "an atomic at {address:#x}, whose memory is not aligned to {size} bytes"
            ));
        }
        Ok(Does::Atomic { bytes, memory: span.addresses(), atomic, old: None })
    }

    fn understand_write(
        &mut self,
        header: &Header,
        payload: &[u8],
        common: &Common,
        room: &mut Room<'_>,
    ) -> Result<Does, Broken> {
        let invalid = |sentence: String| Err(Broken::new(Rule::RemoteRequest, sentence));
        let Header { key, address, length: total, .. } = *header;
        if header.has(FIRST) {
            self.open = Some((total, u64::from(total)));
            if total > 0 {
                let whole = Bytes { key, address, length: u64::from(total) };
                room.regions.find(common.pd, whole, Side::Remote, Want::Write)?;
            }
        }
        let length = payload.len() as u64;
        let Some((total, left)) = self.open else {
            return invalid("a packet from the middle of a message that never began".to_owned());
        };
        if length != left.min(common.mtu) || (length == left) != header.has(LAST) {
            return invalid(format!(
                "a packet of {length} bytes where {left} are to come in packets of {}; both sides need one MTU",
                common.mtu
            ));
        }
        self.open = (length < left).then_some((total, left - length));
        let received =
            header.has(IMMEDIATE).then_some(Received { immediate: header.immediate, bytes: total });
        if received.is_some() && common.receive_cqn.is_none() {
            return invalid(
                "a write with an immediate value, and this queue pair has no receive side".to_owned(),
            );
        }
        let to = Bytes { key, address, length };
        if length > 0 {
            room.regions.find(common.pd, to, Side::Remote, Want::Write)?;
        }
        let relaxed = room.regions.of(key).is_some_and(|region| region.access.relaxed_ordering);
        let delivery = Delivery::new(to, payload.to_vec(), room.regions, room.chance);
        Ok(Does::Write { delivery, relaxed, received })
    }

    /// Does what can be done in this step; true if anything was, or waits for the adversary alone.
    pub(super) fn advance(&mut self, common: &mut Common, room: &mut Room<'_>) -> bool {
        match common.state {
            State::Rtr | State::Rts => {}
            State::Error => {
                if !self.refused {
                    self.work.clear();
                    self.answers.clear();
                }
            }
            State::Reset | State::Init => return false,
        }
        let mut busy = !self.work.is_empty();
        // Without an adversary the oldest is all that has to be looked at, and a read is answered before anything
        // behind it happens.
        while self.execute(room) | self.retire(common, room) {
            if room.chance.is_adverse() {
                break;
            }
            if self.answers.ends_with_read() {
                self.answers.send(common, self.rnr_timer, room);
            }
        }
        busy |= self.answers.send(common, self.rnr_timer, room);
        busy | self.flush_receives(common, room)
    }

    /// Delivers writes and does atomics that may go now.
    fn execute(&mut self, room: &mut Room<'_>) -> bool {
        let mut any = false;
        let look = if room.chance.is_adverse() { LOOK } else { 1 };
        for at in 0..self.work.len().min(look) {
            if !self.may_go(at) {
                continue;
            }
            match &mut self.work[at].does {
                Does::Write { delivery, .. } => {
                    any |= delivery.advance(Late::Piece, room.regions, room.chance)
                }
                Does::Atomic { bytes, atomic, old, .. }
                    if old.is_none() && !room.chance.late(Late::Piece) =>
                {
                    let span = room.regions.still(*bytes);
                    *old = Some(span.and_then(|span| atomic.apply(&span)).unwrap_or(0));
                    any = true;
                }
                _ => {}
            }
        }
        any
    }

    /// Whether a request may be executed before those in front of it are.
    fn may_go(&self, at: usize) -> bool {
        let later = &self.work[at];
        self.work.iter().take(at).all(|earlier| {
            if earlier.is_executed() || earlier.message == later.message {
                return true;
            }
            let (Does::Write { delivery, relaxed, .. }, to) = (&earlier.does, later.memory()) else {
                return false;
            };
            let relaxed = *relaxed || matches!(later.does, Does::Write { relaxed: true, .. });
            relaxed && to.is_some_and(|to| !delivery.overlaps(to))
        })
    }

    /// Takes what is executed off the front and answers it.
    fn retire(&mut self, common: &mut Common, room: &mut Room<'_>) -> bool {
        let mut any = false;
        while let Some(Work { psn, does, .. }) =
            self.work.pop_front_if(|work| work.is_executed() || work.is_word())
        {
            any = true;
            room.log.statistics.served += 1;
            match does {
                Does::Write { received, .. } => {
                    if let (Some(Received { immediate, bytes }), Some(cqn)) = (received, common.receive_cqn) {
                        let says = Says::Received { immediate, bytes };
                        self.complete_receive(says, cqn, common, room);
                    }
                    self.answers.push(Answer::Ack { psn });
                }
                Does::Read { bytes } => self.answers.push(Answer::Read { psn, bytes, sent: 0 }),
                Does::Atomic { old, .. } => self.answers.push(Answer::Atomic { psn, old: old.unwrap_or(0) }),
                Does::NotReady => self.answers.push(Answer::Rnr { psn }),
                Does::Refuse { syndrome } => {
                    self.answers.push(Answer::Nak { psn, syndrome });
                    let qpn = common.qpn;
                    let event = match syndrome {
                        Syndrome::RemoteAccess => Event::QueuePairAccess { qpn },
                        _ => Event::QueuePairRequest { qpn },
                    };
                    common.fail(event, room.log);
                }
            }
        }
        any
    }

    fn complete_receive(&mut self, says: Says, cqn: u32, common: &mut Common, room: &mut Room<'_>) {
        // Who sees the completion sees the bytes.
        fence(Ordering::Release);
        let (qpn, user_index, counter) = (common.qpn, common.user_index, self.received);
        self.received = self.received.wrapping_add(1);
        room.complete(cqn, &Completion { qpn, user_index, counter, says }, common);
    }
}

impl Work {
    fn is_executed(&self) -> bool {
        match &self.does {
            Does::Write { delivery, .. } => delivery.is_done(),
            Does::Atomic { old, .. } => old.is_some(),
            _ => false,
        }
    }

    /// Whether there is nothing to execute, but something to say when its turn comes.
    fn is_word(&self) -> bool {
        matches!(self.does, Does::Read { .. } | Does::Refuse { .. } | Does::NotReady)
    }

    /// The memory that it changes.
    fn memory(&self) -> Option<&Range<u64>> {
        match &self.does {
            Does::Write { delivery, .. } => Some(delivery.memory()),
            Does::Atomic { memory, .. } => Some(memory),
            _ => None,
        }
    }
}
