//! Chains over three PEs: role 0 writes, role 1 passes a signal on, role 2 reads.

use super::play::{Run, play, wait_without_acquire};
use super::values::{differs, fill};
use oxshmem_device::prelude::*;

const READY: u64 = 0;

/// Role 0 writes its own memory, and both signals are strong; role 2 gets it from there. Twin: role 0's signal is weak.
#[nvshmem_kernel]
pub fn chain_own_memory(
    shmem: Collective,
    data: Sym<[u32]>,
    back: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    play(shmem, block, 3, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            delays.pause();
            fill(block, shmem.local(data), turn.round);
            if run.is_twin() {
                block.sync();
                block.signal_weak(signal, op, turn.pe(1));
            } else {
                block.signal(signal, op, turn.pe(1));
            }
            return false;
        }
        block.wait_reached(signal, turn.epoch());
        delays.pause();
        if turn.role == 1 {
            block.signal(signal, op, turn.pe(2));
            false
        } else {
            block.get(back, data, turn.pe(0));
            differs(block, shmem.local(back), turn.round)
        }
    });
}

/// Role 0 puts to role 2, quiet, weak signal; role 1 passes it on strongly. Twin: role 1 neither acquires nor releases.
#[nvshmem_kernel]
pub fn chain_third_memory(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    play(shmem, block, 3, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        match turn.role {
            0 => {
                fill(block, shmem.local(source), turn.round);
                block.put(data, source, turn.pe(2));
                delays.pause();
                block.quiet();
                block.signal_weak(signal, op, turn.pe(1));
                false
            }
            1 if run.is_twin() => {
                wait_without_acquire(shmem, signal, turn.epoch());
                block.signal_weak(signal, op, turn.pe(2));
                false
            }
            1 => {
                block.wait_reached(signal, turn.epoch());
                delays.pause();
                block.signal(signal, op, turn.pe(2));
                false
            }
            _ => {
                block.wait_reached(signal, turn.epoch());
                differs(block, shmem.local(data), turn.round)
            }
        }
    });
}

/// put_signal to role 1, which passes a strong signal on; role 2 gets the data from role 1. Twin: role 1 neither acquires
/// nor releases.
#[nvshmem_kernel]
pub fn chain_middle_memory(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    back: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    play(shmem, block, 3, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        match turn.role {
            0 => {
                fill(block, shmem.local(source), turn.round);
                delays.pause();
                block.put_signal(data, source, signal, op, turn.pe(1));
                false
            }
            1 if run.is_twin() => {
                wait_without_acquire(shmem, signal, turn.epoch());
                block.signal_weak(signal, op, turn.pe(2));
                false
            }
            1 => {
                block.wait_reached(signal, turn.epoch());
                delays.pause();
                block.signal(signal, op, turn.pe(2));
                false
            }
            _ => {
                block.wait_reached(signal, turn.epoch());
                block.get(back, data, turn.pe(1));
                differs(block, shmem.local(back), turn.round)
            }
        }
    });
}
