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
            // SAFETY: the own control area.
            if unsafe { u64::load_relaxed(shmem.abi.heap_base + control::ABORT) } != 0 {
                return Polled::Aborted;
            }
            if order::now() >= until {
                return Polled::Expired(seen);
            }
        }
    }
}
