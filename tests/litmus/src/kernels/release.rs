//! One thread's release covers the whole scope: every thread of role 0 writes its own elements, the scope signals, and
//! role 1 reads all. Twin: the leader signals for itself, without the scope's barrier.

use super::play::{Delays, Run, Turn, play};
use super::values::{differs, share, value};
use oxshmem_device::prelude::*;
use oxshmem_device::{Scope, Scoped};

const READY: u64 = 0;

/// Role 0's step.
#[inline(always)]
fn write_and_signal<S: Scope>(
    shmem: Collective,
    scope: Scoped<S, Collective>,
    (data, signal): (Sym<[u32]>, Sym<Signal>),
    run: Run,
    turn: Turn,
    delays: &mut Delays,
) {
    let (thread, to) = (shmem.thread(), turn.pe(1));
    share(scope, data.len(), |i| {
        delays.pause();
        thread.p(data.at(i), value(turn.round, i), to);
    });
    if !run.is_twin() {
        scope.signal(signal, SignalOp::Set(turn.epoch()), to);
    } else if scope.is_leader() {
        thread.signal(signal, SignalOp::Set(turn.epoch()), to);
    }
}

/// A block.
#[nvshmem_kernel]
pub fn release_block(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let ready = signals.at(READY);
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        if turn.role == 0 {
            write_and_signal(shmem, block, (data, ready), run, turn, delays);
            false
        } else {
            block.wait_reached(ready, turn.epoch());
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// Two warps of a larger block.
#[nvshmem_kernel]
pub fn release_warps(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, warps) = (shmem.block(), shmem.warps(2));
    let ready = signals.at(READY);
    let plays = u64::from(thread::in_block()) < warps.size();
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        if !plays {
            return false;
        }
        if turn.role == 0 {
            write_and_signal(shmem, warps, (data, ready), run, turn, delays);
            false
        } else {
            warps.wait_reached(ready, turn.epoch());
            differs(warps, shmem.local(data), turn.round)
        }
    });
}

/// One warp, the only one of its block.
#[nvshmem_kernel]
pub fn release_warp(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, warp) = (shmem.block(), shmem.warp());
    let ready = signals.at(READY);
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        if turn.role == 0 {
            write_and_signal(shmem, warp, (data, ready), run, turn, delays);
            false
        } else {
            warp.wait_reached(ready, turn.epoch());
            differs(warp, shmem.local(data), turn.round)
        }
    });
}

/// The grid: its blocks meet at the grid's barrier before the leader signals, and after the wait; the blocks read in turn.
/// Twin: the first block signals for itself.
#[nvshmem_kernel]
pub fn release_grid(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (grid, block) = (shmem.grid(), shmem.block());
    let ready = signals.at(READY);
    play(shmem, grid, 2, (signals, tally), run, |turn, delays| {
        if turn.role == 0 {
            let (thread, to) = (shmem.thread(), turn.pe(1));
            // The other blocks are late.
            let mut pauses = 8 * thread::block();
            while pauses > 0 {
                delays.pause();
                pauses -= 1;
            }
            share(grid, data.len(), |i| {
                delays.pause();
                thread.p(data.at(i), value(turn.round, i), to);
            });
            if !run.is_twin() {
                grid.signal(ready, SignalOp::Set(turn.epoch()), to);
            } else if thread::block() == 0 {
                block.signal(ready, SignalOp::Set(turn.epoch()), to);
            }
            false
        } else {
            grid.wait_reached(ready, turn.epoch());
            turn.round % thread::blocks() == thread::block() && differs(block, shmem.local(data), turn.round)
        }
    });
}
