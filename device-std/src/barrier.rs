//! The barriers that poll: of a grid, by one thread of each block, and of PEs, by as many threads of a scope as there are PEs to
//! tell.

use crate::abi::{Cause, Cmp, Operation, control};
use crate::arch::{Word, atomic, order};
use crate::context::{Context, Shmem};
use crate::fault::Fault;
use crate::poll::{Polled, Until, acquire, flipped, poll, poll_until};
use crate::scope::{Scope, Width};
use crate::thread;

/// Heap offset of the launch's grid-barrier word.
#[inline(always)]
pub(crate) fn grid_word(shmem: Shmem) -> u64 {
    control::GRID + control::GRID_STRIDE * u64::from(shmem.abi.grid_slot)
}

/// The grid barrier, by one thread per block. Given up, it has seen how many blocks had come.
///
/// | step | edge |
/// |---|---|
/// | block barrier (caller) | the block's past reaches its first thread |
/// | `atom.acq_rel.gpu.add` on the launch's slot; the first block adds 2^31 less the others | release, and a chain through the other arrivals |
/// | `ld.relaxed` until the top bit has flipped, then `fence.acquire.sys` (sm_80: `ld.acquire.gpu` until then) | acquire of every arrival |
/// | block barrier (caller) | reaches the rest of the block |
///
/// Each round adds exactly 2^31, so any grid size may follow another.
#[inline(always)]
pub(crate) fn grid_barrier(shmem: Shmem) -> Polled {
    let blocks = thread::blocks();
    if blocks == 1 {
        return Polled::Held;
    }
    let address = shmem.abi.heap_base + grid_word(shmem);
    let add = if thread::block() == 0 { (1 << 31) - (blocks - 1) } else { 1 };
    // SAFETY: the slot's word in the own control area.
    let before = unsafe { atomic::arrive_gpu_u32(address, add) };
    // Twice the deadline of a wait: a block that waits for a peer reports that first.
    let polled = poll(shmem, shmem.abi.deadline.saturating_mul(2), || {
        // An acquire of each look would empty the L1 each time.
        // SAFETY: as above.
        let now = unsafe {
            if order::HAS_FENCE_ACQUIRE {
                u32::load_relaxed(address)
            } else {
                atomic::load_acquire_gpu_u32(address)
            }
        };
        (flipped(before, now), u64::from(now))
    });
    order::fence_acquire_sys();
    polled.arrivals(blocks)
}

/// The words of a barrier in every PE's heap, and this PE's number among those that meet.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    /// Heap offset of the epoch.
    pub(crate) epoch: u64,
    /// Heap offset of the first flag.
    pub(crate) flags: u64,
    pub(crate) me: u32,
}

/// How many PEs know of each other after a round, of each that did before: as many as the flags of a channel allow.
#[inline(always)]
fn radix(n: u32) -> u32 {
    match n {
        0..=64 => 8,
        65..=1024 => 4,
        _ => 2,
    }
}

/// A round of a barrier: a PE tells those that are 1, 2, ... times `distance` after it, `others` of them, and hears of as many
/// before it.
#[derive(Clone, Copy)]
struct Round {
    me: u32,
    n: u32,
    distance: u32,
    others: u32,
    /// Heap offset of its flags.
    flags: u64,
}

impl Round {
    #[inline(always)]
    fn new(me: u32, n: u32, distance: u32, flags: u64) -> Self {
        let others = if distance == 1 { n - 1 } else { (n - 1) / distance };
        Self { me, n, distance, others: others.min(radix(n) - 1), flags }
    }

    /// The next one, if there is one.
    #[inline(always)]
    fn next(self) -> Option<Self> {
        let radix = radix(self.n);
        if self.distance > (self.n - 1) / radix {
            return None;
        }
        Some(Self::new(self.me, self.n, self.distance * radix, self.flags + 8 * u64::from(radix - 1)))
    }

    /// The `j`th of the PEs that are told, from 1 on.
    #[inline(always)]
    fn after(self, j: u32) -> u32 {
        // `j * distance` is less than `n`.
        let pe = self.me + j * self.distance;
        if pe < self.n { pe } else { pe - self.n }
    }

    /// The `j`th of the PEs that tell.
    #[inline(always)]
    fn before(self, j: u32) -> u32 {
        let back = j * self.distance;
        if self.me >= back { self.me - back } else { self.me + self.n - back }
    }

    #[inline(always)]
    fn flag(self, j: u32) -> u64 {
        self.flags + 8 * u64::from(j - 1)
    }

    /// Tells the others, waits until those before have told this PE, and joins the scope: a thread tells one and hears of one, or
    /// of several where there are too few. `completes`: what came before is complete, too.
    #[inline(always)]
    fn meet<S: Scope, C: Context>(self, scope: S, context: C, until: &mut Until, told: Told) {
        let Told { operation, epoch, completes, kept } = told;
        let (shmem, first) = (context.shmem(), scope.rank() as u32 + 1);
        let (mut polled, mut missing) = (Polled::Held, 1);
        if first <= self.others {
            if completes || (is_alone::<S>() && self.others > 1) {
                if completes || !shmem.abi.tuning.is_on_one_gpu() {
                    order::fence_sc_sys();
                } else {
                    order::fence_sc_gpu();
                }
                // SAFETY: a flag in a mapped peer's control area, which only such accesses reach.
                self.tell(scope, context, |flag| unsafe { u64::store_relaxed(flag, epoch) });
            } else {
                // SAFETY: as above.
                self.tell(scope, context, |flag| unsafe { shmem.tell(flag, epoch) });
            }
            // SAFETY: the epoch's word; only one thread is in the barrier.
            let keep = |epoch| unsafe { u64::store_relaxed(shmem.abi.heap_base + kept, epoch) };
            if is_alone::<S>() {
                // It arrives while the others' flags are waited for; the next release would wait for it.
                keep(epoch);
            }
            (polled, missing) = self.hear(scope, shmem, until, epoch);
            if is_alone::<S>() && !matches!(polled, Polled::Held) {
                keep(epoch - 1);
            }
        } else if completes && first == 1 {
            // A barrier of one PE completes, too.
            order::fence_sc_sys();
        }
        let peer = context.world_pe(self.before(missing));
        let fault = Fault { peer, ..Fault::new(Cause::Deadline, operation) };
        let fault = Fault { cmp: Cmp::Ge as u32, offset: self.flag(missing), expected: epoch, ..fault };
        scope.join(shmem, polled, fault);
    }

    /// Has `store` write the flags of those that the thread tells, at least one.
    #[inline(always)]
    fn tell<S: Scope, C: Context>(self, scope: S, context: C, store: impl Fn(u64)) {
        let mut j = scope.rank() as u32 + 1;
        loop {
            store(context.shmem().peer_base(context.world_pe(self.after(j))) + self.flag(j));
            j += scope.size() as u32;
            if j > self.others {
                return;
            }
        }
    }

    /// Waits for those that tell the thread, at least one, and acquires what they did. Gives how that ended, and the number of the
    /// one that was waited for last.
    #[inline(always)]
    fn hear<S: Scope>(self, scope: S, shmem: Shmem, until: &mut Until, epoch: u64) -> (Polled, u32) {
        let (base, step) = (shmem.abi.heap_base, scope.size() as u32);
        // One thread looks at four flags at once: each look is a way to memory and back.
        let several = is_alone::<S>() && self.others > 1;
        let mut j = scope.rank() as u32 + 1;
        loop {
            let (last, mut missing) = (if several { self.others.min(j + 3) } else { j }, j);
            let polled = poll_until(shmem, until, || {
                // SAFETY: flags in the own control area.
                let look = |k: u32| unsafe { u64::load_relaxed(base + self.flag((j + k).min(last))) };
                if !several {
                    let seen = look(0);
                    return (seen >= epoch, seen);
                }
                let (a, b, c, d) = (look(0), look(1), look(2), look(3));
                missing = j + u32::from(a >= epoch);
                missing += u32::from((a >= epoch) & (b >= epoch));
                missing += u32::from((a >= epoch) & (b >= epoch) & (c >= epoch));
                // There may be fewer than four.
                missing = missing.min(last);
                let least = a.min(b).min(c.min(d));
                (least >= epoch, least)
            });
            let mut k = j;
            while {
                // SAFETY: as above.
                unsafe { acquire::<u64>(base + self.flag(k)) };
                k += 1;
                k <= last
            } {}
            j = if is_alone::<S>() { last + 1 } else { j + step };
            if j > self.others || !matches!(polled, Polled::Held) {
                return (polled, missing);
            }
        }
    }
}

/// What those who meet are told.
#[derive(Clone, Copy)]
struct Told {
    operation: Operation,
    epoch: u64,
    completes: bool,
    /// Heap offset of the epoch.
    kept: u64,
}

/// Whether the scope is one thread.
#[inline(always)]
fn is_alone<S: Scope>() -> bool {
    matches!(S::WIDTH, Width::One)
}

/// Dissemination barrier over the PEs of a context, by the threads of a scope, which it joins. In a round at distance `d`, first
/// 1, a PE tells those `d`, `2 d`, ... after it, so that up to 8 PEs meet in one. (D. Hensgen, R. Finkel, U. Manber, Two
/// algorithms for barrier synchronization, 1988, has two PEs in a round.)
///
/// | step | edge |
/// |---|---|
/// | `completes`, in the first round: `fence.sc.sys` by each thread that tells another PE | see `order.rs` |
/// | thread `j`: `st.release.sys` of the epoch to the round's flag `j` of PE `me + j d`, where all PEs are on one GPU `st.release.gpu`; behind that fence, and behind one of a single thread that tells several PEs, `st.relaxed.sys` | release of all that the scope has seen, cumulatively |
/// | thread `j`: `ld.relaxed.sys` of the own flag `j` until it reaches the epoch, then `fence.acquire.sys` (sm_80: `ld.acquire.sys`) | acquire of PE `me - j d` and of what it had acquired |
/// | scope barrier | what each thread has acquired reaches all, and is released in the next round |
///
/// The epoch is in the control area, 64-bit and monotonic, so launches, graphs and streams may follow each
/// other without a reset. One caller per PE and epoch at a time.
#[inline(always)]
pub(crate) fn pes_barrier<S: Scope, C: Context>(
    scope: S,
    context: C,
    operation: Operation,
    Words { epoch: at, flags, me }: Words,
    completes: bool,
) {
    let shmem = context.shmem();
    let base = shmem.abi.heap_base;
    // SAFETY: the own control area; one caller per PE and epoch at a time, whose leader writes it after all have read it.
    let epoch = 1 + unsafe { u64::load_relaxed(base + at) };
    let mut until = Until::within(shmem.abi.deadline);
    let mut round = Some(Round::new(me, context.pes(), 1, flags));
    let told = Told { operation, epoch, completes: false, kept: at };
    // Apart, so that on every path its fence is before its stores.
    if completes && let Some(first) = round {
        first.meet(scope, context, &mut until, Told { completes, ..told });
        round = first.next();
    }
    while let Some(next) = round {
        next.meet(scope, context, &mut until, told);
        round = next.next();
    }
    if scope.leads() && (!is_alone::<S>() || context.pes() == 1) {
        // SAFETY: as above; the next caller's threads come behind a barrier of the scope.
        unsafe { u64::store_relaxed(base + at, epoch) };
    }
}
