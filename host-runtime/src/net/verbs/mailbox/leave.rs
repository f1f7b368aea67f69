//! `2RST_QP` and `2ERR_QP`: a queue pair leaves whatever state it is in.

use super::field::{Mailbox, TooLarge};
use super::qpc;

/// Takes a queue pair to reset: it forgets what it was doing.
#[derive(Clone, Copy, Debug)]
pub struct ToReset {
    /// The queue pair.
    pub qpn: u32,
}

impl ToReset {
    /// The command.
    ///
    /// # Errors
    /// A number that does not fit.
    pub const fn encode(&self) -> Result<[u8; 16], TooLarge> {
        Mailbox::<16>::command(0x50a, 0).with(qpc::QPN, self.qpn).finish()
    }
}

/// Takes a queue pair to the error state: what is posted completes as flushed.
#[derive(Clone, Copy, Debug)]
pub struct ToError {
    /// The queue pair.
    pub qpn: u32,
}

impl ToError {
    /// The command.
    ///
    /// # Errors
    /// A number that does not fit.
    pub const fn encode(&self) -> Result<[u8; 16], TooLarge> {
        Mailbox::<16>::command(0x507, 0).with(qpc::QPN, self.qpn).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::verbs::mailbox::golden;

    #[test]
    fn bytes_are_fixed() {
        golden(&ToReset { qpn: 0xa1a2a3 }.encode().unwrap(), &[(0, 0x050a_0000), (8, 0x00a1_a2a3)]);
        golden(&ToError { qpn: 0xa1a2a3 }.encode().unwrap(), &[(0, 0x0507_0000), (8, 0x00a1_a2a3)]);
        assert!(ToReset { qpn: 1 << 24 }.encode().is_err() && ToError { qpn: 1 << 24 }.encode().is_err());
    }
}
