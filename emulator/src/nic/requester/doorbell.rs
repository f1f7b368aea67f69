//! Doorbells and the record behind them.
//!
//! The record's word 1 says how many WQEBBs are posted, modulo 65536; a doorbell says that the record was moved. So the
//! index to go by is the record's, and what a doorbell names must not be ahead of it.

use super::queue::Requester;
use crate::nic::description::State;
use crate::nic::event::Event;
use crate::nic::qp::Common;
use crate::nic::room::Room;
use crate::nic::violation::Rule;
use crate::nic::wqe::BLOCK;
use std::sync::atomic::{Ordering, fence};

/// Offset of the send queue's word in a doorbell record.
const SEND_WORD: u64 = 4;

impl Requester {
    /// A doorbell of 8 bytes for this queue pair, stored to the register at `offset` of its page.
    pub(in crate::nic) fn doorbell(
        &mut self,
        offset: u32,
        bytes: [u8; 8],
        common: &mut Common,
        room: &mut Room<'_>,
    ) {
        if self.lost_doorbells > 0 {
            self.lost_doorbells -= u32::from(self.lost_doorbells != u32::MAX);
            // Not the driver's fault.
            self.never_rung_said = true;
            return;
        }
        if !matches!(common.state, State::Rts | State::Error) {
            let sentence = format!(
                "a doorbell in state {:?}; ring only from ready-to-send on, it is not remembered",
                common.state
            );
            room.log.violation(common.qpn, Rule::DoorbellState, &bytes, sentence);
            return;
        }
        if !self.take_record(common, room) {
            return;
        }
        if let Err(sentence) = self.check_bell(offset, bytes, common.qpn) {
            room.log.violation(common.qpn, Rule::DoorbellIndex, &bytes, sentence);
            common.fail(Event::QueuePairFatal { qpn: common.qpn }, room.log);
            return;
        }
        self.rung = self.seen;
        self.ahead_since = None;
        self.never_rung_said = false;
    }

    /// Another doorbell of a page that several queue pairs share, where one may have been stored over another.
    pub(in crate::nic) fn doorbell_beside(&mut self, common: &mut Common, room: &mut Room<'_>) {
        let is_lost = self.lost_doorbells > 0;
        if !is_lost && common.state == State::Rts && self.take_record(common, room) {
            self.rung = self.seen;
            self.ahead_since = None;
        }
    }

    /// Looks at the record between doorbells: for a value that goes back, or that nobody rings for. A queue that is at
    /// work may also use what it sees.
    pub(super) fn look_at_record(&mut self, common: &mut Common, room: &mut Room<'_>) {
        if common.state != State::Rts || !self.take_record(common, room) {
            return;
        }
        if self.seen == self.rung {
            self.ahead_since = None;
            return;
        }
        if self.fetched < self.rung && room.chance.is_adverse() && room.chance.below(2) == 0 {
            self.rung = self.seen;
            return;
        }
        let since = *self.ahead_since.get_or_insert(room.now);
        let limit = room.config.watchdog_us.saturating_mul(1000);
        if limit != 0 && room.now - since >= limit && !self.never_rung_said {
            self.never_rung_said = true;
            let sentence = format!(
                "its record says {} WQEBBs are posted, {} were rung for, and no doorbell came for {} microseconds",
                self.seen,
                self.rung,
                (room.now - since) / 1000
            );
            room.log.violation(common.qpn, Rule::NeverRung, &(self.seen as u32).to_be_bytes(), sentence);
        }
    }

    /// Reads the record; false if its value is none that may be there.
    fn take_record(&mut self, common: &mut Common, room: &mut Room<'_>) -> bool {
        let Some(word) = common.record.word32(SEND_WORD) else { return false };
        let value = u32::from_be(word.load(Ordering::Relaxed));
        // The entries that it counts were written before it.
        fence(Ordering::Acquire);
        if value == self.seen as u16 as u32 {
            return true;
        }
        let step = (value as u16).wrapping_sub(self.seen as u16);
        let posted = self.seen + u64::from(step) - self.freed;
        let (rule, sentence) = if value > 0xffff {
            let hint = if value.trailing_zeros() >= 16 { "; is it in the wrong byte order?" } else { "" };
            (Rule::Reserved, format!("its record reads {value:#010x}: the upper 16 bits are reserved{hint}"))
        } else if posted <= self.depth() {
            self.seen += u64::from(step);
            return true;
        } else if step > 0x8000 {
            let sentence = format!(
                "its record went back from {:#06x} to {value:#06x}: two that ring must not overtake each other",
                self.seen as u16
            );
            (Rule::RecordBackwards, sentence)
        } else {
            let sentence = format!(
                "its record says that {posted} WQEBBs are posted and not known to be complete; the queue has {}",
                self.depth()
            );
            (Rule::Depth, sentence)
        };
        room.log.violation(common.qpn, rule, &value.to_be_bytes(), sentence);
        common.fail(Event::QueuePairFatal { qpn: common.qpn }, room.log);
        false
    }

    /// A doorbell is either the next index, or the first 8 bytes of the newest entry.
    ///
    /// Those of one register come in order. libmlx5 uses a pair of registers in turn, and who looks at memory cannot
    /// tell which of the two was stored first.
    fn check_bell(&mut self, offset: u32, bytes: [u8; 8], qpn: u32) -> Result<(), String> {
        let [top, high, low, opcode, .., units] = bytes;
        let index = u16::from_be_bytes([high, low]);
        let names_entry = units != 0;
        if !names_entry && (top, opcode) != (0, 0) {
            return Err(format!(
                "a doorbell of queue pair {qpn:#x} is an index shifted by 8 bits; its bytes 0 and 3 are \
                 {top:#04x} and {opcode:#04x}, and must be 0"
            ));
        }
        // Behind the record by so many WQEBBs; an entry is behind by one at least.
        let next = if names_entry { index.wrapping_add(1) } else { index };
        let behind = u64::from((self.seen as u16).wrapping_sub(next));
        if behind > self.depth().min(self.seen) || names_entry && behind == self.seen {
            return Err(format!(
                "a doorbell for index {next:#06x} while the record says {:#06x}: the record must be written first",
                self.seen as u16
            ));
        }
        let named = self.seen - behind;
        let bell = self.bells.get(&offset).copied().unwrap_or(0);
        if named < bell {
            return Err(format!(
                "a doorbell for index {next:#06x} after one for {:#06x}: two that ring must not overtake each other",
                bell as u16
            ));
        }
        if names_entry && named > self.fetched {
            let mut entry = [0; 8];
            self.send.read((named - 1) % self.depth() * BLOCK as u64, &mut entry);
            if entry != bytes {
                return Err(format!(
                    "a doorbell names the entry at {index:#06x} by its first 8 bytes, which are {entry:02x?} there"
                ));
            }
        }
        self.bells.insert(offset, named);
        Ok(())
    }
}
