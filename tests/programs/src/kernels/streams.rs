//! The kernels of the program `streams`: data that says which round and PE it is of.

use oxshmem_device::prelude::*;

/// What element `i` of PE `pe` holds in this round.
#[inline(always)]
pub fn expected(pe: u32, round: u64, i: u64) -> u64 {
    (u64::from(pe) << 48) + round * 65_537 + i
}

/// Counts the round, and writes its data.
#[nvshmem_kernel]
pub fn produce(shmem: Shmem, round: Global<[u64]>, data: Global<[u64]>) {
    let (block, round, data) = (shmem.block(), shmem.local(round), shmem.local(data));
    if block.is_leader() {
        round.set(0, round.get(0) + 1);
    }
    block.sync();
    let now = round.get(0);
    let mut i = block.rank();
    while i < data.len() {
        data.set(i, expected(shmem.my_pe(), now, i));
        i += block.size();
    }
}

/// Counts the elements that are not PE `from`'s of this round.
#[nvshmem_kernel]
pub fn verify(shmem: Shmem, round: Global<[u64]>, data: Sym<[u64]>, wrong: Global<[u64]>, from: u32) {
    let (block, round, data, wrong) =
        (shmem.block(), shmem.local(round), shmem.local(data), shmem.local(wrong));
    let mut i = block.rank();
    while i < data.len() {
        if data.get(i) != expected(from, round.get(0), i) {
            wrong.set(i, wrong.get(i) + 1);
        }
        i += block.size();
    }
}

/// Waits for a signal.
#[nvshmem_kernel]
pub fn wait_for(shmem: Collective, signal: Sym<Signal>, value: u64) {
    shmem.block().wait_reached(signal, value);
}

/// The blocks of a grid meet, and the first one counts it.
#[nvshmem_kernel]
pub fn meet(shmem: Collective, met: Global<[u64]>) {
    shmem.grid().sync();
    if shmem.grid().is_leader() {
        let met = shmem.local(met);
        met.set(0, met.get(0) + 1);
    }
    shmem.grid().sync();
}
