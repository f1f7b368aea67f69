//! The queue pair context, which the commands of queue pairs carry at byte 0x18, and the primary address path in it.

use super::field::Field;

/// Bytes of a command that carries a queue pair context.
pub(super) const COMMAND: usize = 272;
const CONTEXT: usize = 0x18;
const PATH: usize = CONTEXT + 0x18;

/// The queue pair that a command is for.
pub(super) const QPN: Field = Field::new("qpn", 0x8, 8, 24);

const fn context(name: &'static str, word: usize, bit: u32, width: u32) -> Field {
    Field::new(name, word, bit, width).of(CONTEXT)
}

const fn path(name: &'static str, word: usize, bit: u32, width: u32) -> Field {
    Field::new(name, word, bit, width).of(PATH)
}

pub(super) const STATE: Field = context("state", 0x0, 0, 4);
pub(super) const SERVICE: Field = context("st", 0x0, 8, 8);
pub(super) const MIGRATION: Field = context("pm_state", 0x0, 19, 2);
pub(super) const PD: Field = context("pd", 0x4, 8, 24);
pub(super) const MTU: Field = context("mtu", 0x8, 0, 3);
pub(super) const LOG_MESSAGE: Field = context("log_msg_max", 0x8, 3, 5);
pub(super) const LOG_SQ_SIZE: Field = context("log_sq_size", 0x8, 17, 4);
pub(super) const UAR: Field = context("uar_page", 0xc, 8, 24);
pub(super) const USER_INDEX: Field = context("user_index", 0x10, 8, 24);
pub(super) const LOG_PAGE: Field = context("log_page_size", 0x14, 3, 5);
pub(super) const REMOTE_QPN: Field = context("remote_qpn", 0x14, 8, 24);
pub(super) const LOG_ACK_FREQUENCY: Field = context("log_ack_req_freq", 0x70, 0, 4);
pub(super) const LOG_READS_OUT: Field = context("log_sra_max", 0x70, 8, 3);
pub(super) const RETRIES: Field = context("retry_count", 0x70, 13, 3);
pub(super) const RNR_RETRIES: Field = context("rnr_retry", 0x70, 16, 3);
pub(super) const SEND_PSN: Field = context("next_send_psn", 0x78, 8, 24);
pub(super) const SEND_CQ: Field = context("cqn_snd", 0x7c, 8, 24);
pub(super) const LOG_READS_IN: Field = context("log_rra_max", 0x90, 8, 3);
pub(super) const ATOMIC_MODE: Field = context("atomic_mode", 0x90, 12, 4);
pub(super) const REMOTE_READ: Field = context("rre", 0x90, 16, 1);
pub(super) const REMOTE_WRITE: Field = context("rwe", 0x90, 17, 1);
pub(super) const REMOTE_ATOMIC: Field = context("rae", 0x90, 18, 1);
pub(super) const RNR_DELAY: Field = context("min_rnr_nak", 0x94, 3, 5);
pub(super) const RECEIVE_PSN: Field = context("next_rcv_psn", 0x94, 8, 24);
pub(super) const RECEIVE_CQ: Field = context("cqn_rcv", 0x9c, 8, 24);
/// The doorbell record's offset in its umem.
pub(super) const RECORD: usize = CONTEXT + 0xa0;
pub(super) const RECEIVE_KIND: Field = context("rq_type", 0xac, 5, 3);
pub(super) const HARDWARE_COUNTER: Field = context("hw_sq_wqebb_counter", 0xb4, 0, 16);
pub(super) const SOFTWARE_COUNTER: Field = context("sw_sq_wqebb_counter", 0xb4, 16, 16);
pub(super) const RECORD_UMEM_VALID: Field = context("dbr_umem_valid", 0xd0, 3, 1);
pub(super) const RECORD_UMEM: Field = context("dbr_umem_id", 0xe4, 0, 32);

pub(super) const PKEY_INDEX: Field = path("pkey_index", 0x0, 16, 16);
pub(super) const GLOBAL: Field = path("grh", 0x4, 8, 1);
pub(super) const REMOTE_LID: Field = path("rlid", 0x4, 16, 16);
pub(super) const ACK_TIMEOUT: Field = path("ack_timeout", 0x8, 0, 5);
pub(super) const SOURCE_INDEX: Field = path("src_addr_index", 0x8, 8, 8);
pub(super) const HOP_LIMIT: Field = path("hop_limit", 0x8, 24, 8);
pub(super) const TRAFFIC_CLASS: Field = path("tclass", 0xc, 4, 8);
/// The remote address: 16 bytes.
pub(super) const REMOTE_GID: usize = PATH + 0x10;
pub(super) const DSCP: Field = path("dscp", 0x20, 10, 6);
pub(super) const UDP_SOURCE: Field = path("udp_sport", 0x20, 16, 16);
pub(super) const ETH_PRIORITY: Field = path("eth_prio", 0x24, 1, 3);
pub(super) const SERVICE_LEVEL: Field = path("sl", 0x24, 4, 4);
pub(super) const PORT: Field = path("vhca_port_num", 0x24, 8, 8);
pub(super) const REMOTE_MAC_HIGH: Field = path("rmac_47_32", 0x24, 16, 16);
pub(super) const REMOTE_MAC_LOW: Field = path("rmac_31_0", 0x28, 0, 32);
