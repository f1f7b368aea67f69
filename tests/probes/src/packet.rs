//! Packets and mailboxes.

use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

#[nvshmem_kernel(instances(u32, u64))]
pub fn p_packet<T: Pod + Send>(shmem: Shmem, packet: Sym<Packet<T>>, value: T, round: u64, pe: u32) {
    shmem.thread().p_packet(packet, value, round, pe);
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn wait_packet<T: Pod>(shmem: Collective, to: Sym<T>, packet: Sym<Packet<T>>, round: u64, pe: u32) {
    let value = shmem.thread().wait_packet(packet, round);
    shmem.thread().p(to, value, pe);
}

#[nvshmem_kernel]
pub fn put_packets_warp(shmem: Shmem, packets: Sym<[Packet<u64>]>, src: Sym<[u64]>, round: u64, pe: u32) {
    shmem.warp().put_packets(packets, src, round, pe);
}

#[nvshmem_kernel]
pub fn wait_packets_warp(shmem: Collective, dst: Sym<[u64]>, packets: Sym<[Packet<u64>]>, round: u64) {
    shmem.warp().wait_packets(dst, packets, round);
}

#[nvshmem_kernel]
pub fn wait_packets_block(shmem: Collective, dst: Global<[u32]>, packets: Sym<[Packet<u32>]>, round: u64) {
    shmem.block().wait_packets(dst, packets, round);
}

#[nvshmem_kernel]
pub fn put_mailbox_block(
    shmem: Shmem,
    small: Sym<Mailbox<u32, 32>>,
    large: Sym<Mailbox<u32, 4096>>,
    few: Sym<[u32]>,
    many: Sym<[u32]>,
    round: u64,
    pe: u32,
) {
    shmem.block().put_mailbox(small, few, round, pe);
    shmem.block().put_mailbox(large, many, round, pe);
}

#[nvshmem_kernel]
pub fn wait_small_mailbox(shmem: Collective, mailbox: Sym<Mailbox<u32, 32>>, dst: Sym<[u32]>, round: u64) {
    shmem.block().wait_mailbox(dst, mailbox, round);
}

#[nvshmem_kernel]
pub fn wait_large_mailbox(shmem: Collective, mailbox: Sym<Mailbox<u32, 4096>>, dst: Sym<[u32]>, round: u64) {
    shmem.block().wait_mailbox(dst, mailbox, round);
}

/// A loop of `p`.
#[nvshmem_kernel]
pub fn p_loop(shmem: Shmem, dst: Sym<[u32]>, pe: u32) {
    let t = shmem.thread();
    let mut i = u64::from(thread::in_block());
    while i < dst.len() {
        t.p(dst.at(i), i as u32, pe);
        i += u64::from(thread::per_block());
    }
}
