//! What can go wrong with a NIC, one variant per cause. Each sentence says what to do.

use super::mailbox::TooLarge;
use std::io;

/// What went wrong with a NIC.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerbsError {
    /// A library is not installed. Fault: the machine.
    #[error(
        "{library} cannot be loaded: {why}; install rdma-core's libraries (Debian: libibverbs1 ibverbs-providers, Fedora and RHEL: libibverbs, which has both)"
    )]
    NoLibrary {
        /// The file's name.
        library: &'static str,
        /// What the loader says.
        why: String,
    },
    /// A library is there and lacks a function. Fault: the machine.
    #[error("{library} has no {function}: it is older than needed; install rdma-core 25 or newer")]
    OldLibrary {
        /// The file's name.
        library: &'static str,
        /// What it lacks.
        function: &'static str,
    },
    /// A function is asked for that only newer libraries have. Fault: the machine.
    #[error("{what} needs rdma-core {since} or newer, whose libmlx5 has {function}; update it")]
    Newer {
        /// What was to be done.
        what: &'static str,
        /// By which function.
        function: &'static str,
        /// The version that brought it.
        since: u32,
    },
    /// There is no such NIC. Fault: the caller's environment.
    #[error("there is no mlx5 NIC {wanted}: this machine has {found}")]
    NoDevice {
        /// The name that was asked for.
        wanted: String,
        /// What there is.
        found: String,
    },
    /// The NIC cannot be opened. Fault: the machine.
    #[error("NIC {device} cannot be opened with access to its firmware (DEVX): {source}; {remedy}")]
    NotOpened {
        /// The NIC.
        device: String,
        /// What the system says.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// The NIC lacks something. Fault: the machine.
    #[error("NIC {device} cannot be used by GPUs: {missing}; {remedy}")]
    Missing {
        /// The NIC.
        device: String,
        /// What it lacks.
        missing: String,
        /// What to change.
        remedy: &'static str,
    },
    /// A call of the libraries failed.
    #[error("NIC {device}: {call} failed: {source}{remedy}")]
    Call {
        /// The NIC.
        device: String,
        /// The function.
        call: &'static str,
        /// What the system says.
        source: io::Error,
        /// What to do, behind a semicolon; empty where nothing is known.
        remedy: &'static str,
    },
    /// The firmware refused a command.
    #[error(
        "NIC {device}: its firmware refuses {command}: {meaning} (status {status:#x}, syndrome {syndrome:#010x}, errno {errno})"
    )]
    Firmware {
        /// The NIC.
        device: String,
        /// The command.
        command: &'static str,
        /// What the status means.
        meaning: &'static str,
        /// The status.
        status: u8,
        /// The firmware's number for the check that failed.
        syndrome: u32,
        /// What the driver made of it.
        errno: i32,
    },
    /// A number does not fit a command. Fault: the caller.
    #[error("{command} cannot be made: {source}")]
    TooLarge {
        /// The command.
        command: &'static str,
        /// Which number.
        source: TooLarge,
    },
    /// Memory does not fit what is to lie in it. Fault: the caller.
    #[error("{what} needs {needed} bytes from {offset} on, and its memory has {length}")]
    Memory {
        /// What is to lie in it.
        what: &'static str,
        /// How many bytes it has.
        needed: u64,
        /// Where it starts.
        offset: u64,
        /// The memory's length in bytes.
        length: u64,
    },
}

/// The result of every call here.
pub type Result<T> = std::result::Result<T, VerbsError>;
