//! Which queue pairs of a table have something under way: what a quiet over all of them looks at.
//!
//! A map of bits, one for each queue pair. A mark may stand though nothing is under way; the other way round never, for whoever
//! trusts the map: who posts marks *after* it has published, and reads the mark first, so that it mostly writes nothing. Who has
//! quieted them all takes marks away, under a lock that it need not get:
//!
//! 1. it makes the count odd, takes the mark away (release), and looks at the queue pair's `ready` by a read-modify-write;
//! 2. if something was published in between, it sets the mark again; who publishes later finds the mark gone, because its own
//!    read-modify-write of `ready` comes behind ([`Edge::Rechecked`], [`Edge::Chained`]), and sets it;
//! 3. it makes the count even (release).
//!
//! Between 1 and 2 a mark may be missing. So who reads marks reads the count before and behind, and looks at every queue pair
//! if it was odd or has changed.
//!
//! | offset | word |
//! |---|---|
//! | 0 | lock |
//! | 8 | count |
//! | [`WORDS_AT`] | the map |

use super::abi::QueuePairAbi;
use super::deadline::Deadline;
use super::failure::Failure;
use super::memory::{Edge, Memory};
use super::queue::{QueuePair, word};

/// From a map's address to its bits.
pub const WORDS_AT: u64 = 16;

/// A table of queue pairs and the map of those that have something under way.
#[derive(Clone, Copy, Debug)]
pub struct Dirty<M: Memory> {
    memory: M,
    table: u64,
    queues: u32,
    map: u64,
}

impl<M: Memory> Dirty<M> {
    /// `queues` queue pairs whose descriptions stand one behind the other at `table`, with the map at `map`.
    ///
    /// # Safety
    /// Each is as [`QueuePair::new`] asks, with its place in the table for its number. The map has [`WORDS_AT`] bytes and one
    /// bit for each, in whole words of 8 bytes, and was zero at the start.
    #[inline(always)]
    pub unsafe fn new(memory: M, table: u64, queues: u32, map: u64) -> Self {
        Self { memory, table, queues, map }
    }

    /// Queue pair `number`, which is less than there are.
    #[inline(always)]
    pub fn queue(&self, number: u32) -> QueuePair<M> {
        // SAFETY: the caller of `new` vouches for the table.
        unsafe {
            QueuePair::new(
                self.memory.clone(),
                self.table + u64::from(number) * size_of::<QueuePairAbi>() as u64,
            )
        }
    }

    /// Says that something was posted to a queue pair of this table. By the thread that posted, after it.
    #[inline(always)]
    pub fn mark(&self, queue: &QueuePair<M>) {
        let (word, bit) = self.bit(queue.number());
        if self.memory.look(word) & bit == 0 {
            self.memory.set(word, bit);
        }
    }

    /// Returns when everything is completed that was posted to any of them, and marked, before the call. By one thread.
    ///
    /// # Errors
    /// The first failure of the queue pairs that it comes to first. It waits for those before.
    #[inline(always)]
    pub fn quiet(&self, deadline: &mut impl Deadline) -> Result<(), Failure> {
        let mut first = 0;
        while first < self.queues {
            let (word, _) = self.bit(first);
            let mut marks = self.marks(word);
            while marks != 0 {
                let number = first + marks.trailing_zeros();
                if number < self.queues {
                    let queue = self.queue(number);
                    if !queue.is_idle() {
                        queue.quiet(deadline)?;
                    }
                }
                marks &= marks - 1;
            }
            self.tidy(first);
            first += 64;
        }
        Ok(())
    }

    /// The word and the bit of a queue pair.
    #[inline(always)]
    fn bit(&self, number: u32) -> (u64, u64) {
        (self.map + WORDS_AT + 8 * u64::from(number / 64), 1 << (number % 64))
    }

    #[inline(always)]
    fn count(&self) -> u64 {
        self.map + 8
    }

    /// The marks of a word; all, if somebody is taking some away.
    #[inline(always)]
    fn marks(&self, word: u64) -> u64 {
        let before = self.memory.load(self.count(), Edge::Marks);
        let marks = self.memory.load(word, Edge::Marks);
        if before & 1 != 0 || self.memory.look(self.count()) != before { u64::MAX } else { marks }
    }

    /// Takes the marks of idle queue pairs away, of the 64 from `first` on, unless somebody else is at it.
    #[inline(always)]
    fn tidy(&self, first: u32) {
        let memory = &self.memory;
        let (word, _) = self.bit(first);
        let mut marks = memory.look(word);
        if marks == 0 || !memory.lock(self.map, Edge::Marks) {
            return;
        }
        let count = memory.look(self.count());
        memory.write(self.count(), count + 1);
        while marks != 0 {
            let (number, bit) = (first + marks.trailing_zeros(), marks & marks.wrapping_neg());
            if number < self.queues {
                let queue = self.queue(number);
                if queue.is_idle() {
                    memory.clear(word, bit, Edge::Cleared);
                    let ready = memory.recheck(word!(queue, ready), Edge::Rechecked);
                    if ready > memory.look(word!(queue, completed)) {
                        memory.set(word, bit);
                    }
                }
            }
            marks &= marks - 1;
        }
        memory.store(self.count(), count + 2, Edge::Settled);
        memory.store(self.map, 0, Edge::Settled);
    }
}
