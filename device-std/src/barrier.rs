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

/// Dissemination barrier over the PEs of a context, by the threads of a scope, which it joins. In a round at distance `d`, first
/// 1, a PE tells those `d`, `2 d`, ... after it, so that up to 8 PEs meet in one. (D. Hensgen, R. Finkel, U. Manber, Two
/// algorithms for barrier synchronization, 1988, has two PEs in a round.)
///
/// | step | edge |
/// |---|---|
/// | `completes`: `fence.sc.sys`, by each thread that tells another PE in the first round | see `order.rs` |
/// | thread `j`: `st.release.sys` of the epoch to the round's flag `j` of PE `me + j d`. A single thread that tells several PEs: `fence.sc.sys`, then `st.relaxed.sys` | release of all that the scope has seen, cumulatively |
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
    let alone = matches!(S::WIDTH, Width::One);
    let (shmem, n) = (context.shmem(), context.pes());
    let base = shmem.abi.heap_base;
    // SAFETY: the own control area; one caller per PE and epoch at a time, whose leader writes it after all have read it.
    let epoch = 1 + unsafe { u64::load_relaxed(base + at) };
    let (first, step) = (scope.rank() as u32 + 1, scope.size() as u32);
    let radix = radix(n);
    let (mut flags, mut distance) = (flags, 1u32);
    let mut until = Until::within(shmem.abi.deadline);
    loop {
        let others = if distance == 1 { n - 1 } else { (n - 1) / distance };
        let others = others.min(radix - 1);
        // `j * distance` is less than `n`.
        let after = |j: u32| {
            let pe = me + j * distance;
            if pe < n { pe } else { pe - n }
        };
        let before = |j: u32| {
            let back = j * distance;
            if me >= back { me - back } else { me + n - back }
        };
        let flag = |j: u32| flags + 8 * u64::from(j - 1);
        // A barrier of one PE completes, too.
        let fences = (completes && distance == 1) || (alone && others > 1);
        if fences && (first <= others || first == 1) {
            order::fence_sc_sys();
        }
        let mut j = first;
        while j <= others {
            let to = shmem.peer_base(context.world_pe(after(j))) + flag(j);
            // SAFETY: a flag in a mapped peer's control area, which only such accesses reach.
            unsafe {
                if fences {
                    u64::store_relaxed(to, epoch);
                } else {
                    u64::store_release(to, epoch);
                }
            }
            j += step;
        }
        let (mut polled, mut missing) = (Polled::Held, 1);
        let mut j = first;
        while j <= others && matches!(polled, Polled::Held) {
            // One thread looks at four flags at once: each look is a way to memory and back.
            let several = alone && others > 1;
            let last = if several { others.min(j + 3) } else { j };
            polled = poll_until(shmem, &mut until, || {
                // SAFETY: flags in the own control area.
                let look = |k: u32| unsafe { u64::load_relaxed(base + flag((j + k).min(last))) };
                if several {
                    let (a, b, c, d) = (look(0), look(1), look(2), look(3));
                    missing = j + u32::from(a >= epoch);
                    missing += u32::from((a >= epoch) & (b >= epoch));
                    missing += u32::from((a >= epoch) & (b >= epoch) & (c >= epoch));
                    let least = a.min(b).min(c.min(d));
                    (least >= epoch, least)
                } else {
                    let seen = look(0);
                    missing = j;
                    (seen >= epoch, seen)
                }
            });
            let mut k = j;
            while k <= last {
                // SAFETY: as above.
                unsafe { acquire::<u64>(base + flag(k)) };
                k += 1;
            }
            j = if alone { last + 1 } else { j + step };
        }
        let fault =
            Fault { peer: context.world_pe(before(missing)), ..Fault::new(Cause::Deadline, operation) };
        let fault = Fault { cmp: Cmp::Ge as u32, offset: flag(missing), expected: epoch, ..fault };
        scope.join(shmem, polled, fault);
        flags += 8 * u64::from(radix - 1);
        if distance > (n - 1) / radix {
            break;
        }
        distance *= radix;
    }
    if scope.leads() {
        // SAFETY: as above; the next caller's threads come behind a barrier of the scope.
        unsafe { u64::store_relaxed(base + at, epoch) };
    }
}
