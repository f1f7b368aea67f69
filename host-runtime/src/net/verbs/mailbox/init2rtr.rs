//! `INIT2RTR_QP`: who the peer is, and how packets reach it.

use super::field::{Mailbox, TooLarge};
use super::qpc;

/// Messages of up to 1 GiB.
const LOG_LONGEST_MESSAGE: u32 = 30;
/// `min_rnr_nak` 12: 0.64 ms (InfiniBand, table "encoding for RNR NAK timer field").
const RNR_DELAY: u32 = 12;

/// How packets reach the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// By the local identifier within an InfiniBand subnet.
    InfiniBand {
        /// The peer's.
        lid: u16,
        /// The service level, below 16.
        service_level: u8,
    },
    /// By a global route header through InfiniBand routers.
    Routed {
        /// The peer's, or its router's.
        lid: u16,
        /// The service level, below 16.
        service_level: u8,
        /// The peer's.
        gid: [u8; 16],
        /// The place of our own address in the port's table.
        source: u8,
        /// As in IP.
        traffic_class: u8,
        /// As in IP.
        hop_limit: u8,
    },
    /// By UDP (RoCE v2).
    Ethernet {
        /// The peer's.
        gid: [u8; 16],
        /// The peer's, or its gateway's.
        mac: [u8; 6],
        /// The place of our own address in the port's table.
        source: u8,
        /// As in IP; its upper six bits are the DSCP.
        traffic_class: u8,
        /// As in IP.
        hop_limit: u8,
        /// The source port, by which switches spread flows over paths; 0xc000 and above.
        udp_source: u16,
        /// The priority of the Ethernet frame, below 8.
        priority: u8,
    },
}

/// Takes a queue pair from init to "ready to receive".
#[derive(Clone, Copy, Debug)]
pub struct Init2Rtr {
    /// The queue pair.
    pub qpn: u32,
    /// The path's MTU in the encoding of `ibv_mtu`: 1 is 256 bytes, 5 is 4096.
    pub mtu: u32,
    /// The peer's queue pair.
    pub remote_qpn: u32,
    /// The first packet number that the peer sends.
    pub receive_psn: u32,
    /// How many reads and atomics of the peer may be in progress, as a power of two.
    pub log_reads: u32,
    /// The port, from 1.
    pub port: u32,
    /// How packets reach the peer.
    pub route: Route,
}

impl Init2Rtr {
    /// The command.
    ///
    /// # Errors
    /// A number that does not fit.
    pub const fn encode(&self) -> Result<[u8; 272], TooLarge> {
        let command = Mailbox::<{ qpc::COMMAND }>::command(0x503, 0)
            .with(qpc::QPN, self.qpn)
            .with(qpc::MTU, self.mtu)
            .with(qpc::LOG_MESSAGE, LOG_LONGEST_MESSAGE)
            .with(qpc::REMOTE_QPN, self.remote_qpn)
            .with(qpc::LOG_READS_IN, self.log_reads)
            .with(qpc::RNR_DELAY, RNR_DELAY)
            .with(qpc::RECEIVE_PSN, self.receive_psn)
            .with(qpc::PORT, self.port);
        match self.route {
            Route::InfiniBand { lid, service_level } => {
                command.with(qpc::REMOTE_LID, lid as u32).with(qpc::SERVICE_LEVEL, service_level as u32)
            }
            Route::Routed { lid, service_level, gid, source, traffic_class, hop_limit } => command
                .with(qpc::REMOTE_LID, lid as u32)
                .with(qpc::SERVICE_LEVEL, service_level as u32)
                .flag(qpc::GLOBAL, true)
                .with(qpc::SOURCE_INDEX, source as u32)
                .with(qpc::TRAFFIC_CLASS, traffic_class as u32)
                .with(qpc::HOP_LIMIT, hop_limit as u32)
                .copy(qpc::REMOTE_GID, gid),
            Route::Ethernet { gid, mac, source, traffic_class, hop_limit, udp_source, priority } => command
                .with(qpc::SOURCE_INDEX, source as u32)
                .with(qpc::TRAFFIC_CLASS, traffic_class as u32)
                .with(qpc::HOP_LIMIT, hop_limit as u32)
                .copy(qpc::REMOTE_GID, gid)
                .with(qpc::DSCP, (traffic_class >> 2) as u32)
                .with(qpc::UDP_SOURCE, udp_source as u32)
                .with(qpc::ETH_PRIORITY, priority as u32)
                .with(qpc::REMOTE_MAC_HIGH, u32::from_be_bytes([0, 0, mac[0], mac[1]]))
                .with(qpc::REMOTE_MAC_LOW, u32::from_be_bytes([mac[2], mac[3], mac[4], mac[5]])),
        }
        .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::verbs::mailbox::golden;

    const MADE: Init2Rtr = Init2Rtr {
        qpn: 0x00a1a2a3,
        mtu: 5,
        remote_qpn: 0x00b1b2b3,
        receive_psn: 0x00c1c2c3,
        log_reads: 4,
        port: 1,
        route: Route::InfiniBand { lid: 0x1234, service_level: 7 },
    };
    const GID: [u8; 16] = *b"0123456789abcdef";

    #[test]
    fn infiniband_bytes_are_fixed() {
        golden(
            &MADE.encode().unwrap(),
            &[
                (0x00, 0x0503_0000),
                (0x08, 0x00a1_a2a3),
                (0x20, 0xbe00_0000),
                (0x2c, 0x00b1_b2b3),
                (0x34, 0x0000_1234),
                (0x54, 0x0701_0000),
                (0xa8, 0x0080_0000),
                (0xac, 0x0cc1_c2c3),
            ],
        );
    }

    #[test]
    fn routed_infiniband_has_its_global_route() {
        let route = Route::Routed {
            lid: 0x1234,
            service_level: 7,
            gid: GID,
            source: 3,
            traffic_class: 0xab,
            hop_limit: 64,
        };
        let made = Init2Rtr { route, ..MADE }.encode().unwrap();
        assert_eq!(made[0x34..0x38], [0x00, 0x80, 0x12, 0x34]);
        assert_eq!(made[0x38..0x3c], [0x00, 0x03, 0x00, 0x40]);
        assert_eq!(made[0x3c..0x40], [0x0a, 0xb0, 0x00, 0x00]);
        assert_eq!(made[0x40..0x50], GID);
    }

    #[test]
    fn ethernet_bytes_are_fixed() {
        let route = Route::Ethernet {
            gid: GID,
            mac: [0x02, 0xa1, 0xb2, 0xc3, 0xd4, 0xe5],
            source: 3,
            traffic_class: 0xa8,
            hop_limit: 64,
            udp_source: 0xc123,
            priority: 5,
        };
        golden(
            &Init2Rtr { route, ..MADE }.encode().unwrap(),
            &[
                (0x00, 0x0503_0000),
                (0x08, 0x00a1_a2a3),
                (0x20, 0xbe00_0000),
                (0x2c, 0x00b1_b2b3),
                (0x38, 0x0003_0040),
                (0x3c, 0x0a80_0000),
                (0x40, 0x3031_3233),
                (0x44, 0x3435_3637),
                (0x48, 0x3839_6162),
                (0x4c, 0x6364_6566),
                (0x50, 0x002a_c123),
                (0x54, 0x5001_02a1),
                (0x58, 0xb2c3_d4e5),
                (0xa8, 0x0080_0000),
                (0xac, 0x0cc1_c2c3),
            ],
        );
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let field = |command: Init2Rtr| command.encode().unwrap_err().field;
        assert_eq!(field(Init2Rtr { mtu: 8, ..MADE }), "mtu");
        assert_eq!(field(Init2Rtr { receive_psn: 1 << 24, ..MADE }), "next_rcv_psn");
        assert_eq!(field(Init2Rtr { log_reads: 8, ..MADE }), "log_rra_max");
        let route = Route::InfiniBand { lid: 1, service_level: 16 };
        assert_eq!(field(Init2Rtr { route, ..MADE }), "sl");
    }
}
