//! The bounded poll under every wait: looks until a condition holds, a peer fails, or the time is up.

use crate::abi::control;
use crate::arch::{Word, order};
use crate::context::Shmem;

/// How a poll ended.
#[derive(Clone, Copy)]
pub enum Polled {
    /// Its condition held.
    Held,
    /// A peer failed.
    Aborted,
    /// Its time ran out; the value last seen.
    Expired(u64),
}

impl Polled {
    /// The same, where what was seen last is a barrier word: how many of `n` had come.
    #[inline(always)]
    pub(crate) fn arrivals(self, n: u32) -> Self {
        let Self::Expired(word) = self else { return self };
        // Since the round began: one for each, and the first one's 2^31 less the others.
        let sum = (word as u32) & !(1 << 31);
        let first = (1 << 31) - (n - 1);
        Self::Expired(u64::from(if sum >= first { sum - first + 1 } else { sum }))
    }
}

/// Whether a barrier word's round has ended since it was `before`: each adds 2^31 in all, so it needs no reset and any
/// number of participants may follow another.
#[inline(always)]
pub(crate) fn flipped(before: u32, now: u32) -> bool {
    (before ^ now) >> 31 != 0
}

/// Calls `look`, which says whether its condition holds and what it saw, until it does, for at most `budget`
/// units of the device's clock.
#[inline(always)]
pub(crate) fn poll(shmem: Shmem, budget: u64, look: impl Fn() -> (bool, u64)) -> Polled {
    if look().0 {
        return Polled::Held;
    }
    let until = order::now().saturating_add(budget);
    let mut failed = 0u32;
    loop {
        failed = failed.wrapping_add(1);
        order::poll_failed(failed, until);
        let (holds, seen) = look();
        if holds {
            return Polled::Held;
        }
        if failed.is_multiple_of(order::POLLS_PER_CHECK) {
            // SAFETY: the own control area, and the alarm word.
            let (abort, alarm) = unsafe {
                (u64::load_relaxed(shmem.abi.heap_base + control::ABORT), u32::load_relaxed(shmem.abi.alarm))
            };
            if abort != 0 || alarm != 0 {
                return Polled::Aborted;
            }
            if order::now() >= until {
                return Polled::Expired(seen);
            }
        }
    }
}
