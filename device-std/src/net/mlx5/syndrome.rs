//! Why a work request failed, as its completion says.

use core::fmt;

/// The syndrome of an error completion (InfiniBand's completion status, as mlx5 numbers it).
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// Local length error.
    LocalLength = 0x01,
    /// Local queue pair operation error.
    LocalOperation = 0x02,
    /// Local protection error.
    LocalProtection = 0x04,
    /// Flushed: an earlier request of this queue pair failed.
    Flushed = 0x05,
    /// Memory window bind error.
    MemoryWindowBind = 0x06,
    /// Bad response.
    BadResponse = 0x10,
    /// Local access error.
    LocalAccess = 0x11,
    /// Remote invalid request.
    RemoteInvalidRequest = 0x12,
    /// Remote access error.
    RemoteAccess = 0x13,
    /// Remote operation error.
    RemoteOperation = 0x14,
    /// Transport retry counter exceeded.
    RetriesExceeded = 0x15,
    /// Receiver-not-ready retry counter exceeded.
    ReceiverNotReady = 0x16,
    /// Remote aborted.
    RemoteAborted = 0x22,
}

impl Syndrome {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::LocalLength,
        Self::LocalOperation,
        Self::LocalProtection,
        Self::Flushed,
        Self::MemoryWindowBind,
        Self::BadResponse,
        Self::LocalAccess,
        Self::RemoteInvalidRequest,
        Self::RemoteAccess,
        Self::RemoteOperation,
        Self::RetriesExceeded,
        Self::ReceiverNotReady,
        Self::RemoteAborted,
    ];

    /// The syndrome with this code, if it is known.
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

    /// What happened.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::LocalLength => "the request is longer than a message may be, or than its local buffer",
            Self::LocalOperation => "the NIC could not make sense of the request",
            Self::LocalProtection => "the request's local buffer is not memory that its lkey covers",
            Self::Flushed => {
                "an earlier request of the same queue pair failed, and this one was not carried out"
            }
            Self::MemoryWindowBind => "a memory window could not be bound",
            Self::BadResponse => "the peer's NIC answered with something that fits no request",
            Self::LocalAccess => "the NIC could not write what came back into local memory",
            Self::RemoteInvalidRequest => "the peer's NIC refused the kind or the length of the request",
            Self::RemoteAccess => {
                "the peer's memory is not what the rkey covers, or may not be used in this way"
            }
            Self::RemoteOperation => "the peer's NIC could not carry the request out",
            Self::RetriesExceeded => "the peer's NIC did not answer, however often the request was sent",
            Self::ReceiverNotReady => "the peer's NIC said too often that it is not ready to receive",
            Self::RemoteAborted => "the peer's NIC gave the request up",
        }
    }

    /// What to look at.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::LocalLength => {
                "compare the operation's size with the message limit of the queue pair (1 GiB)"
            }
            Self::LocalOperation => {
                "the bytes of the work request are wrong, or were read before they were written: this is a fault of \
                 oxshmem, please report it with the error record"
            }
            Self::LocalProtection => {
                "check that the source or destination lies in symmetric or registered memory that was not freed"
            }
            Self::Flushed => {
                "look for the first failure of this queue pair: in the asynchronous events, and by the state that the \
                 queue pair is asked for"
            }
            Self::MemoryWindowBind => "oxshmem binds none: another program uses this queue pair",
            Self::BadResponse => "check that both sides run firmware that knows each other, and the cabling",
            Self::LocalAccess => {
                "check that the destination was not freed while an operation into it was under way"
            }
            Self::RemoteInvalidRequest => {
                "check that the peer's queue pair allows remote reads and atomics, and that atomics are aligned"
            }
            Self::RemoteAccess => {
                "check the offset and the length against the peer's heap, and that the peer has not freed it"
            }
            Self::RemoteOperation => "look at the peer's kernel log: its NIC has had a fault of its own",
            Self::RetriesExceeded => {
                "the peer has died, its link is down, or a switch drops packets: check the peer's process, `ibstat` on \
                 both hosts, and on RoCE the flow control of the traffic class"
            }
            Self::ReceiverNotReady => {
                "oxshmem posts nothing that needs a receive: the peer's queue pair is not its own"
            }
            Self::RemoteAborted => "the peer has closed its queue pair: look at why it ended",
        }
    }

    /// What a vendor syndrome means, if it is one of the few that are published.
    pub const fn vendor_meaning(vendor: u8) -> Option<&'static str> {
        match vendor {
            0x93 => Some("a page of memory that is registered on demand could not be brought in"),
            _ => None,
        }
    }
}

/// The code, what happened and what to look at, as one sentence.
impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (syndrome {:#04x}): {}", self.meaning(), *self as u8, self.advice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back_and_nothing_else_does() {
        let known: Vec<Syndrome> = (0..=u8::MAX).filter_map(Syndrome::from_code).collect();
        assert_eq!(known, Syndrome::ALL);
    }

    #[test]
    fn each_says_what_happened_and_what_to_look_at() {
        for syndrome in Syndrome::ALL {
            let text = syndrome.to_string();
            assert!(text.contains(&format!("{:#04x}", syndrome as u8)), "{text}");
            let same = Syndrome::ALL.iter().filter(|other| other.meaning() == syndrome.meaning()).count();
            assert_eq!(same, 1, "{text}");
        }
        assert!(Syndrome::vendor_meaning(0x93).is_some() && Syndrome::vendor_meaning(0).is_none());
    }
}
