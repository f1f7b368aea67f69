//! Waiting for signals. Every wait has a deadline: a wait that returns has its condition true, and one that
//! does not writes the error record and ends its scope's threads.

pub use crate::abi::Cmp;
use crate::abi::{Cause, Operation};
use crate::arch::{Word, memory};
use crate::context::{Context, MayWait};
use crate::fault::Fault;
use crate::poll::{Polled, poll};
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::signal::Signal;
use crate::sym::Sym;

/// Whether a growing 64-bit counter that may wrap has reached `goal`: it is at most 2^63 - 1 ahead of it.
#[inline(always)]
pub const fn reached(seen: u64, goal: u64) -> bool {
    seen.wrapping_sub(goal) as i64 >= 0
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Waits until this PE's own `signal` compares with `value`. What the strong signal or put_signal that
    /// made it so covers is visible to the whole scope afterwards. All threads of the scope call it.
    ///
    /// Does not return if the deadline passes or a peer fails: see the crate's error record.
    #[inline(always)]
    #[track_caller]
    pub fn wait_until(self, signal: Sym<Signal>, cmp: Cmp, value: u64)
    where
        C: MayWait,
    {
        seam::operation(Operation::WaitUntil, signal.offset(), 8, self.shmem().my_pe());
        self.wait(signal, Operation::WaitUntil, cmp, value, |seen| cmp.holds(seen, value));
    }

    /// Waits until this PE's own `signal`, a counter that grows, has reached `goal`; right also when it wraps.
    /// As [`wait_until`](Self::wait_until) otherwise.
    #[inline(always)]
    #[track_caller]
    pub fn wait_reached(self, signal: Sym<Signal>, goal: u64)
    where
        C: MayWait,
    {
        seam::operation(Operation::WaitReached, signal.offset(), 8, self.shmem().my_pe());
        self.wait(signal, Operation::WaitReached, Cmp::Ge, goal, |seen| reached(seen, goal));
    }

    /// Whether this PE's own `signal` compares with `value` now. If so, it orders as a wait does; if not, it
    /// orders nothing. All threads of the scope call it and get the same answer.
    #[inline(always)]
    #[track_caller]
    pub fn test(self, signal: Sym<Signal>, cmp: Cmp, value: u64) -> bool {
        let shmem = self.shmem();
        seam::operation(Operation::Test, signal.offset(), 8, shmem.my_pe());
        let address = shmem.own_address(signal.span(), Operation::Test);
        let mut holds = false;
        if self.scope.leads() {
            // SAFETY: a mapped, aligned signal word; only atomic accesses reach it.
            holds = cmp.holds(unsafe { memory::load_acquire_u64(address) }, value);
        }
        self.scope.agree(shmem, holds)
    }

    #[inline(always)]
    fn wait(
        self,
        signal: Sym<Signal>,
        operation: Operation,
        cmp: Cmp,
        expected: u64,
        holds: impl Fn(u64) -> bool,
    ) {
        let shmem = self.shmem();
        let signal = signal.opaque();
        let address = shmem.own_address(signal.span(), operation);
        let mut polled = Polled::Held;
        if self.scope.polls() {
            polled = poll(shmem, shmem.abi.deadline, || {
                // SAFETY: a mapped, aligned signal word; only atomic accesses reach it.
                let seen = unsafe { u64::load_relaxed(address) };
                (holds(seen), seen)
            });
            // SAFETY: as above. Acquire: the relaxed polls ordered nothing.
            unsafe { memory::load_acquire_u64(address) };
        }
        self.scope.join(shmem, polled, |seen| Fault {
            cmp: cmp as u32,
            peer: shmem.my_pe(),
            offset: signal.offset(),
            expected,
            seen,
            ..Fault::new(Cause::Deadline, operation)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_unsigned() {
        for (cmp, seen, value, holds) in [
            (Cmp::Gt, u64::MAX, 1, true),
            (Cmp::Lt, u64::MAX, 1, false),
            (Cmp::Ge, 7, 7, true),
            (Cmp::Le, 8, 7, false),
            (Cmp::Eq, 7, 7, true),
            (Cmp::Ne, 7, 7, false),
        ] {
            assert_eq!(cmp.holds(seen, value), holds, "{seen} {} {value}", cmp.symbol());
            assert_eq!(Cmp::from_number(cmp as u32), Some(cmp));
        }
        assert_eq!(Cmp::from_number(6), None);
    }

    #[test]
    fn a_counter_that_wraps_is_still_reached() {
        assert!(reached(3, u64::MAX - 2));
        assert!(!reached(u64::MAX - 2, 3));
        assert!(reached(5, 5));
    }
}
