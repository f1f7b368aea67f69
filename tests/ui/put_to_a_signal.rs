//! A put cannot write a signal.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, signals: Sym<[Signal]>, values: Sym<[u64]>) {
    shmem.block().put(signals, values, 0);
}

fn main() {}
