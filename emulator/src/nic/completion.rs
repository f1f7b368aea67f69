//! Completion queues: rings of entries of 64 bytes, or one entry that is written over and over.
//!
//! An entry belongs to software when bit 0 of byte 63 is the parity of the consumer's round. So the last 8 bytes,
//! which hold that byte and the index, are written last, in one piece, after the rest.

use super::description::{CqDescription, Uar, Umem};
use super::event::Event;
use super::log::Log;
use super::memory::Span;
use super::syndrome::Syndrome;
use super::violation::Rule;
use std::sync::atomic::{Ordering, fence};

/// Bytes of an entry.
pub(super) const ENTRY: u64 = 64;
/// The code in the upper half of byte 63 of an entry that was never written.
const INVALID: u8 = 0xf;

/// What a completion says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) qpn: u32,
    pub(super) user_index: u32,
    /// Index of the work request's first WQEBB, or of the receive.
    pub(super) counter: u16,
    pub(super) says: Says,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Says {
    /// A work request went well.
    Done { opcode: u8, bytes: u32 },
    /// A write with an immediate value came in.
    Received { immediate: u32, bytes: u32 },
    /// A work request failed.
    Failed { opcode: u8, syndrome: Syndrome, vendor: u8 },
    /// A receive was flushed.
    ReceiveFlushed,
}

#[derive(Debug)]
pub(super) struct Cq {
    cqn: u32,
    entries: Span,
    log_size: u8,
    record: Option<Span>,
    collapsed: bool,
    ignore_overrun: bool,
    pub(super) uar: Uar,
    /// The memory that it lies in.
    pub(super) umems: [Umem; 2],
    /// Completions written so far.
    produced: u64,
    armed: bool,
    /// It has overrun, and takes no more.
    pub(super) broken: bool,
}

impl Cq {
    pub(super) fn new(cqn: u32, what: &CqDescription, entries: Span, record: Option<Span>) -> Self {
        let &CqDescription { buffer, log_size, collapsed, ignore_overrun, uar, .. } = what;
        let umems = [buffer.umem, what.record.map_or(buffer.umem, |record| record.umem)];
        Self {
            cqn,
            entries,
            log_size,
            record,
            collapsed,
            ignore_overrun,
            uar,
            umems,
            produced: 0,
            armed: false,
            broken: false,
        }
    }

    /// Asks for an event with the next completion behind the consumer's index.
    pub(super) fn arm(&mut self, consumed: u32, log: &mut Log) {
        if (self.produced as u32).wrapping_sub(consumed) & 0xff_ffff == 0 {
            self.armed = true;
        } else {
            log.event(Event::Completion { cqn: self.cqn });
        }
    }

    /// Writes a completion. After an overrun the queue is broken, and so is every queue pair that uses it.
    pub(super) fn write(&mut self, completion: &Completion, now_ns: u64, log: &mut Log) {
        if self.broken || !self.has_room(completion.qpn, log) {
            return;
        }
        let slot = if self.collapsed { 0 } else { self.produced & ((1 << self.log_size) - 1) };
        let Some(entry) = self.entries.part(slot * ENTRY, ENTRY) else { return };
        self.check_fresh(&entry, completion.qpn, log);
        let owner = (self.produced >> self.log_size & 1) as u8;
        let bytes = completion.bytes(owner, now_ns);
        entry.write(0, &bytes[..56]);
        let [.., a, b, c, d, e, f, g, h] = bytes;
        let last = u64::from_ne_bytes([a, b, c, d, e, f, g, h]);
        match entry.word64(56) {
            Some(word) => word.store(last, Ordering::Release),
            // Queues are aligned to 64 bytes when they are made.
            None => entry.write(56, &bytes[56..]),
        }
        self.produced += 1;
        log.statistics.completions += 1;
        if std::mem::take(&mut self.armed) {
            log.event(Event::Completion { cqn: self.cqn });
        }
    }

    fn has_room(&mut self, qpn: u32, log: &mut Log) -> bool {
        let Some(record) = self.record.filter(|_| !self.ignore_overrun) else { return true };
        let mut word = [0; 4];
        record.read(0, &mut word);
        // Entries that the consumer gave back may be written from here on.
        fence(Ordering::Acquire);
        let consumed = u32::from_be_bytes(word);
        let outstanding = (self.produced as u32).wrapping_sub(consumed) & 0xff_ffff;
        if outstanding < 1 << self.log_size {
            return true;
        }
        let entries = 1_u32 << self.log_size;
        let (rule, sentence) = if outstanding > entries {
            let sentence = format!(
                "completion queue {:#x}: its record says {consumed:#x} completions were taken, {:#x} were written",
                self.cqn,
                self.produced & 0xff_ffff
            );
            (Rule::Consumer, sentence)
        } else {
            let sentence = format!(
                "completion queue {:#x} is full with {entries} entries; poll it, and say so in its record",
                self.cqn
            );
            (Rule::Overrun, sentence)
        };
        log.violation(qpn, rule, &word, sentence);
        log.event(Event::CompletionQueueError { cqn: self.cqn });
        self.broken = true;
        false
    }

    /// An entry's first use: software must have made it one that holds no completion.
    fn check_fresh(&self, entry: &Span, qpn: u32, log: &mut Log) {
        let first_round =
            if self.collapsed { self.produced == 0 } else { self.produced >> self.log_size == 0 };
        if !first_round {
            return;
        }
        let mut owner = [0];
        entry.read(63, &mut owner);
        if owner[0] >> 4 != INVALID {
            let sentence = format!(
                "completion queue {:#x}: byte 63 of entry {} is {:#04x} before its first use; fill the queue with 0xff",
                self.cqn, self.produced, owner[0]
            );
            log.violation(qpn, Rule::CompletionBuffer, &owner, sentence);
        }
    }
}

impl Completion {
    fn bytes(&self, owner: u8, now_ns: u64) -> [u8; 64] {
        let mut bytes = [0; 64];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(32, &self.user_index.to_be_bytes());
        put(48, &now_ns.to_be_bytes());
        let (code, first) = match self.says {
            Says::Done { opcode, bytes } => {
                put(44, &bytes.to_be_bytes());
                (0, opcode)
            }
            Says::Received { immediate, bytes } => {
                put(36, &immediate.to_be_bytes());
                put(44, &bytes.to_be_bytes());
                (1, 0)
            }
            Says::Failed { opcode, syndrome, vendor } => {
                // Bytes 52 and 53 are hardware's own; the rest of an error entry is not defined.
                put(48, &[0; 6]);
                put(54, &[vendor, syndrome as u8]);
                (13, opcode)
            }
            Says::ReceiveFlushed => {
                put(48, &[0; 6]);
                put(54, &[0, Syndrome::Flushed as u8]);
                (14, 0)
            }
        };
        put(56, &(u32::from(first) << 24 | self.qpn).to_be_bytes());
        put(60, &self.counter.to_be_bytes());
        put(63, &[code << 4 | owner]);
        bytes
    }
}
