//! A NIC that knows the tables and nothing else of oxshmem. It panics at what they do not allow.

use crate::plain::{half, word};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

pub(crate) const QPN: u32 = 0x1003;
pub(crate) const LKEY: u32 = 0x0018_00a5;
pub(crate) const RKEY: u32 = 0x0018_01a6;

/// What the NIC reads, and has done.
#[derive(Debug)]
pub(crate) struct Nic {
    pub(crate) blocks: u64,
    pub(crate) log_blocks: u32,
    pub(crate) record: u64,
    /// The register, or 0 if a thread of the host tells.
    pub(crate) doorbell: u64,
    pub(crate) entries: u64,
    pub(crate) log_entries: u32,
    pub(crate) consumer: u64,
    pub(crate) collapsed: bool,
    /// Where the peer's and the own memory is.
    pub(crate) remote: (u64, u64),
    pub(crate) local: (u64, u64),
    /// Blocks carried out.
    pub(crate) done: u64,
    /// Completions written.
    pub(crate) written: u64,
    /// Completions that are due: counter, opcode of the completion, opcode of the request, syndrome.
    due: VecDeque<(u16, u8, u8, u8)>,
    /// Opcode and flags of every request.
    pub(crate) log: Vec<(u8, u8)>,
    pub(crate) rings: u64,
    last_doorbell: u64,
    /// Requests that fail: which one, with what syndrome.
    pub(crate) fails: Option<(usize, u8)>,
    failed: bool,
    /// Does nothing.
    pub(crate) frozen: bool,
    /// Holds completions back until so many are due, or none follows.
    pub(crate) late: usize,
    waited: u32,
}

impl Nic {
    pub(crate) fn new(blocks: u64, log_blocks: u32) -> Self {
        Self {
            blocks,
            log_blocks,
            record: 0,
            doorbell: 0,
            entries: 0,
            log_entries: 0,
            consumer: 0,
            collapsed: false,
            remote: (0, 0),
            local: (0, 0),
            done: 0,
            written: 0,
            due: VecDeque::new(),
            log: Vec::new(),
            rings: 0,
            last_doorbell: 0,
            fails: None,
            failed: false,
            frozen: false,
            late: 1,
            waited: 0,
        }
    }

    /// Does what there is to do.
    pub(crate) fn step(&mut self) {
        if self.frozen {
            return;
        }
        if self.doorbell != 0 {
            let rung = word(self.doorbell).load(SeqCst);
            if rung != self.last_doorbell {
                self.last_doorbell = rung;
                self.rings += 1;
                let bytes = rung.to_le_bytes();
                assert_eq!((bytes[0], bytes[3], bytes[7]), (0, 0, 0), "reserved bytes of a doorbell");
                assert_eq!(number(&bytes[4..7]), u64::from(QPN));
                let (index, record) = (number(&bytes[1..3]) as u16, self.recorded());
                let behind = record.wrapping_sub(index);
                assert!(behind < 1 << 15, "doorbell {index:#x} before its record {record:#x}");
            }
            // A doorbell that was stored while the first was looked at is seen next time.
            if rung == 0 {
                return;
            }
        }
        let next = self.recorded();
        let ahead = u64::from(next.wrapping_sub(self.done as u16));
        assert!(ahead <= 1 << self.log_blocks, "the record runs {ahead} blocks ahead");
        let end = self.done + ahead;
        while self.done < end {
            self.carry_out();
        }
        self.waited += 1;
        if self.due.len() >= self.late || self.waited > 3 {
            self.waited = 0;
            while let Some(due) = self.due.pop_front() {
                self.complete(due);
            }
        }
    }

    fn recorded(&self) -> u16 {
        let bytes = half(self.record).load(SeqCst).to_le_bytes();
        assert_eq!(bytes[..2], [0, 0], "reserved bytes of a record");
        number(&bytes[2..]) as u16
    }

    fn block(&self, index: u64) -> u64 {
        self.blocks + (index & ((1 << self.log_blocks) - 1)) * 64
    }

    /// Reads and carries out the request at `done`, and leaves poison in its place.
    fn carry_out(&mut self) {
        let first = read(self.block(self.done), 16);
        let (opmod, opcode, flags) = (first[0], first[3], first[11]);
        assert_eq!(number(&first[1..3]) as u16, self.done as u16, "index of {first:02x?}");
        assert_eq!(number(&first[4..7]), u64::from(QPN));
        assert_eq!((&first[8..11], &first[12..]), ([0; 3].as_slice(), [0; 4].as_slice()));
        assert_eq!(flags & 0b0001_0011, 0, "reserved flags {flags:#x}");
        let segments = u64::from(first[7]);
        assert!((1..64).contains(&segments));
        let blocks = segments.div_ceil(4);
        let mut bytes = Vec::new();
        for at in 0..blocks {
            bytes.extend(read(self.block(self.done + at), 64));
            fill(self.block(self.done + at), 64, 0xdb);
        }
        bytes.truncate(segments as usize * 16);
        let index = self.done as u16;
        self.done += blocks;
        self.log.push((opcode, flags));
        if self.failed {
            self.due.push_back((index, 13, opcode, 5));
            return;
        }
        if let Some((_, syndrome)) = self.fails.filter(|(at, _)| *at == self.log.len() - 1) {
            self.failed = true;
            self.due.push_back((index, 13, opcode, syndrome));
            return;
        }
        self.execute(opmod, opcode, &bytes);
        if flags & 0x0c == 0x08 {
            self.due.push_back((index, 0, opcode, 0));
        }
    }

    fn execute(&self, opmod: u8, opcode: u8, bytes: &[u8]) {
        if opcode == 0 {
            assert_eq!((opmod, bytes.len()), (0, 16));
            return;
        }
        if opcode == 0x23 {
            assert_eq!((opmod, bytes.len(), bytes[11] & 0xe0), (0, 32, 0x40), "a DUMP is fenced");
            self.local(&bytes[16..]);
            return;
        }
        let (to, rkey) = (number(&bytes[16..24]), number(&bytes[24..28]) as u32);
        assert_eq!((rkey, number(&bytes[28..32])), (RKEY, 0));
        let inside = |at: u64, count: u64, (first, end): (u64, u64)| {
            assert!(first <= at && at + count <= end, "{at:#x} + {count} is outside");
        };
        let operand = |at: usize, width: usize| number(&bytes[at..at + width]);
        if opcode == 0x08 && bytes[32] & 0x80 != 0 {
            let count = (number(&bytes[32..36]) & 0x7fff_ffff) as usize;
            assert_eq!(bytes.len(), 32 + (4 + count).div_ceil(16) * 16);
            inside(to, count as u64, self.remote);
            write(to, &bytes[36..36 + count]);
            return;
        }
        if opcode == 0x08 || opcode == 0x10 {
            assert_eq!((opmod, bytes.len()), (0, 48));
            let (count, at) = self.local(&bytes[32..]);
            inside(to, count, self.remote);
            let (to, from) = if opcode == 0x08 { (to, at) } else { (at, to) };
            write(to, &read(from, count as usize));
            return;
        }
        let width = if opmod == 8 { 4 } else { 8 };
        inside(to, width, self.remote);
        assert_eq!(to % width, 0, "alignment of an atomic");
        // One's own words are native; what an atomic of 4 bytes returns is not.
        let old = if width == 4 { u64::from(half(to).load(SeqCst)) } else { word(to).load(SeqCst) };
        let (new, landing) = match (opcode, opmod) {
            (0x12, 0) => (old.wrapping_add(operand(32, 8)), 48),
            (0x11, 0) => (if old == operand(40, 8) { operand(32, 8) } else { old }, 48),
            (0x15, 8) => {
                assert_eq!(operand(40, 8), 0);
                (add(old, operand(32, 4), operand(36, 4), 32), 48)
            }
            (0x15, 9) => (add(old, operand(32, 8), operand(40, 8), 64), 48),
            (0x14, 8) => (swap(old, operand(36, 4), operand(44, 4), operand(32, 4), operand(40, 4)), 48),
            (0x14, 9) => (swap(old, operand(40, 8), operand(56, 8), operand(32, 8), operand(48, 8)), 64),
            other => panic!("no such operation: {other:?}"),
        };
        assert_eq!(bytes.len(), landing + 16);
        let (count, at) = self.local(&bytes[landing..]);
        assert_eq!(count, width);
        if width == 4 {
            half(to).store(new as u32, SeqCst);
            half(at).store((old as u32).swap_bytes(), SeqCst);
        } else {
            word(to).store(new, SeqCst);
            word(at).store(old, SeqCst);
        }
    }

    /// Bytes and address of a data segment.
    fn local(&self, bytes: &[u8]) -> (u64, u64) {
        let (count, lkey, at) = (number(&bytes[..4]), number(&bytes[4..8]) as u32, number(&bytes[8..16]));
        assert!((1..=1 << 30).contains(&count), "{count} bytes");
        assert_eq!(lkey, LKEY);
        assert!(self.local.0 <= at && at + count <= self.local.1, "{at:#x} + {count} is outside");
        (count, at)
    }

    fn complete(&mut self, (counter, opcode, request, syndrome): (u16, u8, u8, u8)) {
        let entries = 1 << self.log_entries;
        let at = if self.collapsed { 0 } else { self.written & (entries - 1) };
        if !self.collapsed {
            let consumed = u64::from(u32::from_be(half(self.consumer).load(SeqCst)));
            let open = (self.written - consumed) & 0xff_ffff;
            assert!(open < entries, "the completion queue overflows");
        }
        let owner = (self.written >> self.log_entries) as u8 & 1;
        let entry = self.entries + at * 64;
        half(entry + 52).store(u32::from_le_bytes([0x0a, 0x0b, 0x93, syndrome]), SeqCst);
        half(entry + 56).store((u32::from(request) << 24 | QPN).to_be(), SeqCst);
        let [high, low] = counter.to_be_bytes();
        half(entry + 60).store(u32::from_le_bytes([high, low, 0, opcode << 4 | owner]), SeqCst);
        self.written += 1;
    }
}

fn add(old: u64, add: u64, boundary: u64, bits: u32) -> u64 {
    let mut carry = 0;
    (0..bits).fold(0, |sum, bit| {
        let digit = (old >> bit & 1) + (add >> bit & 1) + carry;
        carry = if boundary >> bit & 1 == 1 { 0 } else { digit >> 1 };
        sum | (digit & 1) << bit
    })
}

fn swap(old: u64, compare: u64, compare_mask: u64, swap: u64, swap_mask: u64) -> u64 {
    if (old ^ compare) & compare_mask == 0 { old & !swap_mask | swap & swap_mask } else { old }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn byte(address: u64) -> &'static AtomicU8 {
    // SAFETY: as in `plain::word`; the ranges were checked.
    unsafe { &*(address as *const AtomicU8) }
}

pub(crate) fn read(address: u64, count: usize) -> Vec<u8> {
    (0..count as u64).map(|at| byte(address + at).load(SeqCst)).collect()
}

pub(crate) fn write(address: u64, bytes: &[u8]) {
    (0..).zip(bytes).for_each(|(at, &value)| byte(address + at).store(value, SeqCst));
}

fn fill(address: u64, count: u64, value: u8) {
    (0..count).for_each(|at| byte(address + at).store(value, SeqCst));
}
