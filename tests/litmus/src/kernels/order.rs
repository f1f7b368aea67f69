//! The order of writes to two words, as several PEs see it. One warp; each lane plays with words of its own, in lines of
//! their own.

use super::play::{Run, Turn, look_for, play};
use oxshmem_device::prelude::*;

/// Elements from one lane's word to the next one's: 128 bytes.
const STRIDE: u64 = 32;
/// Elements of all lanes' `x` and `y`.
pub const WORDS: usize = 2 * 32 * STRIDE as usize;

/// The calling lane's `x` and `y`.
#[inline(always)]
fn places() -> (u64, u64) {
    let lane = u64::from(thread::in_block() & 31);
    (lane * STRIDE, (32 + lane) * STRIDE)
}

/// A signal's value that carries the lanes for which `seen` holds.
#[inline(always)]
fn with_lanes(turn: Turn, seen: bool) -> SignalOp {
    SignalOp::Set(turn.epoch() << 32 | u64::from(warp::ballot(seen)))
}

/// Waits for such a signal and says whether the calling lane is among its lanes.
#[inline(always)]
fn lane_of(shmem: Collective, signal: Sym<Signal>, turn: Turn) -> bool {
    shmem.block().wait_reached(signal, turn.epoch() << 32);
    let lanes = shmem.thread().signal_fetch(signal);
    lanes >> (thread::in_block() & 31) & 1 != 0
}

/// Store buffering: each of two PEs writes its word, quiet, and reads the other's. Not both may miss the other's write.
/// In every other round both words lie on one PE. Twin: no quiet.
#[nvshmem_kernel]
pub fn store_buffering(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, thread) = (shmem.block(), shmem.thread());
    let (x, y) = places();
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (at_x, at_y) = (turn.pe(1), turn.pe(turn.round & 1));
        let (own, own_at, other, other_at) =
            if turn.role == 0 { (x, at_x, y, at_y) } else { (y, at_y, x, at_x) };
        delays.pause();
        thread.p(data.at(own), turn.round, own_at);
        if !run.is_twin() {
            block.quiet();
        }
        let missed = thread.g(data.at(other), other_at) != turn.round;
        // Both tell, so that both begin the next round at about the same time.
        block.signal(signals.at(0), with_lanes(turn, missed), turn.pe(1 - turn.role));
        let missed_too = lane_of(shmem, signals.at(0), turn);
        turn.role == 1 && missed && missed_too
    });
}

/// 2+2W: role 0 writes `x` then `y` on role 2's PE, role 1 `y` then `x`, each with a fence between. Not both words may
/// keep the first write. Twin: no fence.
#[nvshmem_kernel]
pub fn two_plus_two(
    shmem: Collective,
    words: Sym<[Atomic<u32>]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, thread) = (shmem.block(), shmem.thread());
    let (x, y) = places();
    play(shmem, block, 3, (signals, tally), run, |turn, delays| {
        let (first, second) = (4 * turn.round + 1, 4 * turn.round + 2);
        let at = turn.pe(2);
        if turn.role < 2 {
            let (begin, end) = if turn.role == 0 { (x, y) } else { (y, x) };
            delays.pause();
            thread.atomic_set(words.at(begin), first, at);
            if !run.is_twin() {
                thread.fence();
            }
            delays.pause();
            thread.atomic_set(words.at(end), second, at);
            block.signal(signals.at(0), SignalOp::Add(1), at);
            false
        } else {
            block.wait_reached(signals.at(0), 2 * turn.epoch());
            thread.atomic_fetch(words.at(x), at) == first && thread.atomic_fetch(words.at(y), at) == first
        }
    });
}

/// R: role 0 writes `x`, fence, `y` on role 2's PE; role 1 writes `y`, quiet, and reads `x`. If role 1's `y` is the one that
/// stays, role 1 must have seen `x`. Twin: neither fence nor quiet.
#[nvshmem_kernel]
pub fn fence_against_quiet(
    shmem: Collective,
    words: Sym<[Atomic<u32>]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, thread) = (shmem.block(), shmem.thread());
    let (x, y) = places();
    play(shmem, block, 3, (signals, tally), run, |turn, delays| {
        let (by_0, by_1) = (4 * turn.round + 1, 4 * turn.round + 2);
        let at = turn.pe(2);
        match turn.role {
            0 => {
                delays.pause();
                thread.atomic_set(words.at(x), by_0, at);
                if !run.is_twin() {
                    thread.fence();
                }
                thread.atomic_set(words.at(y), by_0, at);
                block.signal(signals.at(0), SignalOp::Set(turn.epoch()), at);
                false
            }
            1 => {
                delays.pause();
                thread.atomic_set(words.at(y), by_1, at);
                if !run.is_twin() {
                    thread.quiet();
                }
                let missed = thread.atomic_fetch(words.at(x), at) != by_0;
                block.signal(signals.at(1), with_lanes(turn, missed), at);
                false
            }
            _ => {
                block.wait_reached(signals.at(0), turn.epoch());
                let missed = lane_of(shmem, signals.at(1), turn);
                missed && thread.atomic_fetch(words.at(y), at) == by_1
            }
        }
    });
}

/// IRIW: roles 0 and 1 write `x` and `y`, on the readers' PEs; role 2 reads `x`, quiet, `y`, and role 3 `y`, quiet, `x`.
/// They must not disagree on which was first. Twin: no quiet.
#[nvshmem_kernel]
pub fn two_readers(
    shmem: Collective,
    words: Sym<[Atomic<u32>]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, thread) = (shmem.block(), shmem.thread());
    let (x, y) = places();
    play(shmem, block, 4, (signals, tally), run, |turn, delays| {
        let (at_x, at_y) = (turn.pe(2), turn.pe(3));
        if turn.role < 2 {
            let (word, at) = if turn.role == 0 { (x, at_x) } else { (y, at_y) };
            delays.pause();
            thread.atomic_set(words.at(word), turn.round, at);
            block.signal(signals.at(0), SignalOp::Add(1), turn.pe(3));
            return false;
        }
        let (one, one_at, other, other_at) =
            if turn.role == 2 { (x, at_x, y, at_y) } else { (y, at_y, x, at_x) };
        delays.pause();
        let saw_one = look_for(|| thread.atomic_fetch(words.at(one), one_at) == turn.round);
        if !run.is_twin() {
            block.quiet();
        }
        let disagrees = saw_one && thread.atomic_fetch(words.at(other), other_at) != turn.round;
        if turn.role == 2 {
            block.signal(signals.at(1), with_lanes(turn, disagrees), turn.pe(3));
            false
        } else {
            block.wait_reached(signals.at(0), 2 * turn.epoch());
            let disagrees_too = lane_of(shmem, signals.at(1), turn);
            disagrees && disagrees_too
        }
    });
}
