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

/// When a poll gives up: fixed when it first looks at the clock, after many failed looks. A poll that need not wait long
/// has nothing but its condition to look at.
pub(crate) struct Until {
    budget: u64,
    /// 0 before the first look at the clock.
    moment: u64,
}

impl Until {
    /// `budget` units of the device's clock after the first look at it.
    #[inline(always)]
    pub(crate) fn within(budget: u64) -> Self {
        Self { budget, moment: 0 }
    }

    /// After the `failed`-th failed look in a row, which saw `seen`: whether it is time to give up. `Held` if it is not.
    #[inline(always)]
    pub(crate) fn over(&mut self, shmem: Shmem, failed: u32, seen: u64) -> Polled {
        if !failed.is_multiple_of(order::POLLS_PER_CHECK) {
            return Polled::Held;
        }
        if self.moment == 0 {
            self.moment = order::now().saturating_add(self.budget);
            return Polled::Held;
        }
        // SAFETY: the own control area, and the alarm word.
        let (abort, alarm) = unsafe {
            (u64::load_relaxed(shmem.abi.heap_base + control::ABORT), u32::load_relaxed(shmem.abi.alarm))
        };
        if abort != 0 || alarm != 0 {
            return Polled::Aborted;
        }
        if order::now() >= self.moment { Polled::Expired(seen) } else { Polled::Held }
    }
}

/// Calls `look`, which says whether its condition holds and what it saw, until it does, for at most `budget`
/// units of the device's clock.
#[inline(always)]
pub(crate) fn poll(shmem: Shmem, budget: u64, look: impl FnMut() -> (bool, u64)) -> Polled {
    poll_until(shmem, &mut Until::within(budget), look)
}

/// As [`poll`]; several polls may share one end.
#[inline(always)]
pub(crate) fn poll_until(shmem: Shmem, until: &mut Until, mut look: impl FnMut() -> (bool, u64)) -> Polled {
    let mut failed = 0u32;
    loop {
        let (holds, seen) = look();
        if holds {
            return Polled::Held;
        }
        failed = failed.wrapping_add(1);
        let over = until.over(shmem, failed, seen);
        if !matches!(over, Polled::Held) {
            return over;
        }
        order::poll_failed(failed, until.moment);
    }
}

/// Makes the relaxed looks at the word at `address`, of which the last one saw what was waited for, acquire: by a fence that
/// costs a few cycles, or where there is none by another load, which must see what the polls saw: a word has one writer, or
/// its writers add.
///
/// # Safety
/// `address` is that of a mapped, aligned `W`.
#[inline(always)]
pub(crate) unsafe fn acquire<W: Word>(address: u64) {
    if order::HAS_FENCE_ACQUIRE {
        order::fence_acquire_sys();
    } else {
        // SAFETY: passed on.
        unsafe { W::load_acquire(address) };
    }
}
