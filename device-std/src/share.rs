//! Which of a number of things each thread of a scope has to do with.

use crate::scope::{Scope, Width};
use crate::thread as indices;

/// The numbers less than `len` that a thread of a scope has to do with, four at a time: its rank, and every scope's size
/// after it. A thread that has none, in a warp where another has, looks at the last with it: a warp that stays together
/// is a tenth of a microsecond ahead of one that comes apart.
pub(crate) struct Share {
    len: u64,
    step: u64,
    /// The next number.
    next: u64,
    /// That of the first thread of the warp.
    first: u64,
}

impl Share {
    #[inline(always)]
    pub(crate) fn new<S: Scope>(scope: S, len: u64) -> Self {
        let lane = if matches!(S::WIDTH, Width::One) { 0 } else { indices::in_block() & 31 };
        let next = scope.rank();
        Self { len, step: scope.size(), next, first: next - u64::from(lane) }
    }

    /// Whether the thread's warp has any left.
    #[inline(always)]
    pub(crate) fn has_some(&self) -> bool {
        self.first < self.len
    }

    /// Whether no thread of the scope has more than one.
    #[inline(always)]
    pub(crate) fn is_one_each(&self) -> bool {
        self.len <= self.step
    }

    /// The `k`-th from here, or the last of all. There is one.
    #[inline(always)]
    pub(crate) fn at(&self, k: u64) -> u64 {
        (self.next + k * self.step).min(self.len.saturating_sub(1))
    }

    #[inline(always)]
    pub(crate) fn four(&self) -> [u64; 4] {
        [self.at(0), self.at(1), self.at(2), self.at(3)]
    }

    /// Calls `f` with the `k`-th from here, if that is the thread's own.
    #[inline(always)]
    pub(crate) fn own(&self, k: u64, f: impl FnOnce(u64)) {
        let i = self.next + k * self.step;
        if i < self.len {
            f(i);
        }
    }

    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        self.next += 4 * self.step;
        self.first += 4 * self.step;
    }
}
