//! What a work request asks for, in the fields of its control segment.

/// The operation.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// Does nothing; completes after what was posted before it.
    Nop = 0x00,
    /// Writes the peer's memory.
    RdmaWrite = 0x08,
    /// Reads the peer's memory.
    RdmaRead = 0x10,
    /// Compare-and-swap of 8 bytes.
    AtomicCompareSwap = 0x11,
    /// Fetch-and-add of 8 bytes.
    AtomicFetchAdd = 0x12,
    /// Compare-and-swap under masks; [`opmod`] says of how many bytes.
    AtomicMaskedCompareSwap = 0x14,
    /// Fetch-and-add of fields; [`opmod`] says of how many bytes.
    AtomicMaskedFetchAdd = 0x15,
    /// The NIC reads local memory, and drops what it read: what it wrote there before has then arrived.
    Dump = 0x23,
}

impl Opcode {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Nop,
        Self::RdmaWrite,
        Self::RdmaRead,
        Self::AtomicCompareSwap,
        Self::AtomicFetchAdd,
        Self::AtomicMaskedCompareSwap,
        Self::AtomicMaskedFetchAdd,
        Self::Dump,
    ];

    /// The operation with this code, if it is one that this library posts.
    pub const fn from_code(code: u8) -> Option<Self> {
        let mut at = 0;
        while at < Self::ALL.len() {
            if Self::ALL[at] as u8 == code {
                return Some(Self::ALL[at]);
            }
            at += 1;
        }
        None
    }

    /// The name that OpenFabrics documents use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nop => "NOP",
            Self::RdmaWrite => "RDMA WRITE",
            Self::RdmaRead => "RDMA READ",
            Self::AtomicCompareSwap => "ATOMIC compare-and-swap",
            Self::AtomicFetchAdd => "ATOMIC fetch-and-add",
            Self::AtomicMaskedCompareSwap => "masked ATOMIC compare-and-swap",
            Self::AtomicMaskedFetchAdd => "masked ATOMIC fetch-and-add",
            Self::Dump => "DUMP",
        }
    }
}

/// The modifier of an operation: bits 31 to 24 of the control segment's first word.
pub mod opmod {
    /// Of all operations but the masked atomics.
    pub const NONE: u8 = 0;
    /// A masked atomic of 4 bytes.
    pub const MASKED_4_BYTES: u8 = 8;
    /// A masked atomic of 8 bytes.
    pub const MASKED_8_BYTES: u8 = 9;
}

/// What a work request waits for, of its own queue pair: bits 7 to 5 of the flags.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fence {
    /// Nothing.
    #[default]
    None = 0x00,
    /// Local registrations and invalidations.
    InitiatorSmall = 0x20,
    /// Every earlier read and atomic has delivered its result.
    Fence = 0x40,
    /// Every earlier request has completed.
    StrongOrdering = 0x60,
    /// As [`Fence`](Self::Fence), and the small one: what libmlx5 makes of `IBV_SEND_FENCE`.
    FenceAndSmall = 0x80,
}

/// When a work request writes a completion: bits 3 and 2 of the flags.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Completion {
    /// Only if it fails.
    #[default]
    OnError = 0x00,
    /// Only if it is the first to fail.
    OnFirstError = 0x04,
    /// Always.
    Always = 0x08,
    /// Always, and the completion queue's event is raised.
    AlwaysWithEvent = 0x0c,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back_and_nothing_else_does() {
        let known = (0..=u8::MAX).filter_map(Opcode::from_code).collect::<Vec<_>>();
        assert_eq!(known, Opcode::ALL);
        Opcode::ALL.iter().for_each(|&opcode| assert_eq!(Opcode::from_code(opcode as u8), Some(opcode)));
    }
}
