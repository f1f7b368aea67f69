//! Message passing: role 0 puts data and signals, role 1 waits and reads.

use super::play::{Run, play, wait_without_acquire};
use super::values::{differs, fill};
use oxshmem_device::prelude::*;

const READY: u64 = 0;

/// put, fence, weak signal. Twin: no fence.
#[nvshmem_kernel]
pub fn message_fence(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        if turn.role == 0 {
            fill(block, shmem.local(source), turn.round);
            delays.pause();
            block.put(data, source, turn.pe(1));
            delays.pause();
            if !run.is_twin() {
                block.fence();
            }
            block.signal_weak(signals.at(READY), SignalOp::Set(turn.epoch()), turn.pe(1));
            false
        } else {
            block.wait_reached(signals.at(READY), turn.epoch());
            delays.pause();
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put, strong signal. Twin: weak.
#[nvshmem_kernel]
pub fn message_strong(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            fill(block, shmem.local(source), turn.round);
            block.put(data, source, turn.pe(1));
            delays.pause();
            if run.is_twin() {
                block.signal_weak(signal, op, turn.pe(1));
            } else {
                block.signal(signal, op, turn.pe(1));
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            delays.pause();
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put_signal. Twin: put_nbi and a weak signal, which the other threads' stores have not reached.
#[nvshmem_kernel]
pub fn message_put_signal(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            fill(block, shmem.local(source), turn.round);
            delays.pause();
            if run.is_twin() {
                block.put_nbi(data, source, turn.pe(1));
                block.signal_weak(signal, op, turn.pe(1));
            } else {
                block.put_signal(data, source, signal, op, turn.pe(1));
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            delays.pause();
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put, quiet, weak signal. Twin: the quiet comes before the put.
#[nvshmem_kernel]
pub fn message_quiet(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        if turn.role == 0 {
            fill(block, shmem.local(source), turn.round);
            if run.is_twin() {
                block.quiet();
            }
            block.put_nbi(data, source, turn.pe(1));
            delays.pause();
            if !run.is_twin() {
                block.quiet();
            }
            block.signal_weak(signals.at(READY), SignalOp::Set(turn.epoch()), turn.pe(1));
            false
        } else {
            block.wait_reached(signals.at(READY), turn.epoch());
            delays.pause();
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put, put, strong signal of both. Twin: weak.
#[nvshmem_kernel]
pub fn message_put_put(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let half = data.len() / 2;
    let (first, second) = (data.slice(0, half), data.slice(half, data.len() - half));
    let (from_first, from_second) = (source.slice(0, half), source.slice(half, source.len() - half));
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            fill(block, shmem.local(source), turn.round);
            block.put_nbi(first, from_first, turn.pe(1));
            delays.pause();
            block.put_nbi(second, from_second, turn.pe(1));
            delays.pause();
            if run.is_twin() {
                block.signal_weak(signal, op, turn.pe(1));
            } else {
                block.signal(signal, op, turn.pe(1));
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put, strong signal, wait. Twin: the reader sees the signal without acquiring it.
#[nvshmem_kernel]
pub fn message_acquire(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        if turn.role == 0 {
            fill(block, shmem.local(source), turn.round);
            block.put(data, source, turn.pe(1));
            delays.pause();
            block.signal(signals.at(READY), SignalOp::Set(turn.epoch()), turn.pe(1));
            false
        } else {
            if run.is_twin() {
                wait_without_acquire(shmem, signals.at(READY), turn.epoch());
            } else {
                block.wait_reached(signals.at(READY), turn.epoch());
            }
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put, quiet, get of the same bytes, which other threads than their writers read. Twin: no quiet.
#[nvshmem_kernel]
pub fn message_put_get(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    back: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let (quarter, rest) = (data.len() / 4, data.len() - data.len() / 4);
    let (low, high) = (data.slice(0, quarter), data.slice(quarter, rest));
    let (to_low, to_high) = (back.slice(0, quarter), back.slice(quarter, rest));
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        if turn.role == 0 {
            fill(block, shmem.local(source), turn.round);
            block.put_nbi(data, source, turn.pe(1));
            delays.pause();
            if !run.is_twin() {
                block.quiet();
            }
            // Cut at a quarter, the elements go to other threads than those that wrote them.
            block.get_nbi(to_high, high, turn.pe(1));
            block.get_nbi(to_low, low, turn.pe(1));
            block.quiet();
            let wrong = differs(block, shmem.local(back), turn.round);
            block.signal(signals.at(READY), SignalOp::Set(turn.epoch()), turn.pe(1));
            wrong
        } else {
            block.wait_reached(signals.at(READY), turn.epoch());
            false
        }
    });
}
