//! `RST2INIT_QP`: what peers may do, and by which port.

use super::field::{Mailbox, TooLarge};
use super::qpc;

/// `atomic_mode`: up to 8 bytes, and 4-byte extended atomics.
const UP_TO_8_BYTES: u32 = 3;

/// Takes a queue pair from reset to init. Peers may write, read and do atomics.
#[derive(Clone, Copy, Debug)]
pub struct Rst2Init {
    /// The queue pair.
    pub qpn: u32,
    /// The port, from 1.
    pub port: u32,
    /// The place of the partition key in the port's table (InfiniBand).
    pub pkey_index: u32,
}

impl Rst2Init {
    /// The command.
    ///
    /// # Errors
    /// A number that does not fit.
    pub const fn encode(&self) -> Result<[u8; 272], TooLarge> {
        Mailbox::<{ qpc::COMMAND }>::command(0x502, 0)
            .with(qpc::QPN, self.qpn)
            .with(qpc::MIGRATION, 3)
            .with(qpc::ATOMIC_MODE, UP_TO_8_BYTES)
            .flag(qpc::REMOTE_READ, true)
            .flag(qpc::REMOTE_WRITE, true)
            .flag(qpc::REMOTE_ATOMIC, true)
            .with(qpc::PORT, self.port)
            .with(qpc::PKEY_INDEX, self.pkey_index)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::verbs::mailbox::golden;

    #[test]
    fn bytes_are_fixed() {
        golden(
            &Rst2Init { qpn: 0x00a1a2a3, port: 2, pkey_index: 0x1234 }.encode().unwrap(),
            &[
                (0x00, 0x0502_0000),
                (0x08, 0x00a1_a2a3),
                (0x18, 0x0000_1800),
                (0x30, 0x0000_1234),
                (0x54, 0x0002_0000),
                (0xa8, 0x0003_e000),
            ],
        );
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let made = Rst2Init { qpn: 1, port: 1, pkey_index: 0 };
        assert_eq!(Rst2Init { port: 256, ..made }.encode().unwrap_err().field, "vhca_port_num");
        assert_eq!(Rst2Init { pkey_index: 1 << 16, ..made }.encode().unwrap_err().field, "pkey_index");
        assert_eq!(Rst2Init { qpn: 1 << 24, ..made }.encode().unwrap_err().field, "qpn");
    }
}
