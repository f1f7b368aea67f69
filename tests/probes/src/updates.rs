//! Updates that are sent in batches.

use oxshmem_device::prelude::*;

shared! {
    /// For 8 PEs.
    pub struct Bins {
        wide: UpdateBuffer<u64, 256, 8>,
        narrow: UpdateBuffer<u32, 256, 8>,
    }
}

#[nvshmem_kernel(shared = Bins)]
pub fn updates_u64(
    shmem: Collective,
    table: Sym<[Atomic<u64>]>,
    inbox: UpdateInbox<u64>,
    index: u64,
    pe: u32,
) {
    let mut updates = shmem.block().updates(Bins::of(shmem).wide, updates::Add, table, inbox);
    updates.add(Some(Update { index, value: 1, pe }));
    updates.finish();
}

#[nvshmem_kernel(shared = Bins)]
pub fn updates_u32(
    shmem: Collective,
    table: Sym<[Atomic<u32>]>,
    inbox: UpdateInbox<u32>,
    index: u64,
    pe: u32,
) {
    let mut updates = shmem.block().updates(Bins::of(shmem).narrow, updates::Xor, table, inbox);
    updates.add(Some(Update { index, value: 1, pe }));
    updates.finish();
}
