//! Barriers, in rounds that fail if one lets a PE through early.

use super::at_scope;
use oxshmem_device::clock;
use oxshmem_device::prelude::*;

/// `rounds` times: writes the round to every PE's slot for this PE, `barrier_all`, checks all own slots,
/// `barrier_all`. Counts wrong slots in `wrong`.
#[nvshmem_kernel]
pub fn barrier_rounds(shmem: Collective, slots: Sym<[u32]>, wrong: Sym<[u32]>, scope: u32, rounds: u32) {
    at_scope!(shmem, scope, |s| {
        let (own, bad) = (shmem.local(slots), shmem.local(wrong));
        let (rank, size) = (s.rank() as u32, s.size() as u32);
        let mut round = 1;
        while round <= rounds {
            let mut pe = rank;
            while pe < shmem.n_pes() {
                shmem.thread().p(slots.at(u64::from(shmem.my_pe())), round, pe);
                pe += size;
            }
            s.barrier_all();
            if s.is_leader() {
                let mut pe = 0;
                while pe < shmem.n_pes() {
                    if own.get(u64::from(pe)) != round {
                        bad.set(0, bad.get(0) + 1);
                    }
                    pe += 1;
                }
            }
            s.barrier_all();
            round += 1;
        }
    });
}

/// `rounds` times: every thread writes the round to its own place, grid barrier, reads the place of the thread
/// half a grid away, grid barrier. Counts wrong reads in `wrong`, by thread.
#[nvshmem_kernel]
pub fn grid_rounds(shmem: Collective, places: Global<[u32]>, wrong: Global<[u32]>, rounds: u32) {
    let (own, bad) = (shmem.local(places), shmem.local(wrong));
    let (me, all) = (thread::in_grid(), thread::per_grid());
    let mut round = 1;
    while round <= rounds {
        own.set(me, round);
        shmem.grid().sync();
        if own.get((me + all / 2) % all) != round {
            bad.set(me, bad.get(me) + 1);
        }
        shmem.grid().sync();
        round += 1;
    }
}

/// Three PEs in a chain: PE 0 puts to PE 2, quiet, signals PE 1 weakly, PE 1 signals PE 2 strongly; PE 2 reads.
#[nvshmem_kernel]
pub fn chain(shmem: Collective, data: Sym<[u32]>, signal: Sym<Signal>, seen: Sym<[u32]>, round: u64) {
    let t = shmem.thread();
    if thread::in_grid() != 0 {
        return;
    }
    match shmem.my_pe() {
        0 => {
            t.p(data.at(0), round as u32, 2);
            t.quiet();
            t.signal_weak(signal, SignalOp::Set(round), 1);
        }
        1 => {
            t.wait_reached(signal, round);
            t.signal(signal, SignalOp::Set(round), 2);
        }
        2 => {
            t.wait_reached(signal, round);
            shmem.local(seen).set(0, shmem.local(data).get(0));
        }
        _ => {}
    }
}

/// Every thread reads both clocks, grid barrier, and reads them again; counts what went back, in `wrong`, by thread: its own
/// clocks, and the time against that of the thread half a grid away.
#[nvshmem_kernel]
pub fn clocks(shmem: Collective, times: Global<[u64]>, wrong: Global<[u32]>) {
    let grid = shmem.grid();
    let (times, wrong) = (shmem.local(times), shmem.local(wrong));
    let (me, other) = (grid.rank(), (grid.rank() + grid.size() / 2) % grid.size());
    let (time, cycles) = (clock::nanoseconds(), clock::cycles());
    times.set(me, time);
    grid.sync();
    let (later, more) = (clock::nanoseconds(), clock::cycles());
    let back = [later < time, more < cycles, later < times.get(other)];
    wrong.set(me, u32::from(back[0]) + u32::from(back[1]) + u32::from(back[2]));
}
