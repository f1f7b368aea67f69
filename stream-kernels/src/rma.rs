//! Data: ranges of bytes in symmetric and in local memory.

use oxshmem_device::prelude::*;

/// How a signal changes, as a number: [`SET`](update::SET) or [`ADD`](update::ADD).
pub mod update {
    /// The value is stored.
    pub const SET: u32 = 0;
    /// The value is added.
    pub const ADD: u32 = 1;
}

/// The update of this number.
#[inline(always)]
pub(crate) fn signal_op(update: u32, value: u64) -> SignalOp {
    if update == update::SET { SignalOp::Set(value) } else { SignalOp::Add(value) }
}

/// Puts symmetric memory.
#[nvshmem_kernel]
pub fn put(shmem: Shmem, target: Sym<[u8]>, source: Sym<[u8]>, pe: u32) {
    shmem.block().put(target, source, pe);
}

/// Puts local memory.
#[nvshmem_kernel]
pub fn put_local(shmem: Shmem, target: Sym<[u8]>, source: Global<[u8]>, pe: u32) {
    shmem.block().put(target, source, pe);
}

/// Gets into symmetric memory.
#[nvshmem_kernel]
pub fn get(shmem: Shmem, target: Sym<[u8]>, source: Sym<[u8]>, pe: u32) {
    shmem.block().get(target, source, pe);
}

/// Gets into local memory.
#[nvshmem_kernel]
pub fn get_local(shmem: Shmem, target: Global<[u8]>, source: Sym<[u8]>, pe: u32) {
    shmem.block().get(target, source, pe);
}

/// Puts symmetric memory, then updates a signal that covers it.
#[nvshmem_kernel]
pub fn put_signal(
    shmem: Shmem,
    target: Sym<[u8]>,
    source: Sym<[u8]>,
    signal: Sym<Signal>,
    update: u32,
    value: u64,
    pe: u32,
) {
    shmem.block().put_signal(target, source, signal, signal_op(update, value), pe);
}

/// Puts local memory, then updates a signal that covers it.
#[nvshmem_kernel]
pub fn put_signal_local(
    shmem: Shmem,
    target: Sym<[u8]>,
    source: Global<[u8]>,
    signal: Sym<Signal>,
    update: u32,
    value: u64,
    pe: u32,
) {
    shmem.block().put_signal(target, source, signal, signal_op(update, value), pe);
}

/// Writes one element of 1, 2, 4, 8 or 16 bytes.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn p<T: oxshmem_device::bytemuck::Pod + Send>(shmem: Shmem, target: Sym<T>, value: T, pe: u32) {
    shmem.thread().p(target, value, pe);
}

/// Writes up to 16 bytes, one by one: an element whose size is no power of two, or that is aligned to less.
#[nvshmem_kernel]
pub fn p_bytes(shmem: Shmem, target: Sym<[u8]>, value: [u64; 2], pe: u32) {
    let mut at = 0u64;
    while at < target.len() {
        let word = if at < 8 { value[0] } else { value[1] };
        shmem.thread().p(target.at(at), (word >> (8 * (at & 7))) as u8, pe);
        at += 1;
    }
}
