//! What is done with errors: made of a program's own, and followed to their root.

use super::Error;
use std::sync::Arc;

impl Error {
    /// Wraps an error of the program's own, or a message.
    ///
    /// ```
    /// let error = oxshmem::Error::other("the result is wrong");
    /// assert_eq!(error.to_string(), "the result is wrong");
    /// ```
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Other(Arc::from(error.into()))
    }

    /// What a PE is told of the error by which another one failed: poison, and what the PEs did not do together, is all
    /// PEs', whoever was the first to end of it; other trouble is one PE's.
    pub(crate) fn of_another_pe(pe: u32, cause: Self) -> Self {
        match cause {
            Self::Poisoned(_)
            | Self::GlobalExit { .. }
            | Self::ArgumentsDiffer { .. }
            | Self::CallsDiffer { .. }
            | Self::Absent { .. }
            | Self::Returned { .. }
            | Self::Missing { .. }
            | Self::ProcessesDiffer { .. } => cause,
            _ => Self::PeFailed { pe, cause: Box::new(cause) },
        }
    }

    /// Whether it is what a kernel left for all PEs.
    pub(crate) fn is_poison(&self) -> bool {
        matches!(self, Self::Poisoned(_) | Self::GlobalExit { .. })
    }

    /// The status that a program ends with because of this error: the one that a kernel gave to `global_exit`, of which
    /// the system keeps the lowest 8 bits; 1 for every other error.
    ///
    /// A `main` that returns [`Result`](crate::Result) always ends with 1, so a program that uses `global_exit` says:
    ///
    /// ```
    /// use std::process::ExitCode;
    ///
    /// fn main() -> ExitCode {
    ///     match oxshmem::run(|shmem| shmem.barrier_all()) {
    ///         Ok(()) => ExitCode::SUCCESS,
    ///         Err(error) => {
    ///             eprintln!("{error}");
    ///             error.exit_status().into()
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// Then all processes of the job end with it, and so does `oxshmem-run`.
    pub fn exit_status(&self) -> u8 {
        match self.root() {
            Self::GlobalExit { status, .. } => status.cast_unsigned().to_le_bytes()[0],
            _ => 1,
        }
    }

    /// The error at the root: for another PE's failure the error of that PE.
    pub fn root(&self) -> &Self {
        match self {
            Self::PeFailed { cause, .. } => cause.root(),
            Self::UnderChecker { error, .. } => error.root(),
            error => error,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::other(error)
    }
}

impl From<crate::bootstrap::BadUniqueId> for Error {
    fn from(error: crate::bootstrap::BadUniqueId) -> Self {
        Self::other(error)
    }
}
