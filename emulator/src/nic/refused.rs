//! Why a command was not carried out.

use super::description::State;

/// A command that a NIC refuses; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no such object.
    #[error(
        "there is no {what} {number:#x}; use the number that its creation returned, before it is destroyed"
    )]
    NoSuch {
        /// The kind of object.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// An object is used by others.
    #[error("{what} {number:#x} is in use by {user}; destroy that first")]
    InUse {
        /// The kind of object.
        what: &'static str,
        /// Its number.
        number: u32,
        /// The kind of object that uses it.
        user: &'static str,
    },
    /// A value is out of range.
    #[error("{what} is {found}; it must be {needed}")]
    Value {
        /// The parameter.
        what: &'static str,
        /// What was given.
        found: u64,
        /// What it may be.
        needed: &'static str,
    },
    /// A range does not lie in its memory.
    #[error("{what} needs {bytes} bytes at offset {offset} of memory of {length} bytes; register more")]
    Outside {
        /// What was to lie there.
        what: &'static str,
        /// Offset in bytes.
        offset: u64,
        /// Bytes that it takes.
        bytes: u64,
        /// Bytes that there are.
        length: u64,
    },
    /// A transition that this state does not have.
    #[error("queue pair {qpn:#x} is in state {from:?}, from which there is no transition to {to:?}")]
    Transition {
        /// The queue pair.
        qpn: u32,
        /// Its state.
        from: State,
        /// The state asked for.
        to: State,
    },
    /// The fabric has no place for the NIC, or its file cannot be used.
    #[error("the fabric between emulated NICs cannot be used: {0}")]
    Fabric(String),
}
