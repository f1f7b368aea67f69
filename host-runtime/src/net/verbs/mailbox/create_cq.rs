//! `CREATE_CQ`: a completion queue of 64-byte entries in memory of ours.

use super::field::{Field, Mailbox, TooLarge};

const CONTEXT: usize = 0x10;
const fn context(name: &'static str, word: usize, bit: u32, width: u32) -> Field {
    Field::new(name, word, bit, width).of(CONTEXT)
}

const RECORD_UMEM_VALID: Field = context("dbr_umem_valid", 0x0, 6, 1);
const COLLAPSED: Field = context("cc", 0x0, 11, 1);
const IGNORE_OVERRUN: Field = context("oi", 0x0, 14, 1);
const RECORD_UMEM: Field = context("dbr_umem_id", 0x4, 0, 32);
const LOG_SIZE: Field = context("log_cq_size", 0xc, 3, 5);
const UAR: Field = context("uar_page", 0xc, 8, 24);
const EQ: Field = context("c_eqn", 0x14, 24, 8);
const LOG_PAGE: Field = context("log_page_size", 0x18, 3, 5);
const RECORD: usize = CONTEXT + 0x38;
const UMEM_OFFSET: usize = 0x50;
const UMEM: Field = Field::new("cq_umem_id", 0x58, 0, 32);
const UMEM_VALID: Field = Field::new("cq_umem_valid", 0x5c, 0, 1);
const CQN: Field = Field::new("cqn", 0x8, 8, 24);

/// Makes a completion queue. Its buffer is to be filled with 0xff before.
#[derive(Clone, Copy, Debug)]
pub struct CreateCq {
    /// The event queue, from `mlx5dv_devx_query_eqn`.
    pub eqn: u32,
    /// A doorbell page, by which the queue would be armed.
    pub uar_page: u32,
    /// The number of entries, as a power of two.
    pub log_size: u32,
    /// The memory of the entries.
    pub umem: u32,
    /// Bytes from its start to the entries.
    pub umem_offset: u64,
    /// The page size of that memory as a power of two, at least 12.
    pub log_page_size: u32,
    /// The memory of the doorbell record.
    pub record_umem: u32,
    /// Bytes from its start to the record.
    pub record_offset: u64,
    /// Only entry 0 is written, the newest completion wins; overruns are then ignored, and the consumer's record is
    /// never read.
    pub collapsed: bool,
}

impl CreateCq {
    /// Bytes of the answer.
    pub const ANSWER: usize = 16;

    /// The command.
    ///
    /// # Errors
    /// A number that does not fit.
    pub const fn encode(&self) -> Result<[u8; 272], TooLarge> {
        Mailbox::<272>::command(0x400, 0)
            .flag(RECORD_UMEM_VALID, true)
            .flag(COLLAPSED, self.collapsed)
            .flag(IGNORE_OVERRUN, self.collapsed)
            .with(RECORD_UMEM, self.record_umem)
            .with(LOG_SIZE, self.log_size)
            .with(UAR, self.uar_page)
            .with(EQ, self.eqn)
            .with(LOG_PAGE, self.log_page_size.wrapping_sub(12))
            .wide(RECORD, self.record_offset)
            .wide(UMEM_OFFSET, self.umem_offset)
            .with(UMEM, self.umem)
            .flag(UMEM_VALID, true)
            .finish()
    }

    /// The queue's number in the answer.
    pub const fn number(answer: &[u8]) -> u32 {
        CQN.read(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::verbs::mailbox::golden;

    #[test]
    fn bytes_are_fixed() {
        let made = CreateCq {
            eqn: 0x12,
            uar_page: 0x345678,
            log_size: 9,
            umem: 0xa1a2a3a4,
            umem_offset: 0x1000,
            log_page_size: 16,
            record_umem: 0xb1b2b3b4,
            record_offset: 0x2040,
            collapsed: true,
        };
        golden(
            &made.encode().unwrap(),
            &[
                (0x00, 0x0400_0000),
                (0x10, 0x0212_0000),
                (0x14, 0xb1b2_b3b4),
                (0x1c, 0x0934_5678),
                (0x24, 0x0000_0012),
                (0x28, 0x0400_0000),
                (0x4c, 0x0000_2040),
                (0x54, 0x0000_1000),
                (0x58, 0xa1a2_a3a4),
                (0x5c, 0x8000_0000),
            ],
        );
        let plain = CreateCq { collapsed: false, ..made }.encode().unwrap();
        assert_eq!(plain[0x10..0x14], [0x02, 0, 0, 0]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let made = CreateCq {
            eqn: 0,
            uar_page: 0,
            log_size: 9,
            umem: 0,
            umem_offset: 0,
            log_page_size: 12,
            record_umem: 0,
            record_offset: 0,
            collapsed: false,
        };
        let field = |command: CreateCq| command.encode().unwrap_err().field;
        assert_eq!(field(CreateCq { eqn: 256, ..made }), "c_eqn");
        assert_eq!(field(CreateCq { uar_page: 1 << 24, ..made }), "uar_page");
        assert_eq!(field(CreateCq { log_size: 32, ..made }), "log_cq_size");
        assert_eq!(field(CreateCq { log_page_size: 11, ..made }), "log_page_size");
    }

    #[test]
    fn the_number_is_24_bits() {
        let mut answer = [0xff_u8; 16];
        answer[8..12].copy_from_slice(&[0xff, 0x01, 0x02, 0x03]);
        assert_eq!(CreateCq::number(&answer), 0x010203);
    }
}
