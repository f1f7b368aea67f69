//! Bytes on their way into memory, in pieces: mostly cache lines, and at times words, since no more than an aligned word
//! of 8 bytes is sure to arrive as one.

use super::chance::{Chance, Late};
use super::regions::{Bytes, Regions};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// Bytes of a cache line, and of the largest access that is never torn.
const LINE: u32 = 64;
const WORD: u32 = 8;
/// Payloads up to so many bytes are cut to words at times.
const FEW: usize = 512;

/// Where the piece ends that starts at `from`, in a payload that lies `offset` bytes behind a line's start.
fn end_of(from: u32, offset: u32, grain: u32) -> u32 {
    (from + offset) / grain * grain + grain - offset
}

/// A packet's bytes and the place that they go to.
#[derive(Debug)]
pub(super) struct Delivery {
    to: Bytes,
    memory: Range<u64>,
    payload: Vec<u8>,
    /// Starts of the pieces that are not delivered yet, in the order in which they will be, last first.
    pieces: Vec<u32>,
    /// Pieces end at multiples of so many bytes of memory.
    grain: u32,
    done: bool,
}

impl Delivery {
    /// `to` was allowed by [`Regions::find`]; the payload is as long.
    pub(super) fn new(to: Bytes, payload: Vec<u8>, regions: &Regions, chance: &mut Chance) -> Self {
        let span = regions.still(to);
        let memory = span.map_or(0..0, |span| span.addresses());
        let mut pieces = Vec::new();
        let mut grain = LINE;
        if chance.is_adverse() {
            if payload.len() <= FEW && chance.below(4) == 0 {
                grain = WORD;
            }
            let offset = span.map_or(0, |span| span.line_offset(0)) as u32;
            let mut at = 0;
            while (at as usize) < payload.len() {
                pieces.push(at);
                at = end_of(at, offset, grain);
            }
            chance.shuffle(&mut pieces);
        }
        let done = payload.is_empty();
        Self { to, memory, payload, pieces, grain, done }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// The memory that it goes to.
    pub(super) fn memory(&self) -> &Range<u64> {
        &self.memory
    }

    /// Whether it touches any of the same memory.
    pub(super) fn overlaps(&self, other: &Range<u64>) -> bool {
        self.memory.start < other.end && other.start < self.memory.end
    }

    /// Delivers what the adversary lets through in this step; true if anything was.
    pub(super) fn advance(&mut self, late: Late, regions: &Regions, chance: &mut Chance) -> bool {
        if self.done || chance.late(late) {
            return false;
        }
        // Deregistered meanwhile: the memory is no longer the NIC's to touch.
        let Some(span) = regions.still(self.to) else {
            self.done = true;
            return true;
        };
        // What was delivered before is seen by whoever sees this.
        fence(Ordering::Release);
        if !chance.is_adverse() {
            span.write(0, &self.payload);
            self.done = true;
            return true;
        }
        let offset = span.line_offset(0) as u32;
        for _ in 0..=chance.below(self.pieces.len()) {
            let Some(from) = self.pieces.pop() else { break };
            let to = (end_of(from, offset, self.grain) as usize).min(self.payload.len());
            span.write(u64::from(from), &self.payload[from as usize..to]);
        }
        self.done = self.pieces.is_empty();
        true
    }
}
