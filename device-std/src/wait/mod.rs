//! Waiting for words that other PEs update: signals and integer atomics. Every wait has a deadline: one that returns
//! has its condition true, and one that does not writes the error record and ends its scope's threads.
//!
//! | step | thread | edge |
//! |---|---|---|
//! | `ld.relaxed.sys` until the condition holds | those that poll | none |
//! | `fence.acquire.sys` (sm_80: `ld.acquire.sys` of each word) | the same | acquire of what the update released. The fence costs a few cycles, the load another trip to the L2 |
//! | scope barrier | all | joins the others to them |

mod list;
mod set;
mod several;
mod word;

pub use crate::abi::Cmp;
use crate::abi::{Cause, Operation};
use crate::arch::Word;
use crate::atomic::{AtomicInteger, sealed::Machine};
use crate::context::{Context, MayWait};
use crate::fault::Fault;
use crate::poll::{self, Polled, poll};
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::sym::Sym;
pub use list::{Every, Indices, Status, Values};
pub use word::{Counter, WaitWord, reached};

/// What is in a word now, relaxed.
///
/// # Safety
/// `address` is that of a mapped `W`.
#[inline(always)]
unsafe fn look<W: WaitWord>(address: u64) -> W::Value {
    // SAFETY: passed on; only atomic accesses reach the word.
    Machine::of(unsafe { Word::load_relaxed(address) })
}

/// What is in a word now, acquired.
///
/// # Safety
/// As [`look`].
#[inline(always)]
unsafe fn acquire<W: WaitWord>(address: u64) -> W::Value {
    // SAFETY: passed on; only atomic accesses reach the word.
    Machine::of(unsafe { Word::load_acquire(address) })
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Waits until this PE's own `word` compares with `value`. What the strong signal, put_signal or releasing
    /// atomic that made it so covers is visible to the whole scope afterwards. All threads of the scope call it.
    /// (OpenSHMEM 1.6, 9.11.1.)
    ///
    /// Does not return if the deadline passes or a peer fails: see the crate's error record.
    #[inline(always)]
    #[track_caller]
    pub fn wait_until<W: WaitWord>(self, word: Sym<W>, cmp: Cmp, value: W::Value)
    where
        C: MayWait,
    {
        let _recorded = self.enter_here(Operation::WaitUntil, word.offset(), W::ELEMENT_BYTES);
        seam::with(value.recorded());
        self.wait(word, Operation::WaitUntil, cmp, value, |seen| cmp.holds(seen, value));
    }

    /// Waits until this PE's own `word`, a counter that grows, has reached `goal`; right also when it wraps.
    /// As [`wait_until`](Self::wait_until) otherwise.
    #[inline(always)]
    #[track_caller]
    pub fn wait_reached<W: Counter>(self, word: Sym<W>, goal: W::Value)
    where
        C: MayWait,
    {
        let _recorded = self.enter_here(Operation::WaitReached, word.offset(), W::ELEMENT_BYTES);
        seam::with(goal.recorded());
        self.wait(word, Operation::WaitReached, Cmp::Ge, goal, |seen| W::reached(seen, goal));
    }

    /// Whether this PE's own `word` compares with `value` now. If so, it orders as a wait does; if not, it
    /// orders nothing. All threads of the scope call it and get the same answer. (OpenSHMEM 1.6, 9.11.8.)
    #[inline(always)]
    #[track_caller]
    pub fn test<W: WaitWord>(self, word: Sym<W>, cmp: Cmp, value: W::Value) -> bool {
        let _recorded = self.enter_here(Operation::Test, word.offset(), W::ELEMENT_BYTES);
        self.holds(word, |seen| cmp.holds(seen, value))
    }

    /// Whether this PE's own `word`, a counter that grows, has reached `goal` now; right also when it wraps.
    /// As [`test`](Self::test) otherwise.
    #[inline(always)]
    #[track_caller]
    pub fn test_reached<W: Counter>(self, word: Sym<W>, goal: W::Value) -> bool {
        let _recorded = self.enter_here(Operation::Test, word.offset(), W::ELEMENT_BYTES);
        self.holds(word, |seen| W::reached(seen, goal))
    }

    #[inline(always)]
    fn holds<W: WaitWord>(self, word: Sym<W>, holds: impl Fn(W::Value) -> bool) -> bool {
        let shmem = self.shmem();
        let address = shmem.own_address(word.span(), Operation::Test);
        // SAFETY: a mapped, aligned word.
        let answer = self.scope.leads() && holds(unsafe { acquire::<W>(address) });
        seam::tested(answer);
        self.scope.agree(shmem, answer)
    }

    /// Waits until this PE's own `word` holds what is expected, and acquires it.
    #[inline(always)]
    pub(crate) fn wait<W: WaitWord>(
        self,
        word: Sym<W>,
        operation: Operation,
        cmp: Cmp,
        expected: W::Value,
        holds: impl Fn(W::Value) -> bool,
    ) {
        let shmem = self.shmem();
        let word = word.opaque();
        let address = shmem.own_address(word.span(), operation);
        let mut polled = Polled::Held;
        if self.scope.polls() {
            polled = poll(shmem, shmem.abi.deadline, || {
                // SAFETY: a mapped, aligned word.
                let seen = unsafe { look::<W>(address) };
                (holds(seen), seen.recorded())
            });
            // SAFETY: as above.
            unsafe { poll::acquire::<<W::Value as Machine>::Bits>(address) };
        }
        let fault = Fault {
            cmp: cmp as u32,
            peer: shmem.my_pe(),
            offset: word.offset(),
            expected: expected.recorded(),
            ..Fault::new(Cause::Deadline, operation)
        };
        self.scope.join(shmem, polled, fault);
    }
}
