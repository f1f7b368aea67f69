//! Loom's memory behind the ring: addresses are names of its words and cells.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use oxshmem_device::net::ibgda::abi::{QueuePairAbi, QueuePairState, VERSION};
use oxshmem_device::net::ibgda::{Deadline, Edge, Memory, Visible};
use oxshmem_device::net::mlx5::{Key, QueueNumber, Segment};
use std::fmt;
use std::mem::offset_of;

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// An edge is relaxed.
    Weak(Edge),
    /// The doorbell is not rung.
    NoDoorbell,
    /// The doorbell is rung before its record is written.
    DoorbellFirst,
}

impl Mutant {
    /// Those that one thread and the NIC can tell.
    pub(crate) const ALL: [Self; 5] = [
        Self::Weak(Edge::Record),
        Self::Weak(Edge::Doorbell),
        Self::Weak(Edge::Completion),
        Self::NoDoorbell,
        Self::DoorbellFirst,
    ];
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}

pub(crate) const BLOCKS: u64 = 2;
const ABI: u64 = 0x1000;
const STATE: u64 = 0x2000;
const QUEUE: u64 = 0x3000;
const RECORD: u64 = 0x4000;
const DOORBELL: u64 = 0x5000;
const ENTRIES: u64 = 0x6000;
const CONSUMER: u64 = 0x7000;
const LANDING: u64 = 0x8000;
const TURNS: u64 = 0x9000;
pub(crate) const TABLE: u64 = ABI;

pub(crate) struct Cells {
    shared: Vec<(u64, AtomicU64)>,
    /// The first word of each block's control segment, and whether it was written.
    pub(crate) blocks: [UnsafeCell<u64>; BLOCKS as usize],
    pub(crate) record: AtomicU32,
    pub(crate) doorbell: AtomicU64,
    pub(crate) tails: [AtomicU32; BLOCKS as usize],
    pub(crate) consumer: AtomicU32,
    pub(crate) landing: UnsafeCell<u64>,
    mutant: Option<Mutant>,
}

// SAFETY: loom checks each access of the cells.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

#[derive(Clone)]
pub(crate) struct Loom(pub(crate) Arc<Cells>);

macro_rules! described {
    ($abi:ident, $at:ident: $($field:ident)*) => {
        $(if $at == offset_of!(QueuePairAbi, $field) as u64 { return $abi.$field.into(); })*
    };
}

impl Loom {
    pub(crate) fn new(mutant: Option<Mutant>) -> Self {
        let state = [
            offset_of!(QueuePairState, reserved),
            offset_of!(QueuePairState, landing),
            offset_of!(QueuePairState, ready),
            offset_of!(QueuePairState, ring_lock),
            offset_of!(QueuePairState, produced),
            offset_of!(QueuePairState, poll_lock),
            offset_of!(QueuePairState, taken),
            offset_of!(QueuePairState, completed),
            offset_of!(QueuePairState, failure),
        ];
        let state = state.into_iter().map(|offset| STATE + offset as u64);
        let words = state.chain([TURNS]);
        Self(Arc::new(Cells {
            shared: words.map(|at| (at, AtomicU64::new(0))).collect(),
            blocks: std::array::from_fn(|_| UnsafeCell::new(0)),
            record: AtomicU32::new(0),
            doorbell: AtomicU64::new(0),
            tails: std::array::from_fn(|_| AtomicU32::new(u32::MAX)),
            consumer: AtomicU32::new(0),
            landing: UnsafeCell::new(0),
            mutant,
        }))
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.0.mutant == Some(mutant)
    }

    /// `order`, unless the edge is the broken one.
    fn order(&self, edge: Edge, order: Ordering) -> Ordering {
        if self.is(Mutant::Weak(edge)) { Ordering::Relaxed } else { order }
    }

    fn word(&self, at: u64) -> &AtomicU64 {
        let found = self.0.shared.iter().find(|(word, _)| *word == at);
        &found.unwrap_or_else(|| panic!("no word at {at:#x}")).1
    }

    fn entry(&self, address: u64) -> &AtomicU32 {
        &self.0.tails[((address - 60 - ENTRIES) / 64) as usize]
    }
}

const DESCRIPTION: QueuePairAbi = QueuePairAbi {
    version: VERSION,
    flags: 0,
    queue: QueueNumber::new(1),
    log_blocks: BLOCKS.ilog2(),
    blocks: QUEUE,
    record: RECORD,
    doorbell: DOORBELL,
    completions: ENTRIES,
    completion_record: CONSUMER,
    log_completions: BLOCKS.ilog2(),
    log_batch: 15,
    state: STATE,
    landing: LANDING,
    landing_registered: LANDING,
    landing_turns: TURNS,
    landing_key: Key::new(1),
    log_landing: 0,
    log_max_message: 30,
    pe: 0,
    number: 0,
    unused: 0,
};

impl Memory for Loom {
    fn field_u32(&self, address: u64) -> u32 {
        let (abi, at) = (DESCRIPTION, address - ABI);
        described!(abi, at: flags log_blocks log_completions log_batch log_landing log_max_message number);
        0
    }
    fn field_u64(&self, address: u64) -> u64 {
        let (abi, at) = (DESCRIPTION, address - ABI);
        described!(abi, at: blocks record doorbell completions completion_record state landing landing_registered landing_turns);
        panic!("no such field")
    }
    fn look(&self, word: u64) -> u64 {
        self.word(word).load(Ordering::Relaxed)
    }
    fn load(&self, word: u64, edge: Edge) -> u64 {
        self.word(word).load(self.order(edge, Ordering::Acquire))
    }
    fn write(&self, word: u64, value: u64) {
        self.word(word).store(value, Ordering::Relaxed);
    }
    fn store(&self, word: u64, value: u64, edge: Edge) {
        self.word(word).store(value, self.order(edge, Ordering::Release));
    }
    fn add(&self, word: u64, value: u64) -> u64 {
        self.word(word).fetch_add(value, Ordering::Relaxed)
    }
    fn set(&self, word: u64, bits: u64) {
        self.word(word).fetch_or(bits, Ordering::Relaxed);
    }
    fn clear(&self, word: u64, bits: u64, edge: Edge) {
        self.word(word).fetch_and(!bits, self.order(edge, Ordering::Release));
    }
    fn recheck(&self, word: u64, edge: Edge) -> u64 {
        self.word(word).fetch_add(0, self.order(edge, Ordering::Release))
    }
    fn lock(&self, word: u64, edge: Edge) -> bool {
        let order = self.order(edge, Ordering::Acquire);
        self.word(word).compare_exchange(0, 1, order, Ordering::Relaxed).is_ok()
    }
    fn publish(&self, word: u64, from: u64, to: u64, _: Visible) -> bool {
        let releases = !self.is(Mutant::Weak(Edge::Published));
        let order = match (releases, !self.is(Mutant::Weak(Edge::Chained))) {
            (true, true) => Ordering::AcqRel,
            (true, false) => Ordering::Release,
            (false, true) => Ordering::Acquire,
            (false, false) => Ordering::Relaxed,
        };
        self.word(word).compare_exchange(from, to, order, Ordering::Relaxed).is_ok()
    }
    fn claim(&self, word: u64, value: u64) -> u64 {
        let word = self.word(word);
        word.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed).unwrap_or_else(|old| old)
    }
    fn write_segment(&self, address: u64, segment: Segment) {
        let at = address - QUEUE;
        // The first segment stands for all: each is written by the same thread right after it.
        if at.is_multiple_of(64) {
            // SAFETY: loom checks that nobody else is at it.
            self.0.blocks[(at / 64) as usize].with_mut(|block| unsafe { *block = segment.to_memory()[0] });
        }
    }
    fn write_record(&self, _: u64, word: u32) {
        if self.is(Mutant::DoorbellFirst) {
            self.0.doorbell.store(u64::from(u32::from_be(word)) << 8, Ordering::Release);
        }
        self.0.record.store(u32::from_be(word), self.order(Edge::Record, Ordering::Release));
    }
    fn fence_doorbell(&self) {
        if !self.is(Mutant::Weak(Edge::Doorbell)) {
            fence(Ordering::Release);
        }
    }
    fn write_doorbell(&self, _: u64, word: u64) {
        if !self.is(Mutant::NoDoorbell) && !self.is(Mutant::DoorbellFirst) {
            self.0.doorbell.store(u64::from((word as u32).swap_bytes()), Ordering::Relaxed);
        }
    }
    fn write_next(&self, _: u64, _: u64) {
        unreachable!("the device rings");
    }
    fn look_completion(&self, address: u64) -> u32 {
        self.entry(address).load(Ordering::Relaxed)
    }
    fn load_completion(&self, address: u64) -> u32 {
        self.entry(address).load(self.order(Edge::Completion, Ordering::Acquire))
    }
    fn read_u32(&self, _: u64) -> u32 {
        0
    }
    fn read_u64(&self, _: u64) -> u64 {
        // SAFETY: loom checks that nobody writes it.
        self.0.landing.with(|landing| unsafe { *landing })
    }
    fn write_consumer(&self, _: u64, word: u32) {
        self.0.consumer.store(u32::from_be(word), Ordering::Relaxed);
    }
}

/// Waits as long as it takes: loom ends a run in which nothing can happen any more.
pub(crate) struct Forever;

impl Deadline for Forever {
    fn goes_on(&mut self, _: u32) -> bool {
        loom::thread::yield_now();
        true
    }
}
