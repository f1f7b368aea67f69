//! Words that threads synchronise by: the values that each has had, in coherence order, as far as a read may still see
//! them.

use super::clock::{Clock, Time, Who};
use super::event::EventId;
use super::hash::Direct;
use super::know::Know;
use crate::random::mix;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Values that are kept of a word.
const KEPT: usize = 6;
/// Bytes of a line.
const LINE: u64 = 256;
/// Readers that are kept of a value.
const READERS: usize = 8;

/// How a signal's word was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Replaced.
    Set,
    /// Added to, or another read-modify-write.
    Add,
}

/// One value of a word.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) bits: [u64; 2],
    pub(crate) event: EventId,
    /// What whoever acquires it learns.
    pub(crate) message: Option<Rc<Know>>,
    /// What had been issued before it, as its writer knew; for reports.
    pub(crate) issued: Rc<Clock>,
    /// When it was carried out, among all updates of the run.
    pub(crate) stamp: u64,
    /// Whether it was made of the value before it.
    pub(crate) changes: bool,
    pub(crate) readers: Vec<(Who, Time)>,
}

impl Value {
    pub(crate) fn read_by(&mut self, who: Who, time: Time) {
        if let Some(reader) = self.readers.iter_mut().find(|reader| reader.0 == who) {
            reader.1 = reader.1.max(time);
            return;
        }
        if self.readers.len() == READERS {
            self.readers.remove(0);
        }
        self.readers.push((who, time));
    }
}

/// A word.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) bytes: u32,
    /// The oldest first; never empty.
    pub(crate) values: Vec<Value>,
    /// The last event that set it as a signal, and that added to it.
    pub(crate) last: [Option<EventId>; 2],
}

impl Word {
    pub(crate) fn new(bytes: u32, bits: [u64; 2], event: EventId) -> Self {
        let issued = Rc::default();
        let first =
            Value { bits, event, message: None, issued, stamp: 0, changes: false, readers: Vec::new() };
        Self { bytes, values: vec![first], last: [None; 2] }
    }

    pub(crate) fn newest(&mut self) -> &mut Value {
        self.values.last_mut().expect("a word has a value")
    }

    /// Puts a value in at this place in the order.
    pub(crate) fn insert(&mut self, at: usize, value: Value) {
        self.values.insert(at, value);
        if self.values.len() > KEPT {
            self.values.remove(0);
        }
    }
}

/// All words, by address.
#[derive(Debug, Default)]
pub(crate) struct Words {
    all: HashMap<u64, Word, Direct>,
    /// Lines of memory in which there are words, or were.
    lines: HashSet<u64, Direct>,
    /// Who polls a word.
    waiters: HashMap<u64, Vec<Who>, Direct>,
    /// Who has written a word, for reports: the first few.
    writers: HashMap<u64, Vec<EventId>, Direct>,
}

impl Words {
    pub(crate) fn get(&mut self, address: u64) -> Option<&mut Word> {
        self.all.get_mut(&address)
    }

    pub(crate) fn insert(&mut self, address: u64, word: Word) -> &mut Word {
        self.lines.insert(address / LINE);
        self.all.entry(address).insert_entry(word).into_mut()
    }

    /// Forgets the words that overlap a range, because it was written as data.
    pub(crate) fn forget(&mut self, address: u64, bytes: u64) {
        let first = address.saturating_sub(15);
        let (from, to) = (first / LINE, (address + bytes) / LINE);
        if self.all.is_empty() || to - from < 64 && (from..=to).all(|line| !self.lines.contains(&line)) {
            return;
        }
        if bytes > 64 {
            self.all.retain(|&at, word| at + u64::from(word.bytes) <= address || at >= address + bytes);
            return;
        }
        for at in first..address + bytes {
            if self.all.get(&at).is_some_and(|word| at + u64::from(word.bytes) > address) {
                self.all.remove(&at);
            }
        }
    }

    pub(crate) fn wait(&mut self, address: u64, who: Who) {
        let waiters = self.waiters.entry(address).or_default();
        if !waiters.contains(&who) {
            waiters.push(who);
        }
    }

    /// Takes those out who wait for a change of a word.
    pub(crate) fn wake(&mut self, address: u64) -> Vec<Who> {
        if self.waiters.is_empty() { Vec::new() } else { self.waiters.remove(&address).unwrap_or_default() }
    }

    /// As [`wake`](Self::wake), of all words in a range.
    pub(crate) fn wake_range(&mut self, address: u64, bytes: u64) -> Vec<Who> {
        if self.waiters.is_empty() {
            return Vec::new();
        }
        if bytes / 4 <= self.waiters.len() as u64 {
            let words = (address.next_multiple_of(4)..address + bytes).step_by(4);
            return words.filter_map(|at| self.waiters.remove(&at)).flatten().collect();
        }
        let words: Vec<u64> =
            self.waiters.keys().copied().filter(|&at| at >= address && at < address + bytes).collect();
        words.into_iter().filter_map(|at| self.waiters.remove(&at)).flatten().collect()
    }

    pub(crate) fn note_writer(&mut self, address: u64, event: EventId) {
        let writers = self.writers.entry(address).or_default();
        if writers.len() < 8 && !writers.contains(&event) {
            writers.push(event);
        }
    }

    pub(crate) fn forget_writers(&mut self) {
        self.writers.clear();
    }

    pub(crate) fn writers(&self, address: u64) -> &[EventId] {
        self.writers.get(&address).map_or(&[], Vec::as_slice)
    }

    /// The values that a word has had, as far as they are kept.
    pub(crate) fn past(&self, address: u64) -> impl Iterator<Item = u64> + '_ {
        self.all.get(&address).into_iter().flat_map(|word| word.values.iter().map(|value| value.bits[0]))
    }

    /// A hash of all values, by who wrote them.
    pub(crate) fn hash(&self, label: impl Fn(EventId) -> u64) -> u64 {
        let mut sum = 0u64;
        for (&address, word) in &self.all {
            let mut hash = mix(address);
            for value in &word.values {
                hash = mix(hash ^ label(value.event) ^ value.bits[0].rotate_left(7) ^ value.bits[1]);
                for &(who, _) in &value.readers {
                    // In whatever order they came.
                    hash = hash.wrapping_add(mix(u64::from(who) ^ hash.rotate_left(9) & !0xffff));
                }
            }
            sum = sum.wrapping_add(hash);
        }
        sum
    }

    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.lines.clear();
        self.waiters.clear();
        self.writers.clear();
    }
}
