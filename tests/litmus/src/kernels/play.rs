//! The rounds of a shape: who plays, the hand-shake between two rounds, delays, and the count.
//!
//! | step, per round | who | edge |
//! |---|---|---|
//! | the shape's own | all roles | what is tested |
//! | strong signal of the credit word | the last role, to each other one | its reads and writes are over |
//! | wait for the credit | the others | so the next round's writes come after them |

use oxshmem_device::bytemuck::{Pod, Zeroable};
use oxshmem_device::cuda_std::thread::nanosleep;
use oxshmem_device::prelude::*;
use oxshmem_device::{Scope, Scoped};

/// Signal words of a shape; the credit is the last one.
pub const SIGNALS: usize = 8;
/// The signal word that lets a PE begin the next round.
pub const CREDIT: u64 = SIGNALS as u64 - 1;
/// Where PE 0 counts rounds in which a PE saw the forbidden outcome.
pub const VIOLATIONS: u64 = 0;
/// Where PE 0 counts rounds, once per group.
pub const ROUNDS: u64 = 1;

/// How a shape is run.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Not 0: without the ordering that the shape is about.
    pub twin: u32,
    /// How many rounds.
    pub rounds: u32,
    /// Of the delays; 0: none.
    pub seed: u32,
}

// SAFETY: three integers, for which all-zero bytes are a value.
unsafe impl Zeroable for Run {}
// SAFETY: three integers of equal size, so no padding, and every pattern of bits is a value.
unsafe impl Pod for Run {}

impl Run {
    /// Whether this is the twin.
    #[inline(always)]
    pub(super) fn is_twin(self) -> bool {
        self.twin != 0
    }
}

/// One round, as one PE sees it.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// From 1.
    pub(super) round: u32,
    /// The PE's role in its group, from 0.
    pub(super) role: u32,
    /// The PE of role 0.
    first: u32,
}

impl Turn {
    /// The PE that plays `role`.
    #[inline(always)]
    pub(super) fn pe(self, role: u32) -> u32 {
        self.first + role
    }

    /// The round, as signals carry it.
    #[inline(always)]
    pub(super) fn epoch(self) -> u64 {
        self.round.into()
    }
}

/// Pseudo-random delays: work of each thread's own, and sleep of whole warps. Where some lanes of a warp slept, they were
/// seen to come to the next barrier of the block in pieces (H200, driver 580), which ends the kernel.
pub(super) struct Delays {
    /// The thread's; 0: there are no delays.
    state: u32,
    /// The warp's.
    warp: u32,
}

impl Delays {
    #[inline(always)]
    fn new(seed: u32, pe: u32) -> Self {
        let thread = thread::in_grid() as u32;
        let mixed =
            |of: u32| if seed == 0 { 0 } else { (seed ^ pe << 20 ^ of).wrapping_mul(0x9e37_79b1) | 1 };
        Self { state: mixed(thread), warp: mixed(thread >> 5 | 1 << 19) }
    }

    /// Nothing, some sleep or some work, up to about a microsecond.
    #[inline(always)]
    pub(super) fn pause(&mut self) {
        if self.state == 0 {
            return;
        }
        let warp = xorshift(self.warp);
        if warp >> 30 == 1 {
            nanosleep(warp & 511);
        }
        let mut state = xorshift(self.state);
        if state >> 31 == 1 {
            let mut steps = state & 63;
            while steps > 0 {
                state = xorshift(state);
                steps -= 1;
            }
        }
        (self.state, self.warp) = (state, warp);
    }
}

/// The next of a sequence that never reaches 0 (Marsaglia, 2003).
#[inline(always)]
pub(super) fn xorshift(state: u32) -> u32 {
    let state = state ^ state << 13;
    let state = state ^ state >> 17;
    state ^ state << 5
}

/// Plays `run.rounds` rounds in groups of `roles` PEs; PEs that are left over do not play. `step` plays one round and
/// says whether the calling thread saw the forbidden outcome. When the last role's step returns, every other role has
/// done what it does in that round.
///
/// Called by all threads of the grid; `scope` is the one that shakes hands: the only block, or the grid.
#[inline(always)]
pub(super) fn play<S: Scope>(
    shmem: Collective,
    scope: Scoped<S, Collective>,
    roles: u32,
    (signals, tally): (Sym<[Signal]>, Sym<[Atomic<u64>]>),
    run: Run,
    mut step: impl FnMut(Turn, &mut Delays) -> bool,
) {
    let (me, block) = (shmem.my_pe(), shmem.block());
    let role = me % roles;
    let first = me - role;
    if first + roles > shmem.n_pes() {
        return;
    }
    let is_last = role == roles - 1;
    let credit = signals.at(CREDIT);
    let mut delays = Delays::new(run.seed, me);
    let (mut violations, mut rounds) = (0u64, 0u64);
    while rounds < u64::from(run.rounds) {
        let turn = Turn { round: rounds as u32 + 1, role, first };
        let seen = step(turn, &mut delays);
        violations += u64::from(block.any(seen));
        if is_last {
            let mut other = first;
            while other < me {
                scope.signal(credit, SignalOp::Set(turn.epoch()), other);
                other += 1;
            }
        } else {
            scope.wait_reached(credit, turn.epoch());
        }
        rounds += 1;
    }
    if block.is_leader() {
        shmem.thread().atomic_add(tally.at(VIOLATIONS), violations, 0);
    }
    if is_last && scope.is_leader() {
        shmem.thread().atomic_add(tally.at(ROUNDS), rounds, 0);
    }
}

/// How often a poll without acquire looks before it waits properly, so that it is bounded.
const LOOKS: u32 = 1000;

/// Calls `look` until it says that it saw what it looks for, or has looked often; says which. In the emulator others run
/// meanwhile.
#[inline(always)]
pub(super) fn look_for(mut look: impl FnMut() -> bool) -> bool {
    let mut looks = 0;
    while looks < LOOKS {
        if look() {
            return true;
        }
        nanosleep(1);
        looks += 1;
    }
    false
}

/// Waits for `signal` at block scope without acquiring what it releases. The broken half of a shape: if the signal
/// is late this is a proper wait.
#[inline(always)]
pub(super) fn wait_without_acquire(shmem: Collective, signal: Sym<Signal>, goal: u64) {
    let (block, thread) = (shmem.block(), shmem.thread());
    if block.is_leader() && !look_for(|| thread.signal_fetch(signal) >= goal) {
        thread.wait_reached(signal, goal);
    }
    block.sync();
}
