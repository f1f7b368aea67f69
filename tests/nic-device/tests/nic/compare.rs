//! What libmlx5 posts, compared with what we encode; and what the NIC makes of it, compared with what it should.

use crate::classic::Classic;
use crate::operation::{BYTES, LANDING, OLD, Request, TARGET, WORDS};
use crate::random::Random;
use crate::record;
use oxshmem::net::verbs::classic::Operation;
use std::collections::BTreeMap;
use std::error::Error;

const OPERATIONS: u64 = 100_000;
const UNDER_ADVERSARY: u64 = 5_000;
const WITH_MUTANTS: u64 = 4_000;

/// What the memory must be, by doing the requests one after the other.
struct Model {
    bytes: Vec<u8>,
    /// What the places for old values must have.
    old: BTreeMap<u64, u64>,
}

impl Model {
    fn word(&self, at: u64) -> u64 {
        u64::from_ne_bytes(self.bytes[at as usize..][..8].try_into().expect("eight bytes"))
    }

    fn do_it(&mut self, request: &Request) {
        let (local, remote, length) =
            (request.local as usize, request.remote as usize, request.bytes as usize);
        let (from, to) = match request.kind {
            Operation::Read => (remote, local),
            _ => (local, remote),
        };
        let atomic = |old: u64| match request.kind {
            Operation::FetchAdd(value) => Some(old.wrapping_add(value)),
            Operation::CompareSwap(compare, swap) => Some(if old == compare { swap } else { old }),
            _ => None,
        };
        let found = if length == 8 { self.word(request.remote & !7) } else { 0 };
        match atomic(found) {
            Some(new) => {
                self.old.insert(request.local, found);
                self.bytes[remote..remote + 8].copy_from_slice(&new.to_ne_bytes());
            }
            None => self.bytes.copy_within(from..from + length, to),
        }
    }

    /// Compares with what there is.
    fn agrees(&self, classic: &Classic) -> Result<(), Box<dyn Error>> {
        let mut expected = self.bytes.clone();
        for (at, old) in &self.old {
            expected[*at as usize..][..8].copy_from_slice(&old.to_ne_bytes());
        }
        let found = classic.pages.get(0, BYTES);
        match (0..BYTES).find(|at| found[*at] != expected[*at]) {
            None => Ok(()),
            Some(at) => {
                let area = match at as u64 {
                    LANDING.. => "what was read",
                    OLD.. => "old values of atomics",
                    WORDS.. => "the words of atomics",
                    TARGET.. => "what was written",
                    _ => "the source, which nobody writes",
                };
                Err(format!("byte {at:#x} is {:#x}, not {:#x}: {area}", found[at], expected[at]).into())
            }
        }
    }
}

/// Posts that many random requests, shows each to `look` with its index and its inline bytes, and compares the memory.
fn post(
    seed: u64,
    count: u64,
    mut look: impl FnMut(&Classic, &Request, &[u8]) -> Result<(), Box<dyn Error>>,
) -> Result<Classic, Box<dyn Error>> {
    let mut random = Random::new(seed);
    let mut classic = Classic::new(&mut random)?;
    let mut model = Model { bytes: classic.pages.get(0, BYTES), old: BTreeMap::new() };
    for number in 0..count {
        let mut request = Request::random(&mut random, number);
        // A queue of 512 blocks is never full of requests without a completion.
        request.signalled |= number % 16 == 15 || number + 1 == count;
        let inlined = match request.kind {
            Operation::InlineWrite => classic.pages.get(request.local as usize, request.bytes as usize),
            _ => Vec::new(),
        };
        classic.post(&request)?;
        look(&classic, &request, &inlined)?;
        let segments = request.encode(0, 0, classic.names(), &inlined).len() as u64 / 16;
        classic.index += segments.div_ceil(4);
        model.do_it(&request);
    }
    classic.finish()?;
    model.agrees(&classic)?;
    Ok(classic)
}

/// Every byte that counts, of every operation.
pub(crate) fn compare() -> Result<String, Box<dyn Error>> {
    let mut differences = 0;
    let mut first = None;
    let classic = post(1, OPERATIONS, |classic, request, inlined| {
        let ours = request.encode(classic.qp.number(), classic.index, classic.names(), inlined);
        let theirs = classic.bytes(ours.len());
        if (0..ours.len()).any(|at| request.counts(at) && ours[at] != theirs[at]) {
            differences += 1;
            first.get_or_insert_with(|| format!("{request:?}\n ours   {ours:02x?}\n theirs {theirs:02x?}"));
        }
        Ok(())
    })?;
    record::is_empty()?;
    let said = format!("{OPERATIONS} operations, {differences} differences");
    if let Some(first) = first {
        return Err(format!("{said}; the first:\n{first}").into());
    }
    if classic.index < 1 << 16 {
        return Err(format!("{said}, and the 16-bit index never wrapped: {} blocks", classic.index).into());
    }
    Ok(said)
}

/// The same operations while the NIC delays and reorders: it finds nothing wrong with them, and the memory is right.
pub(crate) fn adversary() -> Result<String, Box<dyn Error>> {
    let seed = std::env::var("OXSHMEM_NIC_SEED")?.parse()?;
    post(seed, UNDER_ADVERSARY, |_, _, _| Ok(()))?;
    record::is_empty()?;
    Ok(format!("seed {seed}: {UNDER_ADVERSARY} operations right"))
}

/// An encoder with one field wrong: its name, and what it does to the right bytes.
pub(crate) type Mutant = (&'static str, fn(&Request, &mut [u8]));

pub(crate) const MUTANTS: &[Mutant] = &[
    ("index, one more", |_, bytes| bytes[2] = bytes[2].wrapping_add(1)),
    ("index, its bytes exchanged", |_, bytes| bytes.swap(1, 2)),
    ("opcode of another", |_, bytes| bytes[3] ^= 1),
    ("queue pair number, one more", |_, bytes| bytes[6] = bytes[6].wrapping_add(1)),
    ("size, one more", |_, bytes| bytes[7] += 1),
    ("signature set", |_, bytes| bytes[8] = 1),
    ("completion only on error", |_, bytes| bytes[11] &= !0x0c),
    ("fence left out", |_, bytes| bytes[11] &= !0xe0),
    ("fence without the small one", |request, bytes| {
        if request.fenced {
            bytes[11] = bytes[11] & !0xe0 | 0x40;
        }
    }),
    ("immediate data set", |_, bytes| bytes[15] = 1),
    ("remote address, little-endian", |_, bytes| bytes[16..24].reverse()),
    ("remote key, little-endian", |_, bytes| bytes[24..28].reverse()),
    ("reserved word of the remote address set", |_, bytes| bytes[31] = 1),
    ("length, one more", |request, bytes| {
        let at =
            if matches!(request.kind, Operation::FetchAdd(_) | Operation::CompareSwap(..)) { 51 } else { 35 };
        bytes[at] = bytes[at].wrapping_add(1);
    }),
    ("inline data without its bit", |request, bytes| {
        if request.kind == Operation::InlineWrite {
            bytes[32] &= 0x7f;
        }
    }),
    ("inline data, a word late", |request, bytes| {
        if request.kind == Operation::InlineWrite {
            bytes[36..].rotate_right(4);
        }
    }),
    ("local key, little-endian", |request, bytes| match request.kind {
        Operation::Write | Operation::Read => bytes[36..40].reverse(),
        Operation::FetchAdd(_) | Operation::CompareSwap(..) => bytes[52..56].reverse(),
        Operation::InlineWrite => {}
    }),
    ("swap and compare exchanged", |request, bytes| {
        if matches!(request.kind, Operation::CompareSwap(..)) {
            let (swap, compare) = bytes[32..48].split_at_mut(8);
            swap.swap_with_slice(compare);
        }
    }),
    ("addend, little-endian", |request, bytes| {
        if matches!(request.kind, Operation::FetchAdd(_)) {
            bytes[32..40].reverse();
        }
    }),
];

/// Each mutant differs from libmlx5 exactly where it differs from the right encoder in bytes that count.
pub(crate) fn control() -> Result<String, Box<dyn Error>> {
    let mut found = vec![(0_u64, 0_u64); MUTANTS.len()];
    post(2, WITH_MUTANTS, |classic, request, inlined| {
        let right = request.encode(classic.qp.number(), classic.index, classic.names(), inlined);
        let theirs = classic.bytes(right.len());
        let differ =
            |one: &[u8], other: &[u8]| (0..one.len()).any(|at| request.counts(at) && one[at] != other[at]);
        for ((_, mutate), (wrong, caught)) in MUTANTS.iter().zip(&mut found) {
            let mut ours = right.clone();
            mutate(request, &mut ours);
            *wrong += u64::from(differ(&ours, &right));
            *caught += u64::from(differ(&ours, &theirs));
        }
        Ok(())
    })?;
    let mut said =
        format!("{} encoders with one field wrong, each caught at every operation:", MUTANTS.len());
    for ((name, _), (wrong, caught)) in MUTANTS.iter().zip(found) {
        if wrong == 0 || caught != wrong {
            return Err(format!("{name}: wrong in {wrong} operations, caught in {caught}").into());
        }
        said.push_str(&format!("\n  {name}: {caught} differences"));
    }
    Ok(said)
}
