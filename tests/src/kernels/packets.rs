//! Packets and mailboxes.

use super::at_scope;
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

/// Elements of the mailboxes, one that goes as packets and one that does not.
pub const SMALL: usize = 97;
/// See [`SMALL`].
pub const LARGE: usize = 1500;

/// `rounds` times: sends what `src` holds, plus the round, to `pe`, and takes what came into `dst`; then tells `prev`, from
/// which it came, that its packets are free again. Of no packets it tells nothing: nobody would wait between two rounds.
#[nvshmem_kernel(instances(u8, u32, u64))]
pub fn packets_around<T: Pod + Step>(
    shmem: Collective,
    dst: Sym<[T]>,
    src: Sym<[T]>,
    packets: Sym<[Packet<T>]>,
    taken: Sym<Packet<u32>>,
    scope: u32,
    first: u64,
    rounds: u64,
    next: u32,
    prev: u32,
) {
    at_scope!(shmem, scope, |s| {
        let mut round = first;
        while round < first + rounds {
            let own = shmem.local(src);
            let mut i = s.rank();
            while i < own.len() {
                own.set(i, own.get(i).step());
                i += s.size();
            }
            s.put_packets(packets, src, round, next);
            s.wait_packets(dst, packets, round);
            if s.is_leader() && !packets.is_empty() {
                shmem.thread().p_packet(taken, 7, round, prev);
                shmem.thread().wait_packet(taken, round);
            }
            s.sync();
            round += 1;
        }
    });
}

/// What changes from round to round.
pub trait Step: Copy {
    /// The next value.
    fn step(self) -> Self;
}
macro_rules! steps {
    ($($ty:ty)*) => {$(
        impl Step for $ty {
            #[inline(always)]
            fn step(self) -> Self {
                self.wrapping_add(1)
            }
        }
    )*};
}
steps!(u8 u32 u64);

/// As [`packets_around`](fn@packets_around), through mailboxes, which are free again by a strong signal: `taken` here grows with the rounds that
/// the next PE has taken.
#[nvshmem_kernel]
pub fn mail_around(
    shmem: Collective,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    small: Sym<Mailbox<u32, 97>>,
    large: Sym<Mailbox<u32, 1500>>,
    taken: Sym<Signal>,
    scope: u32,
    first: u64,
    rounds: u64,
    next: u32,
    prev: u32,
) {
    at_scope!(shmem, scope, |s| {
        let mut round = first;
        while round < first + rounds {
            let own = shmem.local(src);
            let mut i = s.rank();
            while i < own.len() {
                own.set(i, own.get(i) + 1);
                i += s.size();
            }
            if src.len() == SMALL as u64 {
                s.put_mailbox(small, src, round, next);
                s.wait_mailbox(dst, small, round);
            } else {
                s.put_mailbox(large, src, round, next);
                s.wait_mailbox(dst, large, round);
            }
            s.signal(taken, SignalOp::Set(round), prev);
            s.wait_reached(taken, round);
            round += 1;
        }
    });
}

/// Elements that no packet has room for.
#[nvshmem_kernel]
pub fn wide_mail(
    shmem: Collective,
    dst: Sym<[u128]>,
    src: Sym<[u128]>,
    mail: Sym<Mailbox<u128, 3>>,
    scope: u32,
    pe: u32,
) {
    at_scope!(shmem, scope, |s| {
        s.put_mailbox(mail, src, 1, pe);
        s.wait_mailbox(dst, mail, 1);
    });
}

/// Sends a thread's own array, and takes it into another; `seen` gets it.
#[nvshmem_kernel(local)]
pub fn packets_of_a_thread(
    shmem: Collective,
    packets: Sym<[Packet<u64>]>,
    seen: Sym<[u64]>,
    round: u64,
    pe: u32,
) {
    if thread::in_block() == 0 && thread::block() == 0 {
        let t = shmem.thread();
        let me = u64::from(shmem.my_pe());
        t.put_packets(packets, &[me, me + 1, me + 2, me + 3, me + 4], round, pe);
        let mut came = [0u64; 5];
        t.wait_packets(&mut came, packets, round);
        let own = shmem.local(seen);
        let mut i = 0;
        while i < 5 {
            own.set(i, came[i as usize]);
            i += 1;
        }
    }
}

/// Tests a packet before and after it came: `seen` gets 1, then the value.
#[nvshmem_kernel]
pub fn packet_tested(shmem: Collective, packet: Sym<Packet<u32>>, seen: Sym<[u32]>, round: u64, pe: u32) {
    if thread::in_block() == 0 && thread::block() == 0 {
        let t = shmem.thread();
        let own = shmem.local(seen);
        own.set(0, u32::from(t.test_packet(packet, round + 1).is_none()));
        t.p_packet(packet, shmem.my_pe() + 40, round, pe);
        loop {
            if let Some(value) = t.test_packet(packet, round) {
                own.set(1, value);
                break;
            }
        }
    }
}

/// Waits for packets, of which element `missing` never comes: the caller sends itself the others.
#[nvshmem_kernel]
pub fn miss_a_packet(
    shmem: Collective,
    dst: Sym<[u32]>,
    packets: Sym<[Packet<u32>]>,
    scope: u32,
    missing: u64,
    round: u64,
) {
    let me = shmem.my_pe();
    at_scope!(shmem, scope, |s| {
        let mut i = s.rank();
        while i < packets.len() {
            if i != missing {
                shmem.thread().p_packet(packets.at(i), 1, round, me);
            }
            i += s.size();
        }
        s.wait_packets(dst, packets, round);
    });
}

/// Waits for packets into a target that is one element longer.
#[nvshmem_kernel]
pub fn too_few_packets(
    shmem: Collective,
    dst: Sym<[u32]>,
    packets: Sym<[Packet<u32>]>,
    scope: u32,
    send: u32,
) {
    let me = shmem.my_pe();
    at_scope!(shmem, scope, |s| {
        if send != 0 {
            s.put_packets(packets, dst, 1, me);
        } else {
            s.wait_packets(dst, packets, 1);
        }
    });
}
