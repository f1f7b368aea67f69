//! Random operations of both sides at once, under the adversary, leave what a plain model of memory says, whatever the
//! sizes, the lists, the ring and its wrap.

mod nic_poster;

use nic_poster::entry::{data, remote};
use nic_poster::{End, Entry, FENCE, IOVA, Pair, SIGNAL, Setup};
use proptest::prelude::*;

/// Zones of a heap: what this side sends, where its results land, where the peer writes.
const SOURCE: u64 = 0;
const LANDING: u64 = 1 << 16;
const TARGET: u64 = 1 << 17;
/// Bytes of the target zone: few, so that operations overlap.
const BYTES: u64 = 6000;
/// Bytes of one result's place.
const SLOT: u64 = 4096;

#[derive(Clone, Debug)]
enum Op {
    /// Pieces of the source zone as (offset, length), to an offset.
    Write {
        from: Vec<(u64, u32)>,
        to: u64,
    },
    Inline {
        bytes: Vec<u8>,
        to: u64,
    },
    Read {
        from: u64,
        length: u32,
    },
    Add {
        word: u64,
        add: u64,
    },
    Swap {
        word: u64,
        swap: u64,
        compare: u64,
    },
    MaskedAdd8 {
        word: u64,
        add: u64,
        boundary: u64,
    },
    MaskedAdd4 {
        word: u64,
        add: u32,
        boundary: u32,
    },
    MaskedSwap8 {
        word: u64,
        numbers: [u64; 4],
    },
    MaskedSwap4 {
        word: u64,
        numbers: [u32; 4],
    },
    Nop,
    Dump {
        length: u32,
    },
}

/// Few distinct values, so that comparisons succeed now and then.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4_u64, Just(u64::MAX), any::<u64>()]
}

fn short() -> impl Strategy<Value = u32> {
    number().prop_map(|number| number as u32)
}

fn op() -> impl Strategy<Value = Op> {
    let word8 = || (0..BYTES / 8).prop_map(|word| word * 8);
    let word4 = || (0..BYTES / 4).prop_map(|word| word * 4);
    let piece = (0..3000_u64, 1..900_u32);
    prop_oneof![
        (prop::collection::vec(piece, 1..5), 0..BYTES - 3600).prop_map(|(from, to)| Op::Write { from, to }),
        (prop::collection::vec(any::<u8>(), 0..300), 0..BYTES - 300)
            .prop_map(|(bytes, to)| Op::Inline { bytes, to }),
        (0..BYTES - 3000, 0..3000_u32).prop_map(|(from, length)| Op::Read { from, length }),
        (word8(), number()).prop_map(|(word, add)| Op::Add { word, add }),
        (word8(), number(), number()).prop_map(|(word, swap, compare)| Op::Swap { word, swap, compare }),
        (word8(), number(), number()).prop_map(|(word, add, boundary)| Op::MaskedAdd8 {
            word,
            add,
            boundary
        }),
        (word4(), short(), short()).prop_map(|(word, add, boundary)| Op::MaskedAdd4 { word, add, boundary }),
        (word8(), prop::array::uniform4(number()))
            .prop_map(|(word, numbers)| Op::MaskedSwap8 { word, numbers }),
        (word4(), prop::array::uniform4(short()))
            .prop_map(|(word, numbers)| Op::MaskedSwap4 { word, numbers }),
        Just(Op::Nop),
        (1..5000_u32).prop_map(|length| Op::Dump { length }),
    ]
}

/// One side of the plain model: what its operations do to the peer's target zone, and what they return.
struct Model {
    source: Vec<u8>,
    target: Vec<u8>,
    /// Where each result lands, and what it is.
    results: Vec<(u64, Vec<u8>)>,
}

impl Model {
    fn word(&self, at: u64, size: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.target[at as usize..][..size]);
        u64::from_le_bytes(bytes)
    }

    /// Changes a word, and returns what lands.
    fn update(&mut self, at: u64, size: usize, change: impl Fn(u64) -> u64) -> Vec<u8> {
        let old = self.word(at, size);
        self.target[at as usize..][..size].copy_from_slice(&change(old).to_le_bytes()[..size]);
        if size == 8 { old.to_le_bytes().to_vec() } else { (old as u32).to_be_bytes().to_vec() }
    }

    fn run(&mut self, op: &Op) -> Option<Vec<u8>> {
        // Bit by bit, the carry stopped where the boundary says.
        let add = |old: u64, add: u64, boundary: u64, bits: u32| {
            let (mut sum, mut carry) = (0_u64, false);
            for bit in 0..bits {
                let [a, b] = [old, add].map(|number| number >> bit & 1 == 1);
                sum |= u64::from(a ^ b ^ carry) << bit;
                carry = (a & b | carry & (a ^ b)) && boundary >> bit & 1 == 0;
            }
            sum
        };
        let swap = |old: u64, [swap, compare, swap_mask, compare_mask]: [u64; 4]| {
            if old & compare_mask == compare & compare_mask {
                old & !swap_mask | swap & swap_mask
            } else {
                old
            }
        };
        match op {
            Op::Write { from, to } => {
                let bytes: Vec<u8> = from
                    .iter()
                    .flat_map(|&(at, length)| &self.source[at as usize..][..length as usize])
                    .copied()
                    .collect();
                self.target[*to as usize..][..bytes.len()].copy_from_slice(&bytes);
                None
            }
            Op::Inline { bytes, to } => {
                self.target[*to as usize..][..bytes.len()].copy_from_slice(bytes);
                None
            }
            Op::Read { from, length } => Some(self.target[*from as usize..][..*length as usize].to_vec()),
            Op::Add { word, add } => Some(self.update(*word, 8, |old| old.wrapping_add(*add))),
            Op::Swap { word, swap, compare } => {
                Some(self.update(*word, 8, |old| if old == *compare { *swap } else { old }))
            }
            Op::MaskedAdd8 { word, add: number, boundary } => {
                Some(self.update(*word, 8, |old| add(old, *number, *boundary, 64)))
            }
            Op::MaskedAdd4 { word, add: number, boundary } => {
                Some(self.update(*word, 4, |old| add(old, u64::from(*number), u64::from(*boundary), 32)))
            }
            Op::MaskedSwap8 { word, numbers } => Some(self.update(*word, 8, |old| swap(old, *numbers))),
            Op::MaskedSwap4 { word, numbers } => {
                Some(self.update(*word, 4, |old| swap(old, numbers.map(u64::from))))
            }
            Op::Nop | Op::Dump { .. } => None,
        }
    }
}

/// The operation as an entry; results land at `slot`.
fn entry(op: &Op, lkey: u32, rkey: u32, slot: u64) -> Entry {
    let there = |at: u64| (IOVA + TARGET + at, rkey);
    let here = (IOVA + slot, lkey);
    match op {
        Op::Write { from, to } => {
            let mut rest = remote(there(*to).0, rkey);
            for &(at, length) in from {
                rest.extend(data(length, lkey, IOVA + SOURCE + at));
            }
            Entry::new(0, 0x08, rest)
        }
        Op::Inline { bytes, to } => Entry::inline(there(*to), bytes),
        Op::Read { from, length: 0 } => Entry::new(0, 0x10, remote(there(*from).0, rkey)),
        Op::Read { from, length } => Entry::read(there(*from), here, *length),
        Op::Add { word, add } => Entry::fetch_add(there(*word), here, *add),
        Op::Swap { word, swap, compare } => Entry::compare_swap(there(*word), here, *swap, *compare),
        Op::MaskedAdd8 { word, add, boundary } => Entry::masked_add8(there(*word), here, *add, *boundary),
        Op::MaskedAdd4 { word, add, boundary } => Entry::masked_add4(there(*word), here, *add, *boundary),
        Op::MaskedSwap8 { word, numbers } => Entry::masked_swap8(there(*word), here, *numbers),
        Op::MaskedSwap4 { word, numbers } => Entry::masked_swap4(there(*word), here, *numbers),
        Op::Nop => Entry::nop(),
        Op::Dump { length } => Entry::dump((IOVA, lkey), *length),
    }
}

/// One side at work: posts as far as the ring has room, takes completions.
struct Driver<'a> {
    end: &'a mut End,
    rkey: u32,
    ops: &'a [Op],
    next: usize,
    freed: u64,
    model: Model,
    /// After a read, what writes must be fenced: else it may overtake the read.
    read: bool,
}

impl Driver<'_> {
    fn turn(&mut self, batch: usize) -> bool {
        while let Some(cqe) = self.end.poll() {
            assert_eq!(cqe.code, 0, "{cqe:?}: {:?}", self.end.nic.violations());
            // Every entry is free that begins before the completed one; it itself is taken as one WQEBB.
            let done = self.end.posted - u64::from((self.end.posted as u16).wrapping_sub(cqe.counter + 1));
            self.freed = self.freed.max(done);
        }
        let depth = 1_u64 << self.end.log_send;
        let mut posted = false;
        for _ in 0..batch {
            let Some(op) = self.ops.get(self.next) else { break };
            let slot = LANDING + self.model.results.len() as u64 % 16 * SLOT;
            let made = entry(op, self.end.keys.lkey, self.rkey, slot);
            let blocks = (made.rest.len() as u64 + 16).div_ceil(64);
            // A signalled NOP behind each: then a completion frees exactly what is before it.
            if self.end.posted + blocks + 1 - self.freed > depth {
                break;
            }
            let writes = !matches!(op, Op::Read { .. } | Op::Nop | Op::Dump { .. });
            let flags = if writes && self.read { FENCE } else { 0 };
            self.read = matches!(op, Op::Read { .. }) || self.read && !writes;
            self.end.post(made.flags(flags));
            self.end.post(Entry::nop().flags(SIGNAL));
            if let Some(result) = self.model.run(op) {
                self.model.results.push((slot, result));
            }
            self.next += 1;
            posted = true;
        }
        if posted {
            self.end.ring();
        }
        self.next < self.ops.len() || self.freed < self.end.posted
    }

    /// Results whose places were not used again.
    fn check(&self, peer: &[u8]) {
        assert!(peer == self.model.target, "the target differs");
        for (slot, result) in self.model.results.iter().rev().take(16) {
            let landed = self.end.heap.read(*slot, result.len() as u64);
            assert_eq!(&landed, result, "the result at {slot:#x}");
        }
    }
}

fn model(end: &End, seed: u8) -> Model {
    let source: Vec<u8> = (0..5000_u32).map(|at| (at.wrapping_mul(31) >> 3) as u8 ^ seed).collect();
    end.heap.write(SOURCE, &source);
    Model { source, target: vec![0; BYTES as usize], results: Vec::new() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_is_what_a_plain_model_says(
        ops in prop::array::uniform2(prop::collection::vec(op(), 0..60)),
        seed in any::<Option<u64>>(),
        mtu in prop::sample::select(vec![256, 512, 1024, 2048, 4096]),
        log_send in 4_u8..8,
        batch in 1_usize..12,
        log_reads in 0_u8..5,
        relaxed in any::<bool>(),
    ) {
        let mut access = Setup::default().access;
        // With relaxed ordering the order of overlapping bytes is kept all the same by this NIC.
        access.relaxed_ordering = relaxed;
        let setup = Setup { seed, mtu, log_send, log_completions: 7, log_reads, access, ..Setup::default() };
        let Pair { mut a, mut b } = Pair::new(setup);
        let (models, rkeys) = ([model(&a, 1), model(&b, 2)], [b.keys.rkey, a.keys.rkey]);
        let [first, second] = models;
        let driver = |end, model, rkey, ops| Driver { end, rkey, ops, next: 0, freed: 0, model, read: false };
        let mut left = driver(&mut a, first, rkeys[0], &ops[0]);
        let mut right = driver(&mut b, second, rkeys[1], &ops[1]);
        let mut steps = 0;
        while left.turn(batch) | right.turn(batch) {
            left.end.nic.step();
            right.end.nic.step();
            steps += 1;
            prop_assert!(steps < 1_000_000, "it does not end: {:?}", left.end.nic.violations());
        }
        left.check(&right.end.heap.read(TARGET, BYTES));
        right.check(&left.end.heap.read(TARGET, BYTES));
        prop_assert_eq!(left.end.nic.violations(), []);
        prop_assert_eq!(right.end.nic.violations(), []);
    }

    /// Whatever bytes are posted and rung, nothing panics, and memory outside of the regions stays as it is.
    #[test]
    fn garbage_is_refused_and_never_more(
        entries in prop::collection::vec(prop::collection::vec(any::<u8>(), 64), 1..20),
        keep in any::<u8>(),
        bells in prop::collection::vec((any::<u32>(), any::<u64>()), 0..8),
        record in any::<u32>(),
        seed in any::<Option<u64>>(),
    ) {
        let mut pair = Pair::new(Setup { seed, ..Setup::default() });
        for (at, mut bytes) in entries.into_iter().enumerate() {
            // Parts of the control segment are right, so that the rest is reached.
            let right = Entry::nop().at(pair.a.index(), pair.a.qpn);
            if keep & 1 != 0 {
                bytes[1..3].copy_from_slice(&right[1..3]);
                bytes[4..7].copy_from_slice(&right[4..7]);
                bytes[8..16].copy_from_slice(&right[8..16]);
                bytes[7] &= 0x07;
                bytes[0] = 0;
                bytes[3] = [0x08, 0x10, 0x12, 0x11, 0x23, 0x14][at % 6];
            }
            if keep & 2 != 0 {
                bytes[28..32].fill(0);
                let address = IOVA + u64::from(bytes[20]);
                bytes[16..24].copy_from_slice(&address.to_be_bytes());
                bytes[24..28].copy_from_slice(&pair.b.keys.rkey.to_be_bytes());
            }
            pair.a.write_entry(&bytes);
        }
        pair.a.ring();
        for _ in 0..300 {
            pair.step();
        }
        for (offset, value) in bells {
            pair.a.nic.doorbell(pair.a.uar, offset % 4096, value);
            pair.a.set_record(record);
            pair.step();
        }
        for _ in 0..300 {
            pair.step();
        }
        for violation in pair.a.nic.violations() {
            prop_assert!(!violation.to_string().is_empty());
        }
    }
}
