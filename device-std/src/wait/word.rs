//! What can be waited for: signals, and words of integer atomics.

use crate::atomic::{Atomic, AtomicInteger};
use crate::signal::Signal;
use crate::sym::Symmetric;

/// A word that waits and tests compare: [`Signal`], as a `u64`, or [`Atomic<T>`](Atomic) of an integer, as a `T`.
/// Signed values compare signed.
#[diagnostic::on_unimplemented(
    message = "a wait or test takes a `Signal` or an `Atomic` integer, not `{Self}`",
    label = "cannot be waited for",
    note = "allocate the word by `alloc_signals`, or by `alloc_atomics::<T>` with `i32`, `u32`, `i64`, `u64`, `isize` or `usize`",
    note = "plain data that a put writes is covered by a signal: use `put_signal` and wait for the signal"
)]
pub trait WaitWord: Symmetric<Len = ()> + sealed::Sealed {
    /// What it is compared with.
    type Value: AtomicInteger;
}

impl WaitWord for Signal {
    type Value = u64;
}
impl<T: AtomicInteger> WaitWord for Atomic<T> {
    type Value = T;
}

/// A word that counts up and may wrap: [`Signal`], `Atomic<u32>`, `Atomic<u64>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a growing counter: `wait_reached` and `test_reached` take a `Signal`, `Atomic<u32>` or `Atomic<u64>`",
    label = "not a counter that may wrap",
    note = "compare other words by `wait_until` and `test`"
)]
pub trait Counter: WaitWord {
    /// Whether a count that is `seen` has reached `goal`: it is less than half the range ahead of it.
    fn reached(seen: Self::Value, goal: Self::Value) -> bool;
}

impl Counter for Signal {
    #[inline(always)]
    fn reached(seen: u64, goal: u64) -> bool {
        reached(seen, goal)
    }
}
impl Counter for Atomic<u64> {
    #[inline(always)]
    fn reached(seen: u64, goal: u64) -> bool {
        reached(seen, goal)
    }
}
impl Counter for Atomic<u32> {
    #[inline(always)]
    fn reached(seen: u32, goal: u32) -> bool {
        seen.wrapping_sub(goal) as i32 >= 0
    }
}

/// Whether a growing 64-bit counter that may wrap has reached `goal`: it is at most 2^63 - 1 ahead of it.
#[inline(always)]
pub const fn reached(seen: u64, goal: u64) -> bool {
    seen.wrapping_sub(goal) as i64 >= 0
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Signal {}
    impl<T: super::AtomicInteger> Sealed for super::Atomic<T> {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::Cmp;

    #[test]
    fn comparisons_are_unsigned_for_unsigned_words_and_signed_for_signed_ones() {
        for (cmp, unsigned, signed) in [
            (Cmp::Gt, true, false),
            (Cmp::Lt, false, true),
            (Cmp::Ge, true, false),
            (Cmp::Le, false, true),
            (Cmp::Eq, false, false),
            (Cmp::Ne, true, true),
        ] {
            assert_eq!(cmp.holds(u64::MAX, 1), unsigned, "{}", cmp.symbol());
            assert_eq!(cmp.holds(-1i64, 1), signed, "{}", cmp.symbol());
            assert_eq!(cmp.holds(u32::MAX, 1), unsigned, "{}", cmp.symbol());
            assert_eq!(cmp.holds(-1i32, 1), signed, "{}", cmp.symbol());
            assert_eq!(Cmp::from_number(cmp as u32), Some(cmp));
        }
        assert_eq!(Cmp::from_number(6), None);
    }

    #[test]
    fn a_value_compares_with_itself() {
        for cmp in [Cmp::Ge, Cmp::Le, Cmp::Eq] {
            assert!(cmp.holds(7, 7));
        }
        for cmp in [Cmp::Gt, Cmp::Lt, Cmp::Ne] {
            assert!(!cmp.holds(7, 7));
        }
    }

    #[test]
    fn a_counter_that_wraps_is_still_reached() {
        for edge in [0u64, 1 << 31, 1 << 32, 1 << 63] {
            let (before, after) = (edge.wrapping_sub(2), edge.wrapping_add(3));
            assert!(reached(after, before) && !reached(before, after) && reached(edge, edge), "{edge:#x}");
        }
        for edge in [0u32, 1 << 31] {
            let (before, after) = (edge.wrapping_sub(2), edge.wrapping_add(3));
            let reached = <Atomic<u32> as Counter>::reached;
            assert!(reached(after, before) && !reached(before, after) && reached(edge, edge), "{edge:#x}");
        }
    }

    #[test]
    fn a_record_keeps_the_sign() {
        assert_eq!(
            ((-3i32).recorded(), 7u32.recorded(), (-3isize).recorded()),
            (-3i64 as u64, 7, -3i64 as u64)
        );
    }
}
