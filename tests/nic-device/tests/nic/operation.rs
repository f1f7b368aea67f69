//! Random operations, and our encoding of them.

use crate::random::Random;
use oxshmem::net::verbs::classic::{Operation, Post};
use oxshmem_device::net::mlx5::wqe::{self, Place};
use oxshmem_device::net::mlx5::{
    Completion, Control, Fence, Inline, Key, Opcode, QueueNumber, Segment, ctrl, inline_header, opmod, raddr,
};

/// Bytes that an inline write has at most here.
pub(crate) const MOST_INLINE: usize = 204;

/// Where the areas of the memory start, which has [`BYTES`] bytes.
pub(crate) const SOURCE: u64 = 0;
pub(crate) const TARGET: u64 = 256 << 10;
pub(crate) const WORDS: u64 = 512 << 10;
pub(crate) const OLD: u64 = 640 << 10;
pub(crate) const LANDING: u64 = 1 << 20;
pub(crate) const BYTES: usize = (LANDING + PLACES * LONGEST) as usize;
const AREA: u64 = 256 << 10;
const LONGEST: u64 = 16 << 10;
const WORD_COUNT: u64 = 64;
/// Places for what is read, and for what atomics found: more than there are requests under way, since nothing orders
/// what lands before its completion.
const PLACES: u64 = 1024;

/// What a request does, by offsets in the memory.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) kind: Operation,
    pub(crate) fenced: bool,
    pub(crate) signalled: bool,
    pub(crate) local: u64,
    pub(crate) bytes: u32,
    pub(crate) remote: u64,
}

/// The memory as work requests name it.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub(crate) address: u64,
    pub(crate) lkey: u32,
    pub(crate) rkey: u32,
}

impl Request {
    /// Random request number `number`.
    pub(crate) fn random(random: &mut Random, number: u64) -> Request {
        let place = number % PLACES;
        let kind = match random.below(8) {
            0 | 1 => Operation::Write,
            2 | 3 => Operation::InlineWrite,
            4 => Operation::Read,
            5 | 6 => Operation::FetchAdd(random.next()),
            // Often of a value that is there.
            _ => Operation::CompareSwap(random.below(3), random.below(3)),
        };
        let (local, bytes, remote) = match kind {
            Operation::FetchAdd(_) | Operation::CompareSwap(..) => {
                // The two do not share words, or no comparison would ever find what it wants.
                let half = WORD_COUNT / 2;
                let first = if matches!(kind, Operation::FetchAdd(_)) { 0 } else { half };
                (OLD + 8 * place, 8, WORDS + 8 * (first + random.below(half)))
            }
            Operation::Read => {
                let bytes = 1 + random.below(LONGEST);
                let start = LANDING + place * LONGEST + random.below(LONGEST + 1 - bytes);
                (start, bytes as u32, SOURCE + random.below(AREA - bytes))
            }
            Operation::Write | Operation::InlineWrite => {
                let longest = if kind == Operation::Write { LONGEST } else { MOST_INLINE as u64 };
                let bytes = 1 + random.below(longest);
                let start = SOURCE + random.below(AREA - bytes);
                (start, bytes as u32, TARGET + random.below(AREA - bytes))
            }
        };
        Request { kind, fenced: random.one_in(4), signalled: random.one_in(4), local, bytes, remote }
    }

    /// As libmlx5 gets it.
    pub(crate) fn post(&self, id: u64, names: Names) -> Post {
        Post {
            id,
            operation: self.kind,
            fenced: self.fenced,
            signalled: self.signalled,
            local: (names.address + self.local, self.bytes, names.lkey),
            remote: (names.address + self.remote, names.rkey),
        }
    }

    /// As we encode it. `inlined` are the bytes of an inline write.
    pub(crate) fn encode(&self, qpn: u32, index: u64, names: Names, inlined: &[u8]) -> Vec<u8> {
        let control = Control {
            queue: QueueNumber::new(qpn),
            index,
            fence: if self.fenced { Fence::FenceAndSmall } else { Fence::None },
            completion: if self.signalled { Completion::Always } else { Completion::OnError },
        };
        let local = Place { address: names.address + self.local, key: Key::new(names.lkey) };
        let remote = Place { address: names.address + self.remote, key: Key::new(names.rkey) };
        let bytes = |segments: &[Segment]| segments.iter().flat_map(|segment| segment.to_bytes()).collect();
        match self.kind {
            Operation::Write => bytes(&wqe::write(control, remote, local, self.bytes)),
            Operation::Read => bytes(&wqe::read(control, remote, local, self.bytes)),
            Operation::FetchAdd(add) => bytes(&wqe::atomic_fetch_add(control, remote, add, local)),
            Operation::CompareSwap(compare, swap) => {
                bytes(&wqe::atomic_compare_swap(control, remote, compare, swap, local))
            }
            Operation::InlineWrite => inline(control, remote, inlined),
        }
    }

    /// Which bytes of an encoding count: not an addition's field for comparing, which libmlx5 does not write, nor what
    /// pads inline bytes.
    pub(crate) fn counts(&self, at: usize) -> bool {
        match self.kind {
            Operation::FetchAdd(_) => !(40..48).contains(&at),
            Operation::InlineWrite => at < 36 + self.bytes as usize,
            _ => true,
        }
    }
}

/// An inline write of any length: by the encoder of short ones, of a warp's, or of its parts.
pub(crate) fn inline(control: Control, to: Place, data: &[u8]) -> Vec<u8> {
    let word = |at: usize| {
        let part = data.get(at..).unwrap_or_default();
        u32::from_ne_bytes(std::array::from_fn(|i| part.get(i).copied().unwrap_or(0)))
    };
    let lane = |lane: usize| u64::from(word(8 * lane)) | u64::from(word(8 * lane + 4)) << 32;
    let segments: Vec<Segment> = if data.len() <= Inline::MOST as usize {
        let inline = Inline::of_words([word(0), word(4), word(8)], data.len() as u32);
        wqe::write_inline(control, to, inline.expect("1 to 12 bytes")).to_vec()
    } else if data.len() == wqe::warp::WARP_BYTES as usize {
        let tail = (0..wqe::warp::DATA_SEGMENTS as usize).map(|at| {
            let before = if at == 0 { 0 } else { lane(2 * at - 1) };
            wqe::warp::data(at as u32, before, lane(2 * at), lane(2 * at + 1))
        });
        wqe::warp::head(control, to).into_iter().chain(tail).collect()
    } else {
        let count = 2 + (4 + data.len()).div_ceil(16);
        let tail = (0..count - 2).map(|at| {
            // The header stands where the first word would.
            let words = std::array::from_fn(|i| match (16 * at + 4 * i).checked_sub(4) {
                None => inline_header(data.len() as u32),
                Some(offset) => word(offset),
            });
            Segment::from_memory_words(words)
        });
        let head = [ctrl(control, Opcode::RdmaWrite, opmod::NONE, count as u32), raddr(to.address, to.key)];
        head.into_iter().chain(tail).collect()
    };
    segments.iter().flat_map(|segment| segment.to_bytes()).collect()
}
