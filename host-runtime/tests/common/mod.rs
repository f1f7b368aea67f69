//! Kernels and set-ups that several test files use.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod again;
pub mod packed;
pub mod stub;

use oxshmem::{Config, DeviceChoice, Error};
use oxshmem_device::prelude::*;
use std::time::Duration;

/// Emulated PEs with a deadline that a test can wait for, and nothing from the environment.
pub fn emulated(pes: u32) -> Config {
    Config::default()
        .pes(pes)
        .device(DeviceChoice::Emulated)
        .emulated_memory(256 << 20)
        .deadline(Duration::from_secs(20))
}

/// Runs one emulated PE.
pub fn alone(f: impl Fn(&oxshmem::Shmem) -> oxshmem::Result<()> + Send + Sync) {
    emulated(1).run(|shmem| f(&shmem)).unwrap();
}

/// The error of a call that must fail.
pub fn error<T>(result: oxshmem::Result<T>) -> Error {
    result.err().expect("the call must fail")
}

/// Whether a message says all of these.
#[track_caller]
pub fn says(message: impl ToString, all: &[&str]) {
    let message = message.to_string();
    for part in all {
        assert!(message.contains(part), "{part:?} is not in: {message}");
    }
}

pub const ONE: LaunchConfig = LaunchConfig::blocks(1);

#[nvshmem_kernel]
pub fn ring_shift(shmem: Collective, dst: Sym<[f32]>, src: Sym<[f32]>, ready: Sym<Signal>, round: u64) {
    let block = shmem.block();
    block.put_signal(dst, src, ready, SignalOp::Set(round), shmem.next_pe());
    block.wait_reached(ready, round);
}

/// Adds 1 to every element.
#[nvshmem_kernel]
pub fn add_one(shmem: Shmem, data: Global<[u32]>) {
    let block = shmem.block();
    let view = shmem.local(data);
    let mut i = block.rank();
    while i < view.len() {
        view.set(i, view.get(i) + 1);
        i += block.size();
    }
}

/// Does nothing with symmetric memory of this PE.
#[nvshmem_kernel]
pub fn touch(shmem: Shmem, data: Sym<[u32]>) {
    let _ = (shmem, data);
}

/// Waits for a signal.
#[nvshmem_kernel]
pub fn wait_for(shmem: Collective, signal: Sym<Signal>, value: u64) {
    shmem.block().wait_reached(signal, value);
}

/// Sets a signal of a PE.
#[nvshmem_kernel]
pub fn set_signal(shmem: Shmem, signal: Sym<Signal>, value: u64, pe: u32) {
    shmem.block().signal(signal, SignalOp::Set(value), pe);
}

/// Adds `value` to a word of every PE.
#[nvshmem_kernel]
pub fn add_everywhere(shmem: Shmem, word: Sym<Atomic<u32>>, value: u32) {
    if shmem.block().is_leader() {
        let mut pe = 0;
        while pe < shmem.n_pes() {
            shmem.thread().atomic_add(word, value, pe);
            pe += 1;
        }
    }
}

/// All blocks of the grid meet twice, then one says so.
#[nvshmem_kernel]
pub fn meet(shmem: Collective, met: Sym<[u32]>) {
    shmem.grid().sync();
    shmem.grid().sync();
    if shmem.grid().is_leader() {
        let met = shmem.local(met);
        met.set(0, met.get(0) + 1);
    }
}

/// Panics in one thread.
#[nvshmem_kernel]
pub fn panics(shmem: Shmem, thread: u64) {
    if shmem.block().rank() == thread {
        panic!("this kernel is broken");
    }
}

/// Looks for a signal for ever, without a wait that expires.
#[nvshmem_kernel]
pub fn looks_for_ever(shmem: Shmem, signal: Sym<Signal>) {
    while !shmem.thread().test(signal, Cmp::Ge, 1) {}
}

/// Never comes to an oxshmem operation.
#[nvshmem_kernel]
pub fn spins(shmem: Shmem, signal: Sym<Signal>) {
    let _ = (shmem, signal);
    loop {
        core::hint::spin_loop();
    }
}

/// Reads element `index` of `data`.
#[nvshmem_kernel]
pub fn read_at(shmem: Shmem, data: Sym<[u32]>, index: u64) {
    shmem.local(data).get(index);
}

/// Puts `src` into `dst` on `pe`.
#[nvshmem_kernel]
pub fn put_to(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    shmem.block().put(dst, src, pe);
}

/// Written for blocks of 64 threads.
#[nvshmem_kernel(block = 64)]
pub fn blocks_of_64(shmem: Shmem, value: u32) {
    let _ = (shmem, value);
}

#[nvshmem_kernel(max_block = 64)]
pub fn blocks_up_to_64(shmem: Shmem, value: u32) {
    let _ = (shmem, value);
}
