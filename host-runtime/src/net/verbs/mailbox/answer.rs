//! What every answer starts with.

/// The status and syndrome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 0, or why the firmware did not do it.
    pub status: u8,
    /// The firmware's own number for the check that failed; vendors' support knows it.
    pub syndrome: u32,
}

impl Answer {
    /// Reads it; an answer that is too short counts as done by a firmware that said nothing.
    pub const fn read(bytes: &[u8]) -> Self {
        if bytes.len() < 8 {
            return Answer { status: 0, syndrome: 0 };
        }
        Answer { status: bytes[0], syndrome: u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) }
    }

    /// What the status means (programmer's reference, "command delivery status").
    pub const fn meaning(self) -> &'static str {
        match self.status {
            0x00 => "done",
            0x01 => "internal error",
            0x02 => "operation not supported",
            0x03 => "bad parameter",
            0x04 => "bad system state",
            0x05 => "bad resource",
            0x06 => "resource busy",
            0x08 => "resource limit exceeded",
            0x09 => "bad resource state",
            0x0a => "bad index",
            0x0f => "no resources",
            0x10 => "bad queue pair state",
            0x30 => "bad packet",
            0x40 => "bad size",
            0x50 => "bad input length",
            0x51 => "bad output length",
            _ => "unknown status",
        }
    }
}
