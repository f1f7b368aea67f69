//! Words of parts: which each thread has to do with, one part after another.

use super::packets::Four;
use crate::scope::Scope;
use crate::share::Share;

/// Where a thread stands that goes over the words of some parts of the same length, a scope's size further each time. One division
/// at its start, and none on the way: of a thousand threads each division takes as long as a packet's way.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    /// The part, and the word in it.
    pub(super) part: u32,
    pub(super) word: u32,
    parts: u32,
    words: u32,
    /// What a step adds.
    more_parts: u32,
    more_words: u32,
}

impl Walk {
    /// Of `parts` parts with `words` words each, less than 2^32 together.
    #[inline(always)]
    pub(super) fn new<S: Scope>(scope: S, parts: u32, words: u32) -> Self {
        let (rank, step) = (scope.rank() as u32, scope.size() as u32);
        // Of one part, and of none, nothing is divided.
        let (part, more_parts) = if parts <= 1 || words == 0 {
            (0, 0)
        } else if words.is_power_of_two() {
            let power = words.trailing_zeros();
            (rank >> power, step >> power)
        } else {
            (rank / words, step / words)
        };
        Self {
            part,
            word: rank - part * words,
            parts,
            words,
            more_parts,
            more_words: step - more_parts * words,
        }
    }

    /// How the threads share all of them.
    #[inline(always)]
    pub(super) fn share<S: Scope>(self, scope: S) -> Share {
        Share::new(scope, u64::from(self.parts) * u64::from(self.words))
    }

    /// The thread's next four, and moves on behind them.
    #[inline(always)]
    pub(super) fn four(&mut self) -> Four<Self> {
        let a = *self;
        let b = a.next();
        let c = b.next();
        let d = c.next();
        *self = d.next();
        Four(a, b, c, d)
    }

    /// The last word of all in place of one behind it.
    #[inline(always)]
    pub(super) fn within(self) -> Self {
        if self.is_inside() {
            return self;
        }
        Self { part: self.parts - 1, word: self.words - 1, ..self }
    }

    /// Whether there is such a word.
    #[inline(always)]
    pub(super) fn is_inside(self) -> bool {
        self.part < self.parts && self.word < self.words
    }

    /// Where the thread goes next.
    #[inline(always)]
    pub(super) fn next(self) -> Self {
        let (part, word) = (self.part + self.more_parts, self.word + self.more_words);
        if self.parts > 1 && word >= self.words {
            Self { part: part + 1, word: word - self.words, ..self }
        } else {
            Self { part, word, ..self }
        }
    }
}
