//! The bulk copy engine (sm_90) against loads and stores: its writes are over before a signal tells of them, and what it
//! reads is what was written or received before. On older devices the same kernels copy by loads and stores.

use super::play::{Run, play, wait_without_acquire};
use super::values::{differs, fill, share, value};
use oxshmem_device::prelude::*;
use oxshmem_device::shared::SharedSlice;
use oxshmem_device::stage::BulkStage;
use oxshmem_device::tile::BulkTile;

const READY: u64 = 0;
const BACK: u64 = 1;

/// Elements of a tile: of all data that these kernels move.
pub const ELEMENTS: usize = 512;

shared! {
    /// A tile.
    pub struct Tiles {
        tile: BulkTile<u32, ELEMENTS>,
    }
}

shared! {
    /// The elements of [`Tiles`] by another name, which a put does not take: a twin overwrites them in use.
    pub struct SameElements {
        elements: [u32; ELEMENTS],
    }
}

shared! {
    /// A stage of four buffers, each half as large as the data of a kernel.
    pub struct Stages {
        stage: BulkStage<{ ELEMENTS * 8 }>,
    }
}

/// Fills shared memory with the round's values; each thread its part.
#[inline(always)]
fn fill_shared(shmem: Collective, elements: &SharedSlice<u32>, round: u32) {
    share(shmem.block(), elements.len().into(), |i| elements.set(i as u32, value(round, i)));
}

/// put_signal of a tile. Twin: put_nbi, and a weak signal, which does not wait for the engine.
#[nvshmem_kernel(shared = Tiles)]
pub fn bulk_put_signal(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let mut place = Some(block.tile(Tiles::of(shmem).tile));
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            if let Some(tile) = place.take() {
                fill_shared(shmem, &tile, turn.round);
                delays.pause();
                place = Some(if run.is_twin() {
                    let request = block.put_nbi(data, tile, turn.pe(1));
                    block.signal_weak(signal, op, turn.pe(1));
                    delays.pause();
                    request.quiet(block)
                } else {
                    block.put_signal(data, &tile, signal, op, turn.pe(1));
                    tile
                });
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put_nbi of a tile, strong signal of the block. Twin: the strong signal of a thread that started nothing, after a
/// block barrier.
#[nvshmem_kernel(shared = Tiles)]
pub fn bulk_strong(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let mut place = Some(block.tile(Tiles::of(shmem).tile));
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            if let Some(tile) = place.take() {
                fill_shared(shmem, &tile, turn.round);
                delays.pause();
                let request = block.put_nbi(data, tile, turn.pe(1));
                if run.is_twin() {
                    block.sync();
                    if block.rank() == block.size() - 1 {
                        shmem.thread().signal(signal, op, turn.pe(1));
                    }
                } else {
                    block.signal(signal, op, turn.pe(1));
                }
                delays.pause();
                place = Some(request.quiet(block));
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put_nbi of a tile, fence, weak signal. Twin: flush, which waits for the engine's reads only.
#[nvshmem_kernel(shared = Tiles)]
pub fn bulk_fence(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let mut place = Some(block.tile(Tiles::of(shmem).tile));
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            if let Some(tile) = place.take() {
                fill_shared(shmem, &tile, turn.round);
                delays.pause();
                let request = block.put_nbi(data, tile, turn.pe(1));
                if run.is_twin() {
                    block.flush();
                } else {
                    block.fence();
                }
                block.signal_weak(signal, op, turn.pe(1));
                delays.pause();
                place = Some(request.quiet(block));
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// put_nbi of a tile, flush, then the tile is overwritten: the data sent is the earlier one. Twin: no flush.
#[nvshmem_kernel(shared = Tiles)]
pub fn bulk_flush(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let mut place = Some(block.tile(Tiles::of(shmem).tile));
    let same = SameElements::of(shmem).elements;
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            if let Some(tile) = place.take() {
                fill_shared(shmem, &tile, turn.round);
                delays.pause();
                let request = block.put_nbi(data, tile, turn.pe(1));
                if !run.is_twin() {
                    block.flush();
                }
                share(block, same.len().into(), |i| same.set(i as u32, !value(turn.round, i)));
                place = Some(request.quiet(block));
                block.signal(signal, op, turn.pe(1));
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            differs(block, shmem.local(data), turn.round)
        }
    });
}

/// Role 0 stores to its own memory and signals; role 1 gets it into a tile by the engine. Twin: the signal is weak.
#[nvshmem_kernel(shared = Tiles)]
pub fn bulk_get(
    shmem: Collective,
    data: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let mut tile = block.tile(Tiles::of(shmem).tile);
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            delays.pause();
            fill(block, shmem.local(data), turn.round);
            if run.is_twin() {
                block.signal_weak(signal, op, turn.pe(1));
            } else {
                block.signal(signal, op, turn.pe(1));
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            block.get(&mut tile, data, turn.pe(0));
            let mut wrong = false;
            share(block, tile.len().into(), |i| wrong |= tile.get(i as u32) != value(turn.round, i));
            wrong
        }
    });
}

/// Role 0 stores to its own memory and signals; role 1 gets it through a stage and reads it by loads. Twin: the signal is
/// weak.
#[nvshmem_kernel(shared = Stages)]
pub fn bulk_get_staged(
    shmem: Collective,
    data: Sym<[u32]>,
    back: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let mut stage = block.stage(Stages::of(shmem).stage);
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let (signal, op) = (signals.at(READY), SignalOp::Set(turn.epoch()));
        if turn.role == 0 {
            delays.pause();
            fill(block, shmem.local(data), turn.round);
            if run.is_twin() {
                block.signal_weak(signal, op, turn.pe(1));
            } else {
                block.signal(signal, op, turn.pe(1));
            }
            false
        } else {
            block.wait_reached(signal, turn.epoch());
            block.get_staged(back, data, &mut stage, turn.pe(0));
            differs(block, shmem.local(back), turn.round)
        }
    });
}

/// Role 0 puts by stores and signals; role 1 puts what it received back through a stage, and signals; role 0 reads. Twin:
/// role 1 sees the signal without acquiring it.
#[nvshmem_kernel(shared = Stages)]
pub fn bulk_put_staged(
    shmem: Collective,
    data: Sym<[u32]>,
    source: Sym<[u32]>,
    back: Sym<[u32]>,
    signals: Sym<[Signal]>,
    tally: Sym<[Atomic<u64>]>,
    run: Run,
) {
    let block = shmem.block();
    let mut stage = block.stage(Stages::of(shmem).stage);
    play(shmem, block, 2, (signals, tally), run, |turn, delays| {
        let op = SignalOp::Set(turn.epoch());
        if turn.role == 0 {
            fill(block, shmem.local(source), turn.round);
            block.put(data, source, turn.pe(1));
            delays.pause();
            block.signal(signals.at(READY), op, turn.pe(1));
            block.wait_reached(signals.at(BACK), turn.epoch());
            differs(block, shmem.local(back), turn.round)
        } else {
            if run.is_twin() {
                wait_without_acquire(shmem, signals.at(READY), turn.epoch());
            } else {
                block.wait_reached(signals.at(READY), turn.epoch());
            }
            delays.pause();
            block.put_staged(back, data, &mut stage, turn.pe(0));
            block.signal(signals.at(BACK), op, turn.pe(0));
            false
        }
    });
}
