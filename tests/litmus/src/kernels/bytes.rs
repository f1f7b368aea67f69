//! Puts change their own bytes only, whatever words these lie in.

use super::play::{Run, play, xorshift};
use oxshmem_device::prelude::*;

const READY: u64 = 0;

/// Bytes of the target and of each source.
pub const BYTES: usize = 256;

/// The byte that a role sends in a round.
#[inline(always)]
fn byte(round: u32, role: u32, i: u64) -> u8 {
    (round.wrapping_mul(59) ^ i as u32 ^ role << 7) as u8
}

/// Both roles put bytes to role 1's PE, the ranges side by side at an odd place that every round chooses anew. Each byte
/// is then its writer's, and those around keep what they had. Twin: role 0 sends one byte more.
#[nvshmem_kernel]
pub fn side_by_side(
    shmem: Collective,
    data: Sym<[u8]>,
    source: Sym<[u8]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let (rank, size) = (block.rank(), block.size());
    // What the calling thread's two bytes held before the round.
    let mut before = (0u8, 0u8);
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let random = u64::from(xorshift(xorshift(turn.round.wrapping_mul(0x9e37_79b1) | 1)));
        let start = random & 31;
        let cut = start + 1 + (random >> 5 & 63);
        let end = cut + 1 + (random >> 11 & 63);
        let (from, to) = if turn.role == 0 { (start, cut) } else { (cut, end) };
        let to = if run.is_twin() && turn.role == 0 { to + 1 } else { to };
        let shift = random >> 17 & 15;
        // Byte `i` of the target comes from byte `i + shift` of the source.
        let own = shmem.local(source);
        let mut i = rank;
        while i < own.len() {
            own.set(i, byte(turn.round, turn.role, i.wrapping_sub(shift)));
            i += size;
        }
        delays.pause();
        block.put(data.slice(from, to - from), source.slice(from + shift, to - from), turn.pe(1));
        if turn.role == 0 {
            block.signal(signals.at(READY), SignalOp::Set(turn.epoch()), turn.pe(1));
            return false;
        }
        block.wait_reached(signals.at(READY), turn.epoch());
        let seen = shmem.local(data);
        let check = |i: u64, before: u8| {
            let now = seen.get(i);
            let expected =
                if i < start || i >= end { before } else { byte(turn.round, u32::from(i >= cut), i) };
            (now, now != expected)
        };
        let ((low, wrong_low), (high, wrong_high)) = (check(rank, before.0), check(rank + size, before.1));
        before = (low, high);
        wrong_low || wrong_high
    });
}
