//! Who may go on: a credit releases earlier reads; a counter of signals names nobody but covers all.

use super::play::{Run, play};
use super::values::{differs, fill, share, value};
use oxshmem_device::prelude::*;

const READY: u64 = 0;
const READ: u64 = 1;
const DONE: u64 = 2;

/// Role 1 puts data to role 0, which reads it and gives a strong signal back; role 1 then overwrites it. Role 0 must not
/// have read what came later. Twin: the signal is weak.
#[nvshmem_kernel]
pub fn overwrite(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let (block, me) = (shmem.block(), u64::from(thread::in_block()));
    let step = block.size();
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let op = SignalOp::Set(turn.epoch());
        if turn.role == 1 {
            let to = turn.pe(0);
            fill(block, shmem.local(source), turn.round);
            block.put_signal(data, source, signals.at(READY), op, to);
            let later = shmem.local(source);
            share(block, later.len(), |i| later.set(i, !value(turn.round, i)));
            block.wait_reached(signals.at(READ), turn.epoch());
            block.put_signal(data, source, signals.at(DONE), op, to);
            return false;
        }
        block.wait_reached(signals.at(READY), turn.epoch());
        delays.pause();
        // Four loads in flight, whose values nobody waits for before the signal.
        let own = shmem.local(data);
        let (a, b, c, d) = (own.get(me), own.get(me + step), own.get(me + 2 * step), own.get(me + 3 * step));
        if run.is_twin() {
            block.signal_weak(signals.at(READ), op, turn.pe(1));
        } else {
            block.signal(signals.at(READ), op, turn.pe(1));
        }
        let is_later = |seen: u32, i: u64| seen != value(turn.round, i);
        let wrong = is_later(a, me)
            | is_later(b, me + step)
            | is_later(c, me + 2 * step)
            | is_later(d, me + 3 * step);
        // What comes in the next round is ordered after this by the credit.
        block.wait_reached(signals.at(DONE), turn.epoch());
        wrong
    });
}

/// Roles 0 and 1 each send a half to role 2 by put_signal with an addition to one signal: who sees both additions sees
/// both halves. Twin: role 0 puts, and adds weakly.
#[nvshmem_kernel]
pub fn both_additions(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let half = data.len() / 2;
    play(shmem, block, 3, (signals, tally), run, |turn, delays| {
        let ready = signals.at(READY);
        if turn.role == 2 {
            block.wait_reached(ready, 2 * turn.epoch());
            return differs(block, shmem.local(data), turn.round);
        }
        let start = u64::from(turn.role) * half;
        let (to, from) = (data.slice(start, half), source.slice(start, half));
        fill(block, shmem.local(source), turn.round);
        delays.pause();
        if run.is_twin() && turn.role == 0 {
            block.put_nbi(to, from, turn.pe(2));
            block.signal_weak(ready, SignalOp::Add(1), turn.pe(2));
        } else {
            block.put_signal(to, from, ready, SignalOp::Add(1), turn.pe(2));
        }
        false
    });
}
