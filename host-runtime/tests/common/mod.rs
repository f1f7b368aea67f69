//! Kernels and set-ups that several test files use.
#![allow(dead_code, missing_docs, unreachable_pub)]

use oxshmem::{Config, DeviceChoice};
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
