//! `QUERY_QP`: where a queue pair stands; after an error, how far the hardware came.

use super::field::{Mailbox, TooLarge};
use super::qpc;

/// Asks for a queue pair's context.
#[derive(Clone, Copy, Debug)]
pub struct QueryQp {
    /// The queue pair.
    pub qpn: u32,
}

/// Where a queue pair stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Reset 0, init 1, ready to receive 2, ready to send 3, send queue error 4, drained 5, error 6.
    pub state: u32,
    /// The 16-bit index of the first block that the hardware has not done.
    pub hardware: u16,
    /// The 16-bit index up to which blocks were posted, as the hardware has read it.
    pub software: u16,
}

impl QueryQp {
    /// Bytes of the answer.
    pub const ANSWER: usize = qpc::COMMAND;

    /// The command.
    ///
    /// # Errors
    /// A number that does not fit.
    pub const fn encode(&self) -> Result<[u8; 16], TooLarge> {
        Mailbox::<16>::command(0x50b, 0).with(qpc::QPN, self.qpn).finish()
    }

    /// What the answer says.
    pub const fn read(answer: &[u8]) -> Standing {
        Standing {
            state: qpc::STATE.read(answer),
            hardware: qpc::HARDWARE_COUNTER.read(answer) as u16,
            software: qpc::SOFTWARE_COUNTER.read(answer) as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::verbs::mailbox::golden;

    #[test]
    fn bytes_are_fixed() {
        golden(&QueryQp { qpn: 0xa1a2a3 }.encode().unwrap(), &[(0, 0x050b_0000), (8, 0x00a1_a2a3)]);
    }

    #[test]
    fn state_and_counters_are_read() {
        let mut answer = [0_u8; QueryQp::ANSWER];
        answer[0x18] = 0x6f;
        answer[0xcc..0xd0].copy_from_slice(&[0x12, 0x34, 0xab, 0xcd]);
        assert_eq!(QueryQp::read(&answer), Standing { state: 6, hardware: 0x1234, software: 0xabcd });
    }
}
