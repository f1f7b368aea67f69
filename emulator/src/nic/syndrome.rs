//! The codes that an error completion carries in byte 55.

/// What an error completion says (mlx5 programmer's reference: completion with error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Syndrome {
    /// A message is longer than allowed.
    LocalLength = 0x01,
    /// The work request cannot be understood or executed.
    LocalOperation = 0x02,
    /// A local key, its rights or its bounds do not allow the access.
    LocalProtection = 0x04,
    /// Flushed: an earlier work request, or the driver, put the queue pair into the error state.
    Flushed = 0x05,
    /// A memory window's bind failed.
    MemoryWindowBind = 0x06,
    /// The peer's answer makes no sense.
    BadResponse = 0x10,
    /// The responder could not reach its own memory.
    LocalAccess = 0x11,
    /// The peer does not take such a request.
    RemoteInvalidRequest = 0x12,
    /// A remote key, its rights or its bounds do not allow the access.
    RemoteAccess = 0x13,
    /// The peer could not carry out the request.
    RemoteOperation = 0x14,
    /// The peer does not answer.
    RetryExceeded = 0x15,
    /// The peer never had a receive.
    RnrRetryExceeded = 0x16,
    /// The peer gave up.
    RemoteAborted = 0x22,
}

impl Syndrome {
    /// Every one.
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
        Self::RetryExceeded,
        Self::RnrRetryExceeded,
        Self::RemoteAborted,
    ];

    /// The code's meaning, if it has one.
    pub fn of(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&syndrome| syndrome as u8 == code)
    }
}
