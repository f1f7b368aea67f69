//! `CREATE_QP`: a reliable connected queue pair that sends only, with its queue in memory of ours.

use super::field::{Field, Mailbox, TooLarge};
use super::qpc;

const UMEM_OFFSET: usize = 0x100;
const UMEM: Field = Field::new("wq_umem_id", 0x108, 0, 32);
const UMEM_VALID: Field = Field::new("wq_umem_valid", 0x10c, 0, 1);

/// `st`: reliable connected.
const RELIABLE: u32 = 0;
/// `pm_state`: path migration is not in use.
const MIGRATED: u32 = 3;
/// `rq_type`: no receive queue.
const NO_RECEIVES: u32 = 3;

/// Makes a queue pair, in state reset.
#[derive(Clone, Copy, Debug)]
pub struct CreateQp {
    /// The protection domain's number.
    pub pd: u32,
    /// The number of 64-byte blocks of the send queue, as a power of two up to 15.
    pub log_sq_size: u32,
    /// The doorbell page.
    pub uar_page: u32,
    /// What completion entries carry as user index.
    pub user_index: u32,
    /// Where sends complete.
    pub send_cqn: u32,
    /// Where receives would complete; there are none, yet the firmware wants a valid queue.
    pub receive_cqn: u32,
    /// The memory of the send queue.
    pub umem: u32,
    /// Bytes from its start to the queue.
    pub umem_offset: u64,
    /// The page size of that memory as a power of two, at least 12.
    pub log_page_size: u32,
    /// The memory of the doorbell record.
    pub record_umem: u32,
    /// Bytes from its start to the record.
    pub record_offset: u64,
}

impl CreateQp {
    /// Bytes of the answer.
    pub const ANSWER: usize = 16;

    /// The command.
    ///
    /// # Errors
    /// A number that does not fit.
    pub const fn encode(&self) -> Result<[u8; 272], TooLarge> {
        Mailbox::<{ qpc::COMMAND }>::command(0x500, 0)
            .with(qpc::SERVICE, RELIABLE)
            .with(qpc::MIGRATION, MIGRATED)
            .with(qpc::PD, self.pd)
            .with(qpc::LOG_SQ_SIZE, self.log_sq_size)
            .with(qpc::UAR, self.uar_page)
            .with(qpc::USER_INDEX, self.user_index)
            .with(qpc::LOG_PAGE, self.log_page_size.wrapping_sub(12))
            .with(qpc::SEND_CQ, self.send_cqn)
            .with(qpc::RECEIVE_CQ, self.receive_cqn)
            .wide(qpc::RECORD, self.record_offset)
            .with(qpc::RECEIVE_KIND, NO_RECEIVES)
            .flag(qpc::RECORD_UMEM_VALID, true)
            .with(qpc::RECORD_UMEM, self.record_umem)
            .wide(UMEM_OFFSET, self.umem_offset)
            .with(UMEM, self.umem)
            .flag(UMEM_VALID, true)
            .finish()
    }

    /// The queue pair's number in the answer.
    pub const fn number(answer: &[u8]) -> u32 {
        qpc::QPN.read(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::verbs::mailbox::golden;

    const MADE: CreateQp = CreateQp {
        pd: 0x00d1d2d3,
        log_sq_size: 9,
        uar_page: 0x345678,
        user_index: 0x00112233,
        send_cqn: 0x00c1c2c3,
        receive_cqn: 0x00c4c5c6,
        umem: 0xa1a2a3a4,
        umem_offset: 0x1_0000_0000,
        log_page_size: 16,
        record_umem: 0xb1b2b3b4,
        record_offset: 0x2008,
    };

    #[test]
    fn bytes_are_fixed() {
        golden(
            &MADE.encode().unwrap(),
            &[
                (0x00, 0x0500_0000),
                (0x18, 0x0000_1800),
                (0x1c, 0x00d1_d2d3),
                (0x20, 0x0000_4800),
                (0x24, 0x0034_5678),
                (0x28, 0x0011_2233),
                (0x2c, 0x0400_0000),
                (0x94, 0x00c1_c2c3),
                (0xb4, 0x00c4_c5c6),
                (0xbc, 0x0000_2008),
                (0xc4, 0x0300_0000),
                (0xe8, 0x1000_0000),
                (0xfc, 0xb1b2_b3b4),
                (0x100, 0x0000_0001),
                (0x108, 0xa1a2_a3a4),
                (0x10c, 0x8000_0000),
            ],
        );
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let field = |command: CreateQp| command.encode().unwrap_err().field;
        assert_eq!(field(CreateQp { pd: 1 << 24, ..MADE }), "pd");
        assert_eq!(field(CreateQp { log_sq_size: 16, ..MADE }), "log_sq_size");
        assert_eq!(field(CreateQp { user_index: 1 << 24, ..MADE }), "user_index");
        assert_eq!(field(CreateQp { log_page_size: 0, ..MADE }), "log_page_size");
    }
}
