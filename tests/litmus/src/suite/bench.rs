//! The memory that shapes play with, and one row: a shape and its twin.

use super::report::{Count, Report, Row};
use super::shapes::Shape;
use crate::kernels::{ROUNDS, Run, SIGNALS, VIOLATIONS, bulk, bytes, order, words};
use oxshmem::{Result, Shmem, SymVec};
use oxshmem_device::{Atomic, Reach, Signal, Sym};

/// Elements of a message: 4 KiB, eight for each thread of a block.
const MESSAGE: usize = 1024;
/// Threads of one warp.
const LANES: usize = 32;
/// Words that atomics reach.
const WORDS: usize = if order::WORDS > LANES * words::WORDS_PER_LANE as usize {
    order::WORDS
} else {
    LANES * words::WORDS_PER_LANE as usize
};

/// One PE's memory, and where it reports.
pub(super) struct Bench<'a> {
    pub(super) shmem: &'a Shmem,
    report: &'a Report,
    data: SymVec<u32>,
    source: SymVec<u32>,
    back: SymVec<u32>,
    bytes: (SymVec<u8>, SymVec<u8>),
    wide: SymVec<u128>,
    halves: SymVec<u64>,
}

/// Words that begin at 0 in each launch.
pub(super) struct Words {
    pub(super) signals: SymVec<Signal>,
    pub(super) tally: SymVec<Atomic<u64>>,
    pub(super) words: SymVec<Atomic<u32>>,
}

impl<'a> Bench<'a> {
    /// Allocates; collective.
    pub(super) fn new(shmem: &'a Shmem, report: &'a Report) -> Result<Self> {
        Ok(Self {
            shmem,
            report,
            data: shmem.alloc_zeroed(order::WORDS.max(MESSAGE))?,
            source: shmem.alloc_zeroed(MESSAGE)?,
            back: shmem.alloc_zeroed(MESSAGE)?,
            bytes: (shmem.alloc_zeroed(bytes::BYTES)?, shmem.alloc_zeroed(bytes::BYTES)?),
            wide: shmem.alloc_zeroed(LANES)?,
            halves: shmem.alloc_zeroed(2 * LANES)?,
        })
    }

    /// Plays the shape and its twin, and reports; collective. A shape for whose blocks some PE has no room is skipped.
    pub(super) fn row(&self, shape: &Shape, rounds: u32, delays: bool) -> Result<()> {
        let n = self.shmem.n_pes();
        let room = self.shmem.all_gather(&(shape.room)(self.shmem)?)?.into_iter().min().unwrap_or(0);
        if room < shape.blocks {
            if self.shmem.my_pe() == 0 {
                let Shape { name, blocks, .. } = shape;
                println!(
                    "skipped: {name}, {n} PEs: {blocks} blocks of each must be resident, and there is room for {room}"
                );
            }
            return Ok(());
        }
        let seed = if delays { 0x5eed ^ n } else { 0 };
        let right = self.play(shape, Run { twin: 0, rounds, seed })?;
        let twin = self.play(shape, Run { twin: 1, rounds, seed })?;
        if self.shmem.my_pe() == 0 {
            let asked = u64::from(rounds) * u64::from(n / shape.roles);
            self.report.row(Row { shape: shape.name, pes: n, delays, asked, right, twin });
        }
        Ok(())
    }

    /// One launch; collective. The count is PE 0's.
    fn play(&self, shape: &Shape, run: Run) -> Result<Count> {
        let shmem = self.shmem;
        let words = Words {
            signals: shmem.alloc_signals(SIGNALS)?,
            tally: shmem.alloc_atomics(2, Reach::World)?,
            words: shmem.alloc_atomics(WORDS, Reach::World)?,
        };
        for memory in [&self.data, &self.source, &self.back] {
            memory.fill(0)?;
        }
        for memory in [&self.bytes.0, &self.bytes.1] {
            memory.fill(0)?;
        }
        self.wide.fill(0)?;
        self.halves.fill(0)?;
        shmem.barrier_all()?;
        (shape.launch)(self, &words, run)?;
        shmem.barrier_all()?;
        let tally = words.tally.values()?;
        let count = Count { rounds: tally[ROUNDS as usize], violations: tally[VIOLATIONS as usize] };
        shmem.free(words.signals)?;
        shmem.free(words.tally)?;
        shmem.free(words.words)?;
        Ok(count)
    }

    /// The target of a message.
    pub(super) fn data(&self) -> Sym<[u32]> {
        self.data.slice(0, MESSAGE)
    }

    /// Its source.
    pub(super) fn source(&self) -> Sym<[u32]> {
        self.source.handle()
    }

    /// Where a message comes back to, or is got into.
    pub(super) fn back(&self) -> Sym<[u32]> {
        self.back.handle()
    }

    /// The target of a tile.
    pub(super) fn tile(&self) -> Sym<[u32]> {
        self.data.slice(0, bulk::ELEMENTS)
    }

    /// Each lane's `x` and `y`.
    pub(super) fn lines(&self) -> Sym<[u32]> {
        self.data.slice(0, order::WORDS)
    }

    /// Bytes: a target.
    pub(super) fn byte_data(&self) -> Sym<[u8]> {
        self.bytes.0.handle()
    }

    /// Bytes: a source.
    pub(super) fn byte_source(&self) -> Sym<[u8]> {
        self.bytes.1.handle()
    }

    /// 16 bytes for each lane.
    pub(super) fn wide(&self) -> Sym<[u128]> {
        self.wide.handle()
    }

    /// Twice 8 bytes for each lane.
    pub(super) fn halves(&self) -> Sym<[u64]> {
        self.halves.handle()
    }
}
