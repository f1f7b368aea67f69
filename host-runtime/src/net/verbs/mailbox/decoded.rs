//! The encoders against the emulated NIC's decoder, which was written without them: random numbers come out as they went
//! in, and a bit more is refused.

use super::{
    AtomicCapabilities, CreateCq, CreateQp, GeneralCapabilities, Init2Rtr, QueryQp, Route, Rst2Init, Rtr2Rts,
    ToError, ToReset,
};
use oxshmem_emulator::nic::command::{Ask, Change, Create, EVENT_QUEUE};
use oxshmem_emulator::nic::{
    Access, Address, CqDescription, Pd, Place, QpDescription, Transition, Uar, Umem,
};

const ROUNDS: u64 = 500;

/// Numbers that a seed fixes (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number of so many bits; often the largest or 0.
    fn bits(&mut self, width: u32) -> u32 {
        let largest = u32::MAX >> (32 - width);
        match self.next() % 8 {
            0 => largest,
            1 => 0,
            _ => self.next() as u32 & largest,
        }
    }
}

#[test]
fn completion_queues() {
    let mut random = Random(1);
    for _ in 0..ROUNDS {
        let made = CreateCq {
            eqn: EVENT_QUEUE,
            uar_page: random.bits(24),
            log_size: random.bits(5),
            umem: random.bits(32),
            umem_offset: random.next(),
            log_page_size: 12 + random.bits(4),
            record_umem: random.bits(32),
            record_offset: random.next(),
            collapsed: random.bits(1) == 1,
        };
        let read = CqDescription {
            buffer: Place { umem: Umem(made.umem), offset: made.umem_offset },
            log_size: made.log_size as u8,
            record: Some(Place { umem: Umem(made.record_umem), offset: made.record_offset }),
            collapsed: made.collapsed,
            ignore_overrun: made.collapsed,
            uar: Uar(made.uar_page),
        };
        assert_eq!(Create::read(&made.encode().unwrap()), Ok(Create::Cq(read)), "{made:?}");
    }
}

#[test]
fn queue_pairs() {
    let mut random = Random(2);
    for _ in 0..ROUNDS {
        let made = CreateQp {
            pd: random.bits(24),
            log_sq_size: random.bits(4),
            uar_page: random.bits(24),
            user_index: random.bits(24),
            send_cqn: random.bits(24),
            receive_cqn: random.bits(24).max(1),
            umem: random.bits(32),
            umem_offset: random.next(),
            log_page_size: 12 + random.bits(4),
            record_umem: random.bits(32),
            record_offset: random.next(),
        };
        let read = QpDescription {
            pd: Pd(made.pd),
            send: Place { umem: Umem(made.umem), offset: made.umem_offset },
            log_send: made.log_sq_size as u8,
            record: Place { umem: Umem(made.record_umem), offset: made.record_offset },
            send_cqn: made.send_cqn,
            receive: None,
            uar: Uar(made.uar_page),
            user_index: made.user_index,
        };
        assert_eq!(Create::read(&made.encode().unwrap()), Ok(Create::Qp(read)), "{made:?}");
    }
}

#[test]
fn transitions() {
    let mut random = Random(3);
    for round in 0..ROUNDS {
        let qpn = random.bits(24);
        let init = Rst2Init { qpn, port: 1, pkey_index: 0 }.encode().unwrap();
        let to = Transition::ToInit { access: Access::ALL };
        assert_eq!(Change::read(&init), Ok(Change { qpn, to }));

        let gid = std::array::from_fn(|_| random.bits(8).max(1) as u8);
        let (lid, service_level) = (random.bits(16).max(1) as u16, random.bits(4) as u8);
        let (traffic_class, hop_limit) = (random.bits(8) as u8, random.bits(8).max(1) as u8);
        let route = match round % 3 {
            0 => Route::InfiniBand { lid, service_level },
            1 => Route::Routed { lid, service_level, gid, source: 0, traffic_class, hop_limit },
            _ => Route::Ethernet {
                gid,
                mac: std::array::from_fn(|_| random.bits(8).max(1) as u8),
                source: 0,
                traffic_class,
                hop_limit,
                udp_source: 0xc000 | random.bits(14) as u16,
                priority: random.bits(3) as u8,
            },
        };
        let made = Init2Rtr {
            qpn,
            mtu: 1 + random.bits(2),
            remote_qpn: random.bits(24),
            receive_psn: random.bits(24),
            log_reads: random.bits(3),
            port: 1,
            route,
        };
        let to = Transition::ToRtr {
            remote_qpn: made.remote_qpn,
            receive_psn: made.receive_psn,
            mtu: 128 << made.mtu,
            address: if round % 3 == 2 { Address::Gid(gid) } else { Address::Lid(lid) },
            log_max_inbound_reads: made.log_reads as u8,
            log_max_message: 30,
            min_rnr_timer: 12,
        };
        assert_eq!(Change::read(&made.encode().unwrap()), Ok(Change { qpn, to }), "{made:?}");

        let made = Rtr2Rts {
            qpn,
            send_psn: random.bits(24),
            log_reads: random.bits(3),
            ack_timeout: random.bits(5),
            retries: random.bits(3),
            rnr_retries: random.bits(3),
        };
        let to = Transition::ToRts {
            send_psn: made.send_psn,
            log_max_outbound_reads: made.log_reads as u8,
            ack_timeout: made.ack_timeout as u8,
            retry_count: made.retries as u8,
            rnr_retry: made.rnr_retries as u8,
        };
        assert_eq!(Change::read(&made.encode().unwrap()), Ok(Change { qpn, to }), "{made:?}");

        let reset = Change { qpn, to: Transition::ToReset };
        assert_eq!(Change::read(&ToReset { qpn }.encode().unwrap()), Ok(reset));
        let error = Change { qpn, to: Transition::ToError };
        assert_eq!(Change::read(&ToError { qpn }.encode().unwrap()), Ok(error));
        assert_eq!(Ask::read(&QueryQp { qpn }.encode().unwrap()), Ok(Ask::Qp { qpn }));
    }
}

#[test]
fn capabilities() {
    assert_eq!(Ask::read(&GeneralCapabilities::ask().unwrap()), Ok(Ask::General));
    assert_eq!(Ask::read(&AtomicCapabilities::ask().unwrap()), Ok(Ask::Atomic));
}
