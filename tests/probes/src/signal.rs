//! Signals, and waits for them.

use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn put_signal_set(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, signal: Sym<Signal>, pe: u32) {
    shmem.block().put_signal(dst, src, signal, SignalOp::Set(1), pe);
}

#[nvshmem_kernel]
pub fn put_signal_add(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, signal: Sym<Signal>, pe: u32) {
    shmem.block().put_signal(dst, src, signal, SignalOp::Add(1), pe);
}

#[nvshmem_kernel]
pub fn put_signal_nbi(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, signal: Sym<Signal>, pe: u32) {
    shmem.block().put_signal_nbi(dst, src, signal, SignalOp::Set(1), pe);
}

#[nvshmem_kernel]
pub fn signal_set(shmem: Shmem, signal: Sym<Signal>, pe: u32) {
    shmem.block().signal(signal, SignalOp::Set(1), pe);
}

#[nvshmem_kernel]
pub fn signal_add(shmem: Shmem, signal: Sym<Signal>, pe: u32) {
    shmem.block().signal(signal, SignalOp::Add(1), pe);
}

#[nvshmem_kernel]
pub fn signal_weak_set(shmem: Shmem, signal: Sym<Signal>, pe: u32) {
    shmem.thread().signal_weak(signal, SignalOp::Set(1), pe);
}

#[nvshmem_kernel]
pub fn signal_weak_add(shmem: Shmem, signal: Sym<Signal>, pe: u32) {
    shmem.thread().signal_weak(signal, SignalOp::Add(1), pe);
}

#[nvshmem_kernel]
pub fn signal_fetch(shmem: Shmem, out: Global<[u64]>, signal: Sym<Signal>) {
    shmem.local(out).set(0, shmem.thread().signal_fetch(signal));
}

#[nvshmem_kernel]
pub fn wait_until_thread(shmem: Collective, signal: Sym<Signal>) {
    shmem.thread().wait_until(signal, Cmp::Ge, 1);
}

#[nvshmem_kernel]
pub fn wait_until_warp(shmem: Collective, signal: Sym<Signal>) {
    shmem.warp().wait_until(signal, Cmp::Ge, 1);
}

#[nvshmem_kernel]
pub fn wait_until_warps(shmem: Collective, signal: Sym<Signal>) {
    shmem.warps(2).wait_until(signal, Cmp::Ge, 1);
}

#[nvshmem_kernel]
pub fn wait_until_block(shmem: Collective, signal: Sym<Signal>) {
    shmem.block().wait_until(signal, Cmp::Ge, 1);
}

#[nvshmem_kernel]
pub fn wait_reached_block(shmem: Collective, signal: Sym<Signal>, round: u64) {
    shmem.block().wait_reached(signal, round);
}

#[nvshmem_kernel]
pub fn test_block(shmem: Collective, out: Global<[u32]>, signal: Sym<Signal>) {
    shmem.local(out).set(0, shmem.block().test(signal, Cmp::Ge, 1).into());
}

#[nvshmem_kernel]
pub fn wait_until_all_block(shmem: Collective, signals: Sym<[Signal]>) {
    shmem.block().wait_until_all(signals, Every, Cmp::Ge, 1);
}

#[nvshmem_kernel]
pub fn wait_until_all_thread(shmem: Collective, signals: Sym<[Signal]>) {
    shmem.thread().wait_until_all(signals, Every, Cmp::Ge, 1);
}
