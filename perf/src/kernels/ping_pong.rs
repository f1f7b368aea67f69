//! Round trips between PE 0 and another: a signal, or data with its signal. PE 0 begins, and takes the time.

use super::time::{Turns, latency};
use super::who::{OnBlock, OnThread, OnWarp, Who};
use oxshmem_device::prelude::*;

/// One thread of each PE sends `signal` to and fro, strongly or (`weak` not 0) weakly.
#[nvshmem_kernel(max_block = 1024)]
pub fn signal_pingpong(
    shmem: Collective,
    signal: Sym<Signal>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    weak: u32,
    pe: u32,
) {
    if thread::in_grid() == 0 {
        let one = shmem.thread();
        let send = |round| match weak {
            0 => one.signal(signal, SignalOp::Set(round), pe),
            _ => one.signal_weak(signal, SignalOp::Set(round), pe),
        };
        let first = shmem.my_pe() < pe;
        latency(shmem, times, Turns { warmup, iters }, first, |turn| {
            let round = u64::from(turn) + 1;
            if first {
                send(round);
            }
            one.wait_reached(signal, round);
            if !first {
                send(round);
            }
        });
    }
}

/// The first scope of each PE puts `source` to `target` with `signal`; the other waits and answers in kind.
#[nvshmem_kernel(max_block = 1024, instances(OnThread, OnWarp, OnBlock))]
pub fn put_signal_pingpong<S: Who>(
    shmem: Collective,
    target: Sym<[u32]>,
    source: Sym<[u32]>,
    signal: Sym<Signal>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    if S::index() == 0 {
        let (scope, first) = (S::of(shmem), shmem.my_pe() < pe);
        latency(shmem, times, Turns { warmup, iters }, first && scope.is_leader(), |turn| {
            let round = u64::from(turn) + 1;
            if !first {
                scope.wait_reached(signal, round);
            }
            scope.put_signal(target, source, signal, SignalOp::Set(round), pe);
            if first {
                scope.wait_reached(signal, round);
            }
        });
    }
}

/// The first scope of each PE sends `source` as packets; the other waits for them and answers in kind.
#[nvshmem_kernel(max_block = 1024, instances(OnThread, OnWarp, OnBlock))]
pub fn mailbox_pingpong<S: Who>(
    shmem: Collective,
    target: Sym<[u64]>,
    source: Sym<[u64]>,
    packets: Sym<[Packet<u64>]>,
    times: Global<[u64]>,
    iters: u32,
    warmup: u32,
    pe: u32,
) {
    if S::index() == 0 {
        let (scope, first) = (S::of(shmem), shmem.my_pe() < pe);
        latency(shmem, times, Turns { warmup, iters }, first && scope.is_leader(), |turn| {
            let round = u64::from(turn) + 1;
            if !first {
                scope.wait_packets(target, packets, round);
            }
            scope.put_packets(packets, source, round, pe);
            if first {
                scope.wait_packets(target, packets, round);
            }
        });
    }
}
