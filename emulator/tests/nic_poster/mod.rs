//! A tiny driver for tests: writes queue entries by hand, byte for byte from the tables of the programmer's reference,
//! and shares nothing with the encoders of `device-std`.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test file uses a part")]

pub mod entry;
pub mod memory;
pub mod pair;

pub use entry::{Entry, FENCE, SIGNAL};
pub use memory::Memory;
pub use pair::{Pair, Setup};

use oxshmem_emulator::nic::{
    Access, Address, CqDescription, Keys, Nic, Pd, Place, QpDescription, Receive, Syndrome, Transition, Uar,
};
use std::sync::Arc;

/// What data segments and others name the first byte of a heap by: not its address, so that a mix-up is seen.
pub const IOVA: u64 = 0x7000_0000_0000;
/// Bytes of a heap.
pub const HEAP: u64 = 1 << 20;

/// A completion, read by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cqe {
    pub code: u8,
    pub opcode: u8,
    pub qpn: u32,
    pub counter: u16,
    pub bytes: u32,
    pub immediate: u32,
    pub user_index: u32,
    pub syndrome: Option<Syndrome>,
    pub vendor: u8,
}

/// One side: a heap, a queue pair, its queues.
pub struct End {
    pub nic: Arc<Nic>,
    pub pd: Pd,
    pub heap: Memory,
    pub keys: Keys,
    pub queue: Memory,
    pub umem: oxshmem_emulator::nic::Umem,
    pub page: Memory,
    pub uar: Uar,
    pub cqn: u32,
    pub qpn: u32,
    /// The WQEBB that is written next.
    pub posted: u64,
    pub consumed: u64,
    pub log_send: u8,
    pub log_completions: u8,
    pub collapsed: bool,
}

/// Where the parts of a queue's memory lie.
const RECORD: u64 = 0;
const CQ_RECORD: u64 = 8;
const COMPLETIONS: u64 = 4096;

impl End {
    pub fn new(nic: Arc<Nic>, setup: &Setup) -> Self {
        let pd = nic.alloc_pd().unwrap();
        let heap = Memory::new(HEAP);
        // SAFETY: this value owns the memory; its drop order does not matter, since nobody steps the NIC then.
        let keys = unsafe { nic.register(pd, IOVA, heap.start(), HEAP, setup.access) }.unwrap();
        let send = COMPLETIONS + (64 << setup.log_completions);
        let bytes = send + (64 << setup.log_send);
        let (queue, page) = (Memory::new(bytes), Memory::new(4096));
        queue.write(COMPLETIONS, &vec![0xff; 64 << setup.log_completions]);
        // SAFETY: as above.
        let (umem, uar) = unsafe {
            (nic.register_umem(queue.start(), bytes).unwrap(), nic.alloc_uar(page.start()).unwrap())
        };
        let place = |offset| Place { umem, offset };
        let cq = CqDescription {
            buffer: place(COMPLETIONS),
            log_size: setup.log_completions,
            record: Some(place(CQ_RECORD)),
            collapsed: setup.collapsed,
            ignore_overrun: setup.collapsed,
            uar,
        };
        let cqn = nic.create_cq(&cq).unwrap();
        let qp = QpDescription {
            pd,
            send: place(send),
            log_send: setup.log_send,
            record: place(RECORD),
            send_cqn: cqn,
            receive: setup.receive.then_some(Receive { cqn }),
            uar,
            user_index: 0xabc,
        };
        let qpn = nic.create_qp(&qp).unwrap();
        Self {
            nic,
            pd,
            heap,
            keys,
            queue,
            umem,
            page,
            uar,
            cqn,
            qpn,
            posted: 0,
            consumed: 0,
            log_send: setup.log_send,
            log_completions: setup.log_completions,
            collapsed: setup.collapsed,
        }
    }

    /// To ready-to-send, with `peer` as the other side.
    pub fn connect(&self, lid: u16, qpn: u32, setup: &Setup, psn: (u32, u32)) {
        let change = |to| self.nic.modify_qp(self.qpn, to).unwrap();
        change(Transition::ToInit { access: setup.rights });
        change(Transition::ToRtr {
            remote_qpn: qpn,
            receive_psn: psn.1,
            mtu: setup.mtu,
            address: Address::Lid(lid),
            log_max_inbound_reads: setup.log_reads,
            log_max_message: 30,
            min_rnr_timer: 1,
        });
        change(Transition::ToRts {
            send_psn: psn.0,
            log_max_outbound_reads: setup.log_reads,
            ack_timeout: setup.ack_timeout,
            retry_count: setup.retries,
            rnr_retry: setup.rnr_retry,
        });
    }

    /// Back to reset and ready again, with empty queues.
    pub fn index(&self) -> u16 {
        self.posted as u16
    }

    fn send_offset(&self, block: u64) -> u64 {
        COMPLETIONS + (64 << self.log_completions) + (block & ((1 << self.log_send) - 1)) * 64
    }

    /// Writes an entry's bytes where the next one belongs; bytes behind it in its last WQEBB stay as they are.
    pub fn write_entry(&mut self, bytes: &[u8]) -> u16 {
        let index = self.index();
        for (at, block) in (self.posted..).zip(bytes.chunks(64)) {
            self.queue.write(self.send_offset(at), block);
        }
        self.posted += bytes.len().div_ceil(64) as u64;
        index
    }

    /// An entry for this queue, with its index and number; posted, not rung.
    pub fn post(&mut self, entry: Entry) -> u16 {
        let bytes = entry.at(self.index(), self.qpn);
        self.write_entry(&bytes)
    }

    pub fn set_record(&self, value: u32) {
        self.queue.store32(RECORD + 4, value.to_be());
    }

    pub fn set_receives(&self, value: u32) {
        self.queue.store32(RECORD, value.to_be());
    }

    pub fn bell(&self, first: u32, second: u32) {
        let [a, b, c, d] = first.to_be_bytes();
        let [e, f, g, h] = second.to_be_bytes();
        self.page.store64(0x800, u64::from_ne_bytes([a, b, c, d, e, f, g, h]));
    }

    /// Record, then doorbell with the next index.
    pub fn ring(&self) {
        self.set_record(u32::from(self.index()));
        self.bell(u32::from(self.index()) << 8, self.qpn << 8);
    }

    pub fn read_entry(&self, block: u64) -> Vec<u8> {
        self.queue.read(self.send_offset(block), 64)
    }

    /// The next completion, if it is there.
    pub fn poll(&mut self) -> Option<Cqe> {
        let slot = if self.collapsed { 0 } else { self.consumed & ((1 << self.log_completions) - 1) };
        let at = COMPLETIONS + slot * 64;
        let last = self.queue.load64(at + 56).to_ne_bytes();
        let owner = (self.consumed >> self.log_completions & 1) as u8;
        if last[7] >> 4 == 0xf || !self.collapsed && last[7] & 1 != owner {
            return None;
        }
        let bytes = self.queue.read(at, 64);
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        self.consumed += 1;
        if !self.collapsed {
            self.queue.store32(CQ_RECORD, (self.consumed as u32 & 0xff_ffff).to_be());
        }
        Some(Cqe {
            code: bytes[63] >> 4,
            opcode: bytes[56],
            qpn: word(56) & 0xff_ffff,
            counter: (word(60) >> 16) as u16,
            bytes: word(44),
            immediate: word(36),
            user_index: word(32),
            syndrome: matches!(bytes[63] >> 4, 13 | 14).then(|| Syndrome::of(bytes[55]).expect("a syndrome")),
            vendor: bytes[54],
        })
    }

    /// All completions that are there.
    pub fn poll_all(&mut self) -> Vec<Cqe> {
        std::iter::from_fn(|| self.poll()).collect()
    }

    /// The newest sentence of a violation.
    pub fn sentence(&self) -> String {
        self.nic.violations().last().map(ToString::to_string).unwrap_or_default()
    }
}

/// Every right, and writes may pass each other.
pub const RELAXED: Access = Access { relaxed_ordering: true, ..Access::ALL };
