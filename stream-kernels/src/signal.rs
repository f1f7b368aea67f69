//! Signals, and waits for signals and for words of integer atomics. Waits are by one thread, and bounded as all waits.

use crate::rma::signal_op;
use oxshmem_device::atomic::AtomicInteger;
use oxshmem_device::prelude::*;

/// Updates a signal, which covers all that the stream did before.
#[nvshmem_kernel]
pub fn signal(shmem: Shmem, signal: Sym<Signal>, update: u32, value: u64, pe: u32) {
    shmem.thread().signal(signal, signal_op(update, value), pe);
}

/// Reads an own signal.
#[nvshmem_kernel]
pub fn signal_fetch(shmem: Shmem, signal: Sym<Signal>, seen: Global<[u64]>) {
    shmem.local(seen).set(0, shmem.thread().signal_fetch(signal));
}

/// Waits until an own signal compares with `value`; `cmp` is the number of a [`Cmp`].
#[nvshmem_kernel]
pub fn wait_signal(shmem: Collective, signal: Sym<Signal>, cmp: u32, value: u64) {
    if let Some(cmp) = Cmp::from_number(cmp) {
        shmem.thread().wait_until(signal, cmp, value);
    }
}

/// Waits until an own signal, a counter that grows, has reached `goal`.
#[nvshmem_kernel]
pub fn wait_reached(shmem: Collective, signal: Sym<Signal>, goal: u64) {
    shmem.thread().wait_reached(signal, goal);
}

/// Waits until an own word compares with `value`; `cmp` is the number of a [`Cmp`].
#[nvshmem_kernel(instances(i32, u32, i64, u64))]
pub fn wait_word<T: AtomicInteger + Send>(shmem: Collective, word: Sym<Atomic<T>>, cmp: u32, value: T) {
    if let Some(cmp) = Cmp::from_number(cmp) {
        shmem.thread().wait_until(word, cmp, value);
    }
}
