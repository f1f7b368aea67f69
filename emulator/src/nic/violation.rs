//! What a driver did wrong on the data path, in words.

use super::syndrome::Syndrome;
use std::fmt;

/// One mistake. Those of work requests also move the queue pair to the error state, as hardware would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The queue pair; 0 if it is about none.
    pub qpn: u32,
    /// Index of the work request's first WQEBB, if it is about one.
    pub index: Option<u16>,
    /// The work request's bytes, or the doorbell's.
    pub bytes: Vec<u8>,
    /// Which rule was broken.
    pub rule: Rule,
    /// What was found, and what should have been.
    pub sentence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue pair {:#x}", self.qpn)?;
        if let Some(index) = self.index {
            write!(f, ", WQE {index:#06x}")?;
        }
        write!(f, ": {}", self.sentence)?;
        for (at, word) in self.bytes.chunks(4).enumerate() {
            let gap = if at == 0 { "; bytes " } else { " " };
            f.write_str(gap)?;
            for byte in word {
                write!(f, "{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// The rules that a driver can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Operation code unknown, or not for this queue pair.
    Opcode,
    /// Operation modifier not that of the operation.
    OpMod,
    /// Index not that of the WQEBB.
    Index,
    /// A WQEBB that was not written since the one before there was consumed.
    Stale,
    /// Queue pair number of another.
    QueuePair,
    /// Number of 16-byte units not that of the operation, or beyond what is posted.
    Size,
    /// A reserved bit is set.
    Reserved,
    /// A field of control that this operation does not have.
    Control,
    /// An inline segment's length does not fit its work request.
    Inline,
    /// A message longer than allowed.
    Length,
    /// A local key that does not exist, is of another domain, or does not allow it.
    LocalKey,
    /// Bytes outside of a local region.
    LocalBounds,
    /// The place for an atomic's result has not the operand's size.
    Atomic,
    /// A remote key that does not exist, is of another domain, or does not allow it.
    RemoteKey,
    /// Bytes outside of a remote region.
    RemoteBounds,
    /// A request that the queue pair's rights, or its limits, do not allow.
    RemoteRequest,
    /// A doorbell before ready-to-send.
    DoorbellState,
    /// A doorbell for no queue pair, on another's page, or at no doorbell register.
    DoorbellPlace,
    /// A doorbell ahead of its record, or behind an earlier one.
    DoorbellIndex,
    /// A record that went back.
    RecordBackwards,
    /// A record further ahead than the queue is deep.
    Depth,
    /// A record that was moved and no doorbell came.
    NeverRung,
    /// A completion came to a full queue.
    Overrun,
    /// A consumer's index that is ahead of the completions.
    Consumer,
    /// A completion queue's entry that was not prepared before its first use.
    CompletionBuffer,
}

impl Rule {
    /// What a completion says of a work request that breaks it.
    pub fn syndrome(self) -> Syndrome {
        match self {
            Self::Length => Syndrome::LocalLength,
            Self::LocalKey | Self::LocalBounds => Syndrome::LocalProtection,
            Self::RemoteKey | Self::RemoteBounds => Syndrome::RemoteAccess,
            Self::RemoteRequest => Syndrome::RemoteInvalidRequest,
            _ => Syndrome::LocalOperation,
        }
    }
}
