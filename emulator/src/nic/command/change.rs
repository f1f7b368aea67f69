//! The transitions of a queue pair.

use super::failure::{Failure, Status};
use super::input::Input;
use crate::nic::{Access, Address, Transition};

/// A queue pair's transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The queue pair.
    pub qpn: u32,
    /// Where to.
    pub to: Transition,
}

/// The queue pair context, in bits.
const CONTEXT: usize = 0x18 * 8;
/// The primary address path in it.
const PATH: usize = CONTEXT + 0x18 * 8;

impl Change {
    /// Reads a command.
    ///
    /// # Errors
    /// What is wrong with it, or that it changes nothing.
    pub fn read(bytes: &[u8]) -> Result<Self, Failure> {
        match Input::opcode(bytes) {
            Some(0x502) => to_init(bytes),
            Some(0x503) => to_receive(bytes),
            Some(0x504) => to_send(bytes),
            Some(0x507) => leave("2ERR_QP", bytes, Transition::ToError),
            Some(0x50a) => leave("2RST_QP", bytes, Transition::ToReset),
            other => {
                let sentence = format!("command {:#x} changes no object that is known", other.unwrap_or(0));
                Err(Failure::new(Status::BadOperation, sentence))
            }
        }
    }
}

/// A command with a queue pair context, and its queue pair.
fn with_context(command: &'static str, bytes: &[u8]) -> Result<(Input, u32), Failure> {
    let mut input = Input::of(command, bytes, 0x110)?;
    let qpn = input.number(0x8 * 8 + 8, 24);
    Ok((input, qpn))
}

fn to_init(bytes: &[u8]) -> Result<Change, Failure> {
    let (mut input, qpn) = with_context("RST2INIT_QP", bytes)?;
    input.only("pm_state (path migration; 3 is none)", CONTEXT + 19, 2, 3)?;
    input.only("pkey_index", PATH + 16, 16, 0)?;
    input.only("vhca_port_num", PATH + 0x24 * 8 + 8, 8, 1)?;
    let atomics = CONTEXT + 0x90 * 8;
    let mode = input.number(atomics + 12, 4);
    let access = Access {
        local_write: true,
        remote_read: input.take(atomics + 16, 1) == 1,
        remote_write: input.take(atomics + 17, 1) == 1,
        remote_atomic: input.take(atomics + 18, 1) == 1,
        relaxed_ordering: false,
    };
    input.need(!access.remote_atomic || mode == 3, || {
        format!("atomic_mode is {mode}, and atomics of 4 and 8 bytes need 3")
    })?;
    input.finish()?;
    Ok(Change { qpn, to: Transition::ToInit { access } })
}

fn to_receive(bytes: &[u8]) -> Result<Change, Failure> {
    let (mut input, qpn) = with_context("INIT2RTR_QP", bytes)?;
    let mtu = input.number(CONTEXT + 0x08 * 8, 3);
    input.need((1..=5).contains(&mtu), || format!("mtu is {mtu}, and must be 1 (256 bytes) to 5 (4096)"))?;
    let log_max_message = input.number(CONTEXT + 0x08 * 8 + 3, 5) as u8;
    let remote_qpn = input.number(CONTEXT + 0x14 * 8 + 8, 24);
    let log_max_inbound_reads = input.number(CONTEXT + 0x90 * 8 + 8, 3) as u8;
    let min_rnr_timer = input.number(CONTEXT + 0x94 * 8 + 3, 5) as u8;
    let receive_psn = input.number(CONTEXT + 0x94 * 8 + 8, 24);
    input.only("vhca_port_num", PATH + 0x24 * 8 + 8, 8, 1)?;
    let address = address(&mut input)?;
    input.finish()?;
    let to = Transition::ToRtr {
        remote_qpn,
        receive_psn,
        mtu: 128 << mtu,
        address,
        log_max_inbound_reads,
        log_max_message,
        min_rnr_timer,
    };
    Ok(Change { qpn, to })
}

/// A path of InfiniBand has a local identifier, and may have a global route; one of Ethernet has a global route and a
/// MAC address, and fields of its own.
fn address(input: &mut Input) -> Result<Address, Failure> {
    let routed = input.take(PATH + 0x04 * 8 + 8, 1) == 1;
    let lid = input.number(PATH + 0x04 * 8 + 16, 16) as u16;
    input.only("src_addr_index", PATH + 0x08 * 8 + 8, 8, 0)?;
    let hop_limit = input.number(PATH + 0x08 * 8 + 24, 8);
    let traffic_class = input.number(PATH + 0x0c * 8 + 4, 8);
    let gid: [u8; 16] = input.bytes(PATH + 0x10 * 8);
    let service_level = input.number(PATH + 0x24 * 8 + 4, 4);
    let dscp = input.number(PATH + 0x20 * 8 + 10, 6);
    let udp_source = input.number(PATH + 0x20 * 8 + 16, 16);
    let priority = input.number(PATH + 0x24 * 8 + 1, 3);
    let mac = input.take(PATH + 0x24 * 8 + 16, 48);
    if lid != 0 {
        let ethernet = dscp | udp_source | priority;
        input.need(ethernet == 0 && mac == 0, || {
            "a path with a local identifier has fields that are Ethernet's alone".into()
        })?;
        let global = gid != [0; 16] || hop_limit != 0 || traffic_class != 0;
        input.need(routed || !global, || "a path has a global route, and grh is not set".into())?;
        return Ok(Address::Lid(lid));
    }
    input.need(gid != [0; 16], || {
        "a path has neither a local identifier (rlid) nor an address (rgid)".into()
    })?;
    input.need(mac != 0, || "a path of Ethernet has no MAC address (rmac)".into())?;
    input.need(hop_limit != 0, || {
        "a path of Ethernet has a hop limit of 0, and no packet would arrive".into()
    })?;
    input.need(dscp == traffic_class >> 2, || {
        format!("dscp is {dscp}, and the upper six bits of tclass are {}", traffic_class >> 2)
    })?;
    input.need(udp_source >= 0xc000, || {
        format!("udp_sport is {udp_source:#x}, and ports for this start at 0xc000")
    })?;
    input.need(!routed && service_level == 0, || "a path of Ethernet has InfiniBand's grh or sl".into())?;
    Ok(Address::Gid(gid))
}

fn to_send(bytes: &[u8]) -> Result<Change, Failure> {
    let (mut input, qpn) = with_context("RTR2RTS_QP", bytes)?;
    let word = CONTEXT + 0x70 * 8;
    // How often acknowledgements are asked for: the emulated NIC sends them all.
    input.take(word, 4);
    let log_max_outbound_reads = input.number(word + 8, 3) as u8;
    let retry_count = input.number(word + 13, 3) as u8;
    let rnr_retry = input.number(word + 16, 3) as u8;
    let send_psn = input.number(CONTEXT + 0x78 * 8 + 8, 24);
    let ack_timeout = input.number(PATH + 0x08 * 8, 5) as u8;
    input.finish()?;
    let to = Transition::ToRts { send_psn, log_max_outbound_reads, ack_timeout, retry_count, rnr_retry };
    Ok(Change { qpn, to })
}

fn leave(command: &'static str, bytes: &[u8], to: Transition) -> Result<Change, Failure> {
    let mut input = Input::of(command, bytes, 0x10)?;
    let qpn = input.number(0x8 * 8 + 8, 24);
    input.finish()?;
    Ok(Change { qpn, to })
}

#[cfg(test)]
mod tests {
    use super::super::create::tests::put;
    use super::*;

    fn made(length: usize, words: &[(usize, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; length];
        for (at, value) in words {
            put(&mut bytes, at * 8, 32, u64::from(*value));
        }
        bytes
    }

    fn init() -> Vec<u8> {
        made(
            0x110,
            &[(0, 0x0502_0000), (8, 0x1003), (0x18, 0x1800), (0x54, 0x0001_0000), (0xa8, 0x0003_e000)],
        )
    }

    fn receive() -> Vec<u8> {
        let words = [
            (0, 0x0503_0000),
            (8, 0x1003),
            (0x20, 0xbe00_0000),
            (0x2c, 0x1004),
            (0x34, 0x0007),
            (0x54, 0x0001_0000),
            (0xa8, 0x0080_0000),
            (0xac, 0x0c01_0203),
        ];
        made(0x110, &words)
    }

    fn ethernet() -> Vec<u8> {
        let mut bytes = receive();
        for (at, value) in [
            (0x34, 0),
            (0x38, 0x40),
            (0x3c, 0x0a80_0000),
            (0x48, 0xffff),
            (0x4c, 0x0a00_0001),
            (0x50, 0x002a_c001),
            (0x54, 0x3001_02a1),
            (0x58, 0xb2c3_d4e5),
        ] {
            put(&mut bytes, at * 8, 32, value);
        }
        bytes
    }

    fn send() -> Vec<u8> {
        made(
            0x110,
            &[(0, 0x0504_0000), (8, 0x1003), (0x38, 0xa000_0000), (0x88, 0x0087_c000), (0x90, 0x0001_0203)],
        )
    }

    #[test]
    fn transitions_are_read() {
        assert_eq!(
            Change::read(&init()),
            Ok(Change { qpn: 0x1003, to: Transition::ToInit { access: Access::ALL } })
        );
        let to = Transition::ToRtr {
            remote_qpn: 0x1004,
            receive_psn: 0x010203,
            mtu: 4096,
            address: Address::Lid(7),
            log_max_inbound_reads: 4,
            log_max_message: 30,
            min_rnr_timer: 12,
        };
        assert_eq!(Change::read(&receive()), Ok(Change { qpn: 0x1003, to }));
        let Change { to: Transition::ToRtr { address: Address::Gid(gid), .. }, .. } =
            Change::read(&ethernet()).unwrap()
        else {
            panic!("not by an address")
        };
        assert_eq!(gid[10..], [0xff, 0xff, 10, 0, 0, 1]);
        let to = Transition::ToRts {
            send_psn: 0x010203,
            log_max_outbound_reads: 4,
            ack_timeout: 20,
            retry_count: 7,
            rnr_retry: 6,
        };
        assert_eq!(Change::read(&send()), Ok(Change { qpn: 0x1003, to }));
        let reset = made(0x10, &[(0, 0x050a_0000), (8, 0x1003)]);
        assert_eq!(Change::read(&reset), Ok(Change { qpn: 0x1003, to: Transition::ToReset }));
        let error = made(0x10, &[(0, 0x0507_0000), (8, 0x1003)]);
        assert_eq!(Change::read(&error), Ok(Change { qpn: 0x1003, to: Transition::ToError }));
    }

    /// Every bit that is flipped either changes what is read or is refused, but for those that are known to be free.
    #[test]
    fn no_bit_is_passed_over() {
        let acknowledgements = 0x88 * 8..0x88 * 8 + 4;
        let service_level = 0x54 * 8 + 4..0x54 * 8 + 8;
        let (priority, mac) = (0x54 * 8 + 1..0x54 * 8 + 4, 0x54 * 8 + 16..0x5c * 8);
        let port = 0x50 * 8 + 18..0x50 * 8 + 32;
        let hops = 0x38 * 8 + 24..0x38 * 8 + 32;
        // Neither changes where the emulated fabric delivers.
        let class = 0x3c * 8 + 4 + 6..0x3c * 8 + 4 + 8;
        let grh = 0x34 * 8 + 8..0x34 * 8 + 9;
        for (good, free) in [
            (init(), vec![]),
            (receive(), vec![service_level, grh]),
            (ethernet(), vec![priority, mac, port, hops, class]),
            (send(), vec![acknowledgements]),
        ] {
            let read = Change::read(&good).unwrap();
            for bit in (0..16).chain(32..good.len() * 8) {
                if free.iter().any(|range| range.contains(&bit)) {
                    continue;
                }
                let mut bytes = good.clone();
                bytes[bit / 8] ^= 0x80 >> (bit % 8);
                assert_ne!(Change::read(&bytes).ok(), Some(read), "bit {bit} (byte {:#x})", bit / 8);
            }
        }
    }

    #[test]
    fn wrong_paths_have_their_sentence() {
        let sentence = |mut bytes: Vec<u8>, at: usize, width, value| {
            put(&mut bytes, at, width, value);
            Change::read(&bytes).unwrap_err().sentence
        };
        assert!(sentence(receive(), 0x34 * 8 + 16, 16, 0).contains("neither"));
        assert!(sentence(receive(), 0x50 * 8 + 16, 16, 0xc000).contains("Ethernet's alone"));
        assert!(sentence(receive(), 0x38 * 8 + 24, 8, 1).contains("grh is not set"));
        assert!(sentence(receive(), 0x20 * 8, 3, 6).contains("mtu is 6"));
        assert!(sentence(ethernet(), 0x50 * 8 + 16, 16, 0xbfff).contains("udp_sport"));
        assert!(sentence(ethernet(), 0x50 * 8 + 10, 6, 1).contains("dscp is 1"));
        assert!(sentence(ethernet(), 0x38 * 8 + 24, 8, 0).contains("hop limit"));
        assert!(sentence(init(), 0xa8 * 8 + 12, 4, 1).contains("atomic_mode is 1"));
    }
}
