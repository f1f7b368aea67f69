//! A peer that sends anything at all.

use super::fabric::{Peer, Port};
use super::packet::Header;
use super::{
    Access, Address, Adversary, CqDescription, Fabric, Nic, NicConfig, Place, QpDescription, State, Time,
    Transition,
};
use proptest::prelude::*;

/// Memory for everything: data, queues, records, a doorbell page.
#[repr(align(4096))]
struct Memory([u64; 4 * 512]);

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a peer sends, a NIC neither panics nor touches what is not its own.
    #[test]
    fn packets_of_any_content_do_no_harm(
        packets in prop::collection::vec(
            (0..10_u32, 0..8_u32, any::<[u32; 4]>(), any::<[u64; 5]>(), 0..600_usize, 0..6_u8),
            1..200,
        ),
        seed in any::<Option<u64>>(),
    ) {
        let fabric = Fabric::local(2).unwrap();
        let adversary = seed.map(|seed| Adversary { seed });
        let config = NicConfig { time: Time::Steps, adversary, ..NicConfig::default() };
        let nic = Nic::new(config, &fabric).unwrap();
        let mut stranger = Port::claim(&fabric, 0, [0; 16]).unwrap();
let lid = stranger.lid();
        let mut memory = Box::new(Memory([0; 4 * 512]));
        let start: *mut u8 = memory.0.as_mut_ptr().cast();
        let iova = 0x1000;
        let pd = nic.alloc_pd().unwrap();
        // SAFETY: the memory outlives the last step, and is looked at behind it alone.
        let (keys, umem, uar) = unsafe {
            (
                nic.register(pd, iova, start, 1024, Access::ALL).unwrap(),
                nic.register_umem(start.wrapping_add(4096), 8192).unwrap(),
                nic.alloc_uar(start.wrapping_add(12288)).unwrap(),
            )
        };
        let cqn = nic.create_cq(&CqDescription {
            buffer: Place { umem, offset: 0 },
            log_size: 4,
            record: None,
            collapsed: false,
            ignore_overrun: true,
            uar,
        }).unwrap();
        let qpn = nic.create_qp(&QpDescription {
            pd,
            send: Place { umem, offset: 4096 },
            log_send: 4,
            record: Place { umem, offset: 2048 },
            send_cqn: cqn,
            receive: None,
            uar,
            user_index: 0,
        }).unwrap();
        let mut peer = Peer::new(Address::Lid(nic.lid()));
        let put = |offset: usize, number: u32| {
            // SAFETY: inside of the memory, which only the NIC touches, in this thread.
            unsafe { start.add(offset).cast::<u32>().write_volatile(number.to_be()) };
        };
        // Reads, atomics and writes in turn, for answers to meet.
        let post = |qpn: u32, lkey: u32| {
            for at in 0..8_usize {
                let (opcode, units) = [(0x10, 3), (0x12, 4), (0x08, 3)][at % 3];
                let data = [if opcode == 0x12 { 8 } else { 400 }, lkey, 0, iova as u32 + at as u32 * 8];
                let mut words = vec![(at as u32) << 8 | opcode, qpn << 8 | units, 8, 0, 0, 0, 1, 0];
                words.extend(if opcode == 0x12 { &[0, 1, 0, 0][..] } else { &[] });
                words.extend(data);
                for (word, number) in words.into_iter().enumerate() {
                    put(8192 + at * 64 + word * 4, number);
                }
            }
            put(4096 + 2048 + 4, 8);
        };
        let connect = || {
            nic.modify_qp(qpn, Transition::ToReset).unwrap();
            put(4096 + 2048 + 4, 0);
            nic.modify_qp(qpn, Transition::ToInit { access: Access::ALL }).unwrap();
            nic.modify_qp(qpn, Transition::ToRtr {
                remote_qpn: 5,
                receive_psn: 0,
                mtu: 256,
                address: Address::Lid(lid),
                log_max_inbound_reads: 2,
                log_max_message: 12,
                min_rnr_timer: 0,
            }).unwrap();
            nic.modify_qp(qpn, Transition::ToRts {
                send_psn: 0,
                log_max_outbound_reads: 2,
                ack_timeout: 0,
                retry_count: 0,
                rnr_retry: 3,
            }).unwrap();
            post(qpn, keys.lkey);
            let bell = u64::from(8_u32 << 8) << 32 | u64::from(qpn << 8);
            nic.doorbell(uar, 0x800, bell.to_be());
        };
        connect();
        let mut psn = 0;
        for (kind, flags, [length, immediate, extra, other], [address, operands @ ..], size, right) in packets {
            let mut header = Header {
                kind,
                flags,
                source_qpn: 5,
                target_qpn: qpn,
                psn,
                key: keys.rkey,
                length,
                immediate,
                extra,
                address,
                operands,
                ..Header::default()
            };
            // Most are right enough to be looked at closely.
            match right {
                0 => header.psn = other,
                1 => header.key = other,
                _ => {
                    header.length %= 600;
                    header.address = iova + address % 1100;
                    header.extra %= 0x200;
                    if kind > 3 {
                        // An answer to something that was asked.
                        header.psn = other % 12;
                        header.address %= 500;
                    }
                }
            }
            let dropped = nic.statistics().dropped;
            stranger.send(&mut peer, header, &vec![0xbb; size]);
            nic.step();
            if nic.statistics().dropped == dropped {
                // A read takes as many numbers as its answer has packets.
                psn += if kind == 2 { header.length.div_ceil(256).max(1) } else { 1 };
            }
            if nic.query_qp(qpn).unwrap().state == State::Error {
                while nic.step() {}
                connect();
                psn = 0;
            }
        }
        while nic.step() {}
        let own = nic.violations().into_iter().find(|violation| violation.index.is_some());
        prop_assert_eq!(own, None, "its own entries are right");
        drop(nic);
        prop_assert!(memory.0[128..512].iter().all(|&word| word == 0), "beyond the region");
        prop_assert!(memory.0[1536..].iter().all(|&word| word == 0), "the doorbell page");
    }
}
