//! Queue pairs: their parts, and the states that they go through.
//!
//! | state | doorbell | sends | answers its peer |
//! |---|---|---|---|
//! | reset, init | a violation | no | no |
//! | ready to receive | a violation | no | yes |
//! | ready to send | yes | yes | yes |
//! | error | flushes | no | no |

use super::description::{Access, Pd, QpDescription, QpState, State, Transition, Uar, Umem};
use super::event::Event;
use super::fabric::Peer;
use super::log::Log;
use super::memory::Span;
use super::refused::Refused;
use super::requester::Requester;
use super::responder::Responder;

/// What both halves of a queue pair know.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) qpn: u32,
    pub(super) pd: Pd,
    pub(super) uar: Uar,
    /// The memory that it lies in.
    pub(super) umems: [Umem; 2],
    pub(super) user_index: u32,
    pub(super) send_cqn: u32,
    pub(super) receive_cqn: Option<u32>,
    pub(super) record: Span,
    pub(super) state: State,
    pub(super) access: Access,
    pub(super) peer: Option<Peer>,
    pub(super) remote_qpn: u32,
    /// Payload of a packet in bytes.
    pub(super) mtu: u64,
    /// Longest message in bytes.
    pub(super) longest: u64,
}

impl Common {
    /// To the error state, with the event that says why.
    pub(super) fn fail(&mut self, event: Event, log: &mut Log) {
        if self.state != State::Error {
            self.state = State::Error;
            log.event(event);
        }
    }
}

#[derive(Debug)]
pub(super) struct Qp {
    pub(super) common: Common,
    pub(super) requester: Requester,
    pub(super) responder: Responder,
}

impl Qp {
    pub(super) fn new(qpn: u32, what: &QpDescription, send: Span, record: Span) -> Self {
        let &QpDescription { pd, uar, user_index, send_cqn, receive, log_send, .. } = what;
        let common = Common {
            qpn,
            pd,
            uar,
            umems: [what.send.umem, what.record.umem],
            user_index,
            send_cqn,
            receive_cqn: receive.map(|receive| receive.cqn),
            record,
            state: State::Reset,
            access: Access::default(),
            peer: None,
            remote_qpn: 0,
            mtu: 0,
            longest: 0,
        };
        Self { common, requester: Requester::new(send, log_send), responder: Responder::default() }
    }

    pub(super) fn query(&self) -> QpState {
        QpState {
            state: self.common.state,
            hw_send_wqebb: self.requester.through() as u16,
            sw_send_wqebb: self.requester.rung() as u16,
        }
    }

    pub(super) fn change(&mut self, to: Transition) -> Result<(), Refused> {
        let common = &mut self.common;
        match (common.state, to) {
            (_, Transition::ToReset) => {
                self.requester.reset();
                self.responder = Responder::default();
                common.peer = None;
                common.state = State::Reset;
            }
            (State::Reset, Transition::ToError) => return Err(common.no_way(State::Error)),
            // Asked for by the driver, so there is no event.
            (_, Transition::ToError) => common.state = State::Error,
            (State::Reset, Transition::ToInit { access }) => {
                common.access = access;
                common.state = State::Init;
            }
            (_, Transition::ToInit { .. }) => return Err(common.no_way(State::Init)),
            (State::Init, Transition::ToRtr { .. }) => self.enter_rtr(to)?,
            (_, Transition::ToRtr { .. }) => return Err(common.no_way(State::Rtr)),
            (State::Rtr, Transition::ToRts { .. }) => self.enter_rts(to)?,
            (_, Transition::ToRts { .. }) => return Err(common.no_way(State::Rts)),
        }
        Ok(())
    }

    fn enter_rtr(&mut self, to: Transition) -> Result<(), Refused> {
        let Transition::ToRtr {
            remote_qpn,
            receive_psn,
            mtu,
            address,
            log_max_inbound_reads,
            log_max_message,
            min_rnr_timer,
        } = to
        else {
            return Ok(());
        };
        let refuse = |what, found: u32, needed| Err(Refused::Value { what, found: u64::from(found), needed });
        if !matches!(mtu, 256 | 512 | 1024 | 2048 | 4096) {
            return refuse("the path's MTU", mtu, "256, 512, 1024, 2048 or 4096");
        }
        if log_max_message > 30 {
            return refuse("log_msg_max", u32::from(log_max_message), "at most 30 (1 GiB)");
        }
        if log_max_inbound_reads > 7 {
            return refuse("log_rra_max", u32::from(log_max_inbound_reads), "at most 7");
        }
        if min_rnr_timer > 31 {
            return refuse("min_rnr_nak", u32::from(min_rnr_timer), "at most 31");
        }
        for (what, found) in [("the remote queue pair", remote_qpn), ("the receive PSN", receive_psn)] {
            if found > 0xff_ffff {
                return refuse(what, found, "at most 24 bits");
            }
        }
        self.responder = Responder::new(receive_psn, log_max_inbound_reads, min_rnr_timer);
        let common = &mut self.common;
        common.remote_qpn = remote_qpn;
        common.mtu = u64::from(mtu);
        common.longest = 1 << log_max_message;
        common.peer = Some(Peer::new(address));
        common.state = State::Rtr;
        Ok(())
    }

    fn enter_rts(&mut self, to: Transition) -> Result<(), Refused> {
        let Transition::ToRts { send_psn, log_max_outbound_reads, ack_timeout, retry_count, rnr_retry } = to
        else {
            return Ok(());
        };
        let refuse = |what, found: u8, needed| Err(Refused::Value { what, found: u64::from(found), needed });
        if send_psn > 0xff_ffff {
            let found = u64::from(send_psn);
            return Err(Refused::Value { what: "the send PSN", found, needed: "at most 24 bits" });
        }
        if log_max_outbound_reads > 7 {
            return refuse("log_sra_max", log_max_outbound_reads, "at most 7");
        }
        if ack_timeout > 31 {
            return refuse("ack_timeout", ack_timeout, "at most 31 (5 bits)");
        }
        if retry_count > 7 {
            return refuse("retry_count", retry_count, "at most 7 (3 bits)");
        }
        if rnr_retry > 7 {
            return refuse("rnr_retry", rnr_retry, "at most 7 (3 bits)");
        }
        self.requester.ready(send_psn, 1 << log_max_outbound_reads, ack_timeout, retry_count, rnr_retry);
        self.common.state = State::Rts;
        Ok(())
    }
}

impl Common {
    fn no_way(&self, to: State) -> Refused {
        Refused::Transition { qpn: self.qpn, from: self.state, to }
    }
}
