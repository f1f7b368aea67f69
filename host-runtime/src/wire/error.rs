//! What can go wrong on a connection, by what the caller can do about it.

use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// Why a connection, a message or a descriptor did not come or go.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// The connection is over: the other side, or a [`Closer`](super::Closer) of this side, ended it.
    #[error("the connection was closed")]
    Closed,
    /// No message began within the caller's patience. The connection is as good as before.
    #[error("nothing came for {waited:.1?}")]
    Silent {
        /// The patience.
        waited: Duration,
    },
    /// Something began and was not complete in time.
    #[error("a message was not complete after {limit:.1?}")]
    Slow {
        /// The time that it had.
        limit: Duration,
    },
    /// The two sides did not become partners.
    #[error("{why}")]
    Refused {
        /// What the other side is or did.
        why: &'static str,
    },
    /// A message is longer than any may be.
    #[error("a message of {length} bytes is longer than the {limit} bytes that one may have")]
    TooLong {
        /// Its length.
        length: u64,
        /// The most there may be.
        limit: usize,
    },
    /// A message is not the one that the other side sent next on this connection.
    #[error("a message was changed, repeated, left out or made by somebody else")]
    Forged,
    /// A descriptor cannot take this way.
    #[error("a descriptor can be passed over a Unix socket only, and this connection is TCP")]
    NotUnix,
    /// A message for one descriptor carried another number of them.
    #[error("one descriptor was expected and {came} came")]
    Descriptors {
        /// How many came, before the system cut them off.
        came: usize,
    },
    /// The system refused something else.
    #[error("the connection failed: {0}")]
    Io(io::Error),
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::NotConnected => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

impl From<Errno> for WireError {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}
