//! Why a case, or the program, did not do what it was asked.

use thiserror::Error;

/// Why there is no result of a case.
#[derive(Debug, Error)]
pub(crate) enum Trouble {
    /// oxshmem has no such test, or no such form of it.
    #[error("oxshmem has no such test")]
    Unknown,
    /// The case cannot run as it was asked; nothing has run.
    #[error("{0}")]
    Refused(String),
    /// The data was not what it should be afterwards.
    #[error("wrong data {0}")]
    WrongData(String),
    /// The job failed.
    #[error(transparent)]
    Failed(#[from] oxshmem::Error),
}

/// Why the program ends without success.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The user's mistake, in a sentence.
    #[error("{0}")]
    Asked(String),
    /// A case has no result.
    #[error("{case}: {why}")]
    Case {
        /// Which.
        case: String,
        /// Why.
        why: Box<Trouble>,
    },
    /// The job failed.
    #[error(transparent)]
    Job(#[from] oxshmem::Error),
    /// A file or a stream.
    #[error("{what}: {why}")]
    Io {
        /// What was done with which.
        what: String,
        /// What the system says.
        why: std::io::Error,
    },
}

impl Failure {
    /// The error that the other PEs must learn of, if it is one.
    pub(crate) fn of_job(self) -> Result<oxshmem::Error, Self> {
        match self {
            Self::Job(error) => Ok(error),
            Self::Case { case, why } => match *why {
                Trouble::Failed(error) => Ok(error),
                why => Err(Self::Case { case, why: Box::new(why) }),
            },
            other => Err(other),
        }
    }

    /// For `map_err` of what was done with a file.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |why| Self::Io { what, why }
    }
}
