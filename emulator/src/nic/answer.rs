//! What a responder has to say, in order.

use super::chance::Late;
use super::fabric::{Peer, Sent};
use super::packet::{Header, Kind};
use super::qp::Common;
use super::regions::{Bytes, Side, Want};
use super::room::Room;
use super::syndrome::Syndrome;
use std::collections::VecDeque;
use std::sync::atomic::{Ordering, fence};

#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// Every write up to this packet is executed.
    Ack {
        psn: u32,
    },
    /// Bytes are sampled as they leave.
    Read {
        psn: u32,
        bytes: Bytes,
        sent: u64,
    },
    Atomic {
        psn: u32,
        old: u64,
    },
    Nak {
        psn: u32,
        syndrome: Syndrome,
    },
    Rnr {
        psn: u32,
    },
}

#[derive(Debug, Default)]
pub(super) struct Answers(VecDeque<Answer>);

impl Answers {
    pub(super) fn push(&mut self, answer: Answer) {
        // One acknowledgement stands for all before it.
        if let (Answer::Ack { .. }, Some(last @ Answer::Ack { .. })) = (answer, self.0.back_mut()) {
            *last = answer;
        } else {
            self.0.push_back(answer);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the newest answer is one whose bytes are still to be sampled.
    pub(super) fn ends_with_read(&self) -> bool {
        matches!(self.0.back(), Some(Answer::Read { .. }))
    }

    /// Reads and atomics that are not answered.
    pub(super) fn results(&self) -> usize {
        self.0.iter().filter(|answer| matches!(answer, Answer::Read { .. } | Answer::Atomic { .. })).count()
    }

    /// Sends what can be sent; true if anything was, or waits for the adversary alone.
    pub(super) fn send(&mut self, common: &mut Common, rnr_timer: u8, room: &mut Room<'_>) -> bool {
        let mut busy = false;
        let Some(mut peer) = common.peer else { return false };
        while let Some(answer) = self.0.front_mut() {
            if !room.link {
                break;
            }
            if room.chance.late(Late::Answer) {
                busy = true;
                break;
            }
            match answer.send(&mut peer, common, rnr_timer, room) {
                (Sent::Later, _) => break,
                (_, true) => drop(self.0.pop_front()),
                (_, false) => {}
            }
            busy = true;
        }
        common.peer = Some(peer);
        busy
    }
}

impl Answer {
    /// Sends the answer, or a packet of it; with whether that was all.
    fn send(&mut self, peer: &mut Peer, common: &Common, rnr_timer: u8, room: &mut Room<'_>) -> (Sent, bool) {
        let mut payload = Vec::new();
        let mut ends = true;
        let (psn, mut header) = match self {
            Self::Ack { psn } => (*psn, Header::new(Kind::Ack)),
            Self::Atomic { psn, old } => {
                (*psn, Header { operands: [*old, 0, 0, 0], ..Header::new(Kind::AtomicResult) })
            }
            Self::Nak { psn, syndrome } => {
                (*psn, Header { extra: *syndrome as u32, ..Header::new(Kind::Nak) })
            }
            Self::Rnr { psn } => (*psn, Header { extra: u32::from(rnr_timer), ..Header::new(Kind::Rnr) }),
            Self::Read { psn, bytes, sent } => {
                let length = (bytes.length - *sent).min(common.mtu);
                ends = *sent + length == bytes.length;
                let part = Bytes { address: bytes.address + *sent, length, ..*bytes };
                match room.regions.find(common.pd, part, Side::Remote, Want::Read) {
                    Ok(span) => {
                        payload.resize(length as usize, 0);
                        span.read(0, &mut payload);
                        // What is answered later is sampled later.
                        fence(Ordering::Acquire);
                        (*psn, Header { address: *sent, ..Header::new(Kind::ReadData) })
                    }
                    Err(_) if length == 0 => (*psn, Header::new(Kind::ReadData)),
                    // Deregistered since the request came.
                    Err(_) => {
                        ends = true;
                        let extra = Syndrome::RemoteOperation as u32;
                        (*psn, Header { extra, ..Header::new(Kind::Nak) })
                    }
                }
            }
        };
        header.psn = psn;
        header.source_qpn = common.qpn;
        header.target_qpn = common.remote_qpn;
        let outcome = room.port.send(peer, header, &payload);
        if outcome != Sent::Later {
            room.log.statistics.sent += 1;
            if let Self::Read { sent, .. } = self {
                *sent += payload.len() as u64;
            }
        }
        (outcome, ends)
    }
}
