//! Completions, in the order of the queue; and the flush that follows an error.

use super::queue::{Pending, Requester, Stage};
use crate::nic::chance::Late;
use crate::nic::completion::{Completion, Says};
use crate::nic::description::State;
use crate::nic::qp::Common;
use crate::nic::room::Room;
use crate::nic::syndrome::Syndrome;
use crate::nic::wqe::blocks_of;

impl Requester {
    /// Completes what is done, up to the first that is not.
    pub(super) fn complete(&mut self, common: &mut Common, room: &mut Room<'_>) -> bool {
        let mut busy = false;
        while let Some(oldest) = self.pending.front() {
            let stage = oldest.stage;
            if matches!(stage, Stage::Queued | Stage::Sent) {
                break;
            }
            busy = true;
            if room.chance.late(Late::Completion) {
                break;
            }
            let Some(done) = self.pending.pop_front() else { break };
            let opcode = done.opcode;
            if let Stage::Failed { syndrome, vendor } = stage {
                // Before the completion: who sees it may query the state.
                common.state = State::Error;
                self.leave(&done, Says::Failed { opcode, syndrome, vendor }, common, room);
                break;
            }
            let bytes = done.operation.length() as u32;
            self.leave(&done, Says::Done { opcode, bytes }, common, room);
            if common.state != State::Rts {
                break;
            }
        }
        busy
    }

    /// In the error state: whatever is posted completes with "flushed".
    pub(super) fn flush(&mut self, common: &mut Common, room: &mut Room<'_>) -> bool {
        self.landings.clear();
        self.deadline = None;
        let mut busy = false;
        loop {
            if self.pending.is_empty() && self.fetched == self.rung {
                return busy;
            }
            busy = true;
            if room.chance.late(Late::Completion) {
                return true;
            }
            let flushed = |opcode| Says::Failed { opcode, syndrome: Syndrome::Flushed, vendor: 0 };
            if let Some(pending) = self.pending.pop_front() {
                let says = match pending.stage {
                    // It had failed when something else brought the error state; what is behind it had not.
                    Stage::Failed { syndrome, vendor } if !self.told => {
                        Says::Failed { opcode: pending.opcode, syndrome, vendor }
                    }
                    _ => flushed(pending.opcode),
                };
                self.leave(&pending, says, common, room);
                continue;
            }
            let first = self.blocks(self.fetched, 1);
            let posted = self.rung - self.fetched;
            // What has no size cannot be stepped over: it takes the rest along.
            let blocks = blocks_of(&first).filter(|&blocks| blocks <= posted).unwrap_or(posted);
            let start = self.fetched;
            self.fetched += blocks;
            self.give_back(start, self.fetched, true, flushed(first[3]), common, room);
        }
    }

    fn leave(&mut self, done: &Pending, says: Says, common: &mut Common, room: &mut Room<'_>) {
        let failed = matches!(says, Says::Failed { .. });
        self.told |= failed && !matches!(says, Says::Failed { syndrome: Syndrome::Flushed, .. });
        self.give_back(done.start, done.end, failed || done.signalled, says, common, room);
    }

    /// Software may use the WQEBBs again once it sees the completion.
    fn give_back(
        &mut self,
        start: u64,
        end: u64,
        completes: bool,
        says: Says,
        common: &mut Common,
        room: &mut Room<'_>,
    ) {
        if room.config.poison {
            self.poison(start, end);
        }
        self.through = end;
        if completes {
            self.freed = end;
            let (qpn, user_index, counter) = (common.qpn, common.user_index, start as u16);
            let completion = Completion { qpn, user_index, counter, says };
            room.complete(common.send_cqn, &completion, common);
        }
    }
}
