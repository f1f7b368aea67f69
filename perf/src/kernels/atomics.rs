//! atomic-bw, atomic-lat and gups: read-modify-writes of 64-bit words.

use super::data::mix;
use super::time::{Turns, latency, throughput};
use oxshmem_device::prelude::*;
use oxshmem_device::{Atomic, clock, updates};

/// In each turn every thread adds 1 to word `stride` times its number of `words` on `pe`.
#[nvshmem_kernel(max_block = 1024)]
pub fn atomic_add_bw(
    shmem: Collective,
    words: Sym<[Atomic<u64>]>,
    times: Global<[u64]>,
    stride: u32,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let one = shmem.thread();
    let word = words.at(u64::from(stride) * thread::in_grid());
    throughput(
        shmem,
        times,
        Turns { warmup, iters },
        || one.atomic_add(word, 1, pe),
        || shmem.block().quiet(),
    );
}

/// As [`atomic_add_bw`](fn@atomic_add_bw), fetching. Each uses the value of the one before.
#[nvshmem_kernel(max_block = 1024)]
pub fn atomic_fetch_add_bw(
    shmem: Collective,
    words: Sym<[Atomic<u64>]>,
    times: Global<[u64]>,
    stride: u32,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    let one = shmem.thread();
    let word = words.at(u64::from(stride) * thread::in_grid());
    let mut seen = 0;
    // The top bit is never set: 1 is added, but not before the value is there.
    let turn = || seen = one.atomic_fetch_add(word, 1 + (seen >> 63), pe);
    throughput(shmem, times, Turns { warmup, iters }, turn, || shmem.block().quiet());
    if seen == u64::MAX {
        shmem.local(times).set(1, seen);
    }
}

/// One thread adds 1 to word 0 on `pe` again and again: with a quiet after each, or (`fetch` not 0) fetching, each after
/// the value of the one before has come.
#[nvshmem_kernel(max_block = 1024)]
pub fn atomic_lat(
    shmem: Collective,
    words: Sym<[Atomic<u64>]>,
    times: Global<[u64]>,
    fetch: u32,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    if thread::in_grid() == 0 {
        let (one, word, mut seen) = (shmem.thread(), words.at(0), 0);
        latency(shmem, times, Turns { warmup, iters }, true, |_| {
            if fetch != 0 {
                // The top bit is never set: 1 is added, but not before the value is there.
                seen = one.atomic_fetch_add(word, 1 + (seen >> 63), pe);
            } else {
                one.atomic_add(word, 1, pe);
                one.quiet();
            }
        });
    }
}

/// The calling thread's random updates of words of all PEs' tables.
struct Random {
    state: u64,
    /// Words of a PE's table.
    len: u64,
    words: u64,
    /// All values so far.
    sum: u64,
}

impl Random {
    #[inline(always)]
    fn new(shmem: Collective, table: Sym<[Atomic<u64>]>, seed: u64) -> Self {
        let state = mix(seed ^ (thread::in_grid() << 8 | u64::from(shmem.my_pe())));
        let len = table.len();
        Self { state, len, words: len * u64::from(shmem.n_pes()), sum: 0 }
    }

    #[inline(always)]
    fn next(&mut self) -> Update<u64> {
        self.state = mix(self.state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        self.sum = self.sum.wrapping_add(self.state);
        let word = self.state % self.words;
        let pe = word / self.len;
        Update { index: word - pe * self.len, value: self.state, pe: pe as u32 }
    }
}

/// Every thread adds random values to random words of all PEs' tables, `updates` times after `warmup` untimed ones, then
/// what it has added to `added` here.
#[nvshmem_kernel(max_block = 1024)]
pub fn gups(
    shmem: Collective,
    table: Sym<[Atomic<u64>]>,
    added: Sym<Atomic<u64>>,
    times: Global<[u64]>,
    seed: u64,
    updates: u32,
    warmup: u32,
) {
    let (one, mut random) = (shmem.thread(), Random::new(shmem, table, seed));
    let turn = || {
        let Update { index, value, pe } = random.next();
        one.atomic_add(table.at(index), value, pe);
    };
    throughput(shmem, times, Turns { warmup, iters: updates }, turn, || shmem.block().quiet());
    one.atomic_add(added, random.sum, shmem.my_pe());
}

/// Updates to one PE that a block collects before it sends them.
pub const BATCH: usize = 512;

/// How many PEs a block has a bin for.
pub const PES: usize = 8;

shared! {
    /// What a block collects updates in.
    pub struct Bins {
        /// The bins.
        buffer: UpdateBuffer<u64, BATCH, PES>,
    }
}

/// As [`gups`](fn@gups), through an update buffer.
#[nvshmem_kernel(max_block = 1024, shared = Bins)]
pub fn gups_aggregated(
    shmem: Collective,
    table: Sym<[Atomic<u64>]>,
    added: Sym<Atomic<u64>>,
    inbox: UpdateInbox<u64>,
    times: Global<[u64]>,
    seed: u64,
    updates: u32,
) {
    let (one, grid) = (shmem.thread(), shmem.grid());
    let mut random = Random::new(shmem, table, seed);
    let mut buffer = shmem.block().updates(Bins::of(shmem).buffer, updates::Add, table, inbox);
    grid.sync();
    let start = clock::nanoseconds();
    let mut i = 0;
    while i < updates {
        buffer.add(Some(random.next()));
        i += 1;
    }
    buffer.finish();
    grid.sync();
    if thread::in_grid() == 0 {
        shmem.local(times).set(0, clock::nanoseconds() - start);
    }
    one.atomic_add(added, random.sum, shmem.my_pe());
}
