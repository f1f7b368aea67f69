//! Signals are reached by signal operations only.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Shmem, ready: Sym<Signal>) {
    shmem.ptr(ready, 1);
}

fn main() {}
