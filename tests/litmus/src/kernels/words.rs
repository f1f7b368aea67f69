//! Words are accessed as one: updates of neighbouring words, and 16-byte elements that carry data and flag.

use super::play::{Run, look_for, play};
use super::values::value;
use oxshmem_device::prelude::*;

const READY: u64 = 0;

/// Words of a lane: role 0's and role 1's, then one that both add to and one that both update by compare-and-swap.
pub const WORDS_PER_LANE: u64 = 4;

/// Both roles update words on role 1's PE that lie side by side in 8 bytes; no update is lost, and none changes the
/// neighbour. Twin: an addition is a fetch and a set.
#[nvshmem_kernel]
pub fn neighbours(
    shmem: Collective,
    words: Sym<[Atomic<u32>]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, thread) = (shmem.block(), shmem.thread());
    let lane = WORDS_PER_LANE * block.rank();
    // What role 1 found in the word of additions.
    let mut before = 0u32;
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let at = turn.pe(1);
        let (added, swapped) = (words.at(lane + 2), words.at(lane + 3));
        let increment = |word: Sym<Atomic<u32>>| {
            let mut seen = thread.atomic_fetch(word, at);
            loop {
                let old = thread.atomic_compare_swap(word, seen, seen.wrapping_add(1), at);
                if old == seen {
                    break;
                }
                seen = old;
            }
        };
        delays.pause();
        increment(words.at(lane + u64::from(turn.role)));
        increment(swapped);
        if run.is_twin() {
            let seen = thread.atomic_fetch(added, at);
            delays.pause();
            thread.atomic_set(added, seen.wrapping_add(1), at);
        } else {
            delays.pause();
            thread.atomic_add(added, 1, at);
        }
        if turn.role == 0 {
            block.signal(signals.at(READY), SignalOp::Set(turn.epoch()), at);
            return false;
        }
        block.quiet();
        block.wait_reached(signals.at(READY), turn.epoch());
        let now = thread.atomic_fetch(added, at);
        let lost = now.wrapping_sub(before) != 2;
        before = now;
        lost || thread.atomic_fetch(words.at(lane), at) != turn.round
            || thread.atomic_fetch(words.at(lane + 1), at) != turn.round
            || thread.atomic_fetch(swapped, at) != 2 * turn.round
    });
}

/// The data that goes with a flag.
#[inline(always)]
fn data_of(round: u32, lane: u64) -> u64 {
    u64::from(value(round, lane)) << 32 | u64::from(value(round, !lane))
}

/// Each lane sends 16 bytes that carry data and the round by one `p`; role 1 polls them by `g`: with the round it sees
/// the data. Twin: data and round are two elements of 8 bytes, of which the reader takes the data last.
#[nvshmem_kernel]
pub fn flag_in_word(
    shmem: Collective,
    wide: Sym<[u128]>,
    halves: Sym<[u64]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, thread) = (shmem.block(), shmem.thread());
    let lane = block.rank();
    let (pair, half, flag) = (wide.at(lane), halves.at(2 * lane), halves.at(2 * lane + 1));
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let sent = data_of(turn.round, lane);
        if turn.role == 0 {
            delays.pause();
            if run.is_twin() {
                thread.p(half, sent, turn.pe(1));
                thread.p(flag, turn.epoch(), turn.pe(1));
            } else {
                thread.p(pair, u128::from(sent) << 64 | u128::from(turn.round), turn.pe(1));
            }
            // For a reader that has looked long enough.
            block.signal(signals.at(READY), SignalOp::Set(turn.epoch()), turn.pe(1));
            return false;
        }
        let me = turn.pe(1);
        let mut seen = 0u64;
        let mut look = || {
            if run.is_twin() {
                let is_there = thread.g(flag, me) == turn.epoch();
                seen = thread.g(half, me);
                is_there
            } else {
                let word = thread.g(pair, me);
                seen = (word >> 64) as u64;
                word as u64 == turn.epoch()
            }
        };
        if !look_for(&mut look) {
            thread.wait_reached(signals.at(READY), turn.epoch());
            look();
        }
        block.wait_reached(signals.at(READY), turn.epoch());
        seen != sent
    });
}
