//! `QUERY_HCA_CAP`: what the device can do.

use super::field::{Field, Mailbox, TooLarge};

/// The capabilities follow the answer's 16 bytes.
const CAPABILITIES: usize = 0x10;
/// `op_mod` bit 0: what is set now, not what could be.
const CURRENT: u16 = 1;

const fn capability(name: &'static str, word: usize, bit: u32, width: u32) -> Field {
    Field::new(name, word, bit, width).of(CAPABILITIES)
}

const LOG_QP_SIZE: Field = capability("log_max_qp_sz", 0x10, 8, 8);
const LOG_QPS: Field = capability("log_max_qp", 0x10, 27, 5);
const LOG_CQ_SIZE: Field = capability("log_max_cq_sz", 0x18, 8, 8);
const LOG_READS_OUT: Field = capability("log_max_ra_req_qp", 0x28, 10, 6);
const LOG_READS_IN: Field = capability("log_max_ra_res_qp", 0x28, 26, 6);
const LOG_MESSAGE: Field = capability("log_max_msg", 0x38, 3, 5);
const CQE_VERSION: Field = capability("cqe_version", 0x3c, 28, 4);
const ATOMIC: Field = capability("atomic", 0x40, 30, 1);
const LOG_DOORBELL: Field = capability("log_bf_reg_size", 0x4c, 11, 5);

const ENDIANNESS: Field = capability("atomic_req_8B_endianness_mode", 0x8, 0, 2);
const OPERATIONS: Field = capability("atomic_operations", 0x10, 16, 16);
const SIZES: Field = capability("atomic_size_qp", 0x14, 16, 16);

/// Bytes of the answer.
pub const ANSWER: usize = CAPABILITIES + 4096;

const fn ask(kind: u16) -> Result<[u8; 16], TooLarge> {
    Mailbox::<16>::command(0x100, kind << 1 | CURRENT).finish()
}

/// What the device can do in general.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneralCapabilities {
    /// The deepest queue, in 64-byte blocks, as a power of two.
    pub log_qp_size: u32,
    /// How many queue pairs, as a power of two.
    pub log_qps: u32,
    /// The longest completion queue, as a power of two.
    pub log_cq_size: u32,
    /// Reads and atomics that a queue pair may have in progress, as a power of two.
    pub log_reads_out: u32,
    /// Reads and atomics that a peer may have in progress here, as a power of two.
    pub log_reads_in: u32,
    /// The longest message, as a power of two.
    pub log_message: u32,
    /// The layout of completion entries.
    pub cqe_version: u32,
    /// Whether there are atomics at all.
    pub atomic: bool,
    /// The size of a doorbell register, as a power of two.
    pub log_doorbell: u32,
}

impl GeneralCapabilities {
    /// The command.
    ///
    /// # Errors
    /// None for this command.
    pub const fn ask() -> Result<[u8; 16], TooLarge> {
        ask(0)
    }

    /// What the answer says.
    pub const fn read(answer: &[u8]) -> Self {
        GeneralCapabilities {
            log_qp_size: LOG_QP_SIZE.read(answer),
            log_qps: LOG_QPS.read(answer),
            log_cq_size: LOG_CQ_SIZE.read(answer),
            log_reads_out: LOG_READS_OUT.read(answer),
            log_reads_in: LOG_READS_IN.read(answer),
            log_message: LOG_MESSAGE.read(answer),
            cqe_version: CQE_VERSION.read(answer),
            atomic: ATOMIC.read(answer) == 1,
            log_doorbell: LOG_DOORBELL.read(answer),
        }
    }
}

/// Which atomics the device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicCapabilities {
    /// 8-byte operands are in the host's order.
    pub host_order: bool,
    /// Compare-and-swap 1, fetch-and-add 2, and both with masks, 4 and 8: the sum of those that it can.
    pub operations: u32,
    /// The sum of the operand sizes that it can, in bytes.
    pub sizes: u32,
}

impl AtomicCapabilities {
    /// Every operation that [`operations`](Self::operations) can name.
    pub const ALL_OPERATIONS: u32 = 0xf;

    /// The command.
    ///
    /// # Errors
    /// None for this command.
    pub const fn ask() -> Result<[u8; 16], TooLarge> {
        ask(3)
    }

    /// What the answer says.
    pub const fn read(answer: &[u8]) -> Self {
        AtomicCapabilities {
            host_order: ENDIANNESS.read(answer) == 1,
            operations: OPERATIONS.read(answer),
            sizes: SIZES.read(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::verbs::mailbox::golden;

    #[test]
    fn bytes_are_fixed() {
        golden(&GeneralCapabilities::ask().unwrap(), &[(0, 0x0100_0000), (4, 1)]);
        golden(&AtomicCapabilities::ask().unwrap(), &[(0, 0x0100_0000), (4, 7)]);
    }

    #[test]
    fn capabilities_are_read_from_their_places() {
        let mut answer = vec![0_u8; ANSWER];
        let mut word = |at: usize, value: u32| answer[16 + at..20 + at].copy_from_slice(&value.to_be_bytes());
        word(0x10, 0x000f_0012);
        word(0x18, 0x0016_0000);
        word(0x28, 0x0004_0005);
        word(0x38, 0x1e00_0000);
        word(0x3c, 0x0000_0001);
        word(0x40, 0x0000_0002);
        word(0x4c, 0x0009_0000);
        let read = GeneralCapabilities::read(&answer);
        assert_eq!((read.log_qp_size, read.log_qps, read.log_cq_size), (15, 18, 22));
        assert_eq!((read.log_reads_out, read.log_reads_in, read.log_message), (4, 5, 30));
        assert_eq!((read.cqe_version, read.atomic, read.log_doorbell), (1, true, 9));

        let mut answer = vec![0_u8; ANSWER];
        let mut word = |at: usize, value: u32| answer[16 + at..20 + at].copy_from_slice(&value.to_be_bytes());
        word(0x8, 0x4000_0000);
        word(0x10, 0x0000_000f);
        word(0x14, 0x0000_000c);
        let read = AtomicCapabilities::read(&answer);
        assert_eq!(read, AtomicCapabilities { host_order: true, operations: 0xf, sizes: 12 });
    }
}
