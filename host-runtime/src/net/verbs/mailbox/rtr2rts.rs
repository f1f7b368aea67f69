//! `RTR2RTS_QP`: how it sends, and how long it tries.

use super::field::{Mailbox, TooLarge};
use super::qpc;

/// Takes a queue pair from "ready to receive" to "ready to send".
#[derive(Clone, Copy, Debug)]
pub struct Rtr2Rts {
    /// The queue pair.
    pub qpn: u32,
    /// The first packet number that it sends.
    pub send_psn: u32,
    /// How many of its reads and atomics may be in progress, as a power of two.
    pub log_reads: u32,
    /// How long it waits for an acknowledgement: 4.096 µs times two to this power; 0 waits for ever.
    pub ack_timeout: u32,
    /// How often it sends again after that, up to 7.
    pub retries: u32,
    /// How often it tries when the peer is not ready; 7 tries for ever.
    pub rnr_retries: u32,
}

impl Rtr2Rts {
    /// The command.
    ///
    /// # Errors
    /// A number that does not fit.
    pub const fn encode(&self) -> Result<[u8; 272], TooLarge> {
        Mailbox::<{ qpc::COMMAND }>::command(0x504, 0)
            .with(qpc::QPN, self.qpn)
            .with(qpc::LOG_ACK_FREQUENCY, 0)
            .with(qpc::LOG_READS_OUT, self.log_reads)
            .with(qpc::RETRIES, self.retries)
            .with(qpc::RNR_RETRIES, self.rnr_retries)
            .with(qpc::SEND_PSN, self.send_psn)
            .with(qpc::ACK_TIMEOUT, self.ack_timeout)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::verbs::mailbox::golden;

    const MADE: Rtr2Rts = Rtr2Rts {
        qpn: 0x00a1a2a3,
        send_psn: 0x00c1c2c3,
        log_reads: 4,
        ack_timeout: 20,
        retries: 7,
        rnr_retries: 6,
    };

    #[test]
    fn bytes_are_fixed() {
        golden(
            &MADE.encode().unwrap(),
            &[
                (0x00, 0x0504_0000),
                (0x08, 0x00a1_a2a3),
                (0x38, 0xa000_0000),
                (0x88, 0x0087_c000),
                (0x90, 0x00c1_c2c3),
            ],
        );
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let field = |command: Rtr2Rts| command.encode().unwrap_err().field;
        assert_eq!(field(Rtr2Rts { ack_timeout: 32, ..MADE }), "ack_timeout");
        assert_eq!(field(Rtr2Rts { retries: 8, ..MADE }), "retry_count");
        assert_eq!(field(Rtr2Rts { rnr_retries: 8, ..MADE }), "rnr_retry");
    }
}
