//! A wait takes a signal, not plain data.
use oxshmem_device::prelude::*;

#[nvshmem_kernel]
pub fn kernel(shmem: Collective, flag: Sym<u64>) {
    shmem.block().wait_until(flag, Cmp::Eq, 1);
}

fn main() {}
