//! The variables of a PMIx server, and those that Open MPI's mpirun sets besides. They say who this process is; the
//! server says the rest.

use super::family::{Place, RANKS};
use super::{Launched, Meeting, Said, contradict, number_of, of, text};
use crate::env::variables as env;
use crate::error::{Error, Result};
use std::ffi::OsString;

/// The job's name (PMIx standard, "Environmental variables").
pub(super) const NAMESPACE: &str = "PMIX_NAMESPACE";
const RANK: &str = "PMIX_RANK";
// Open MPI's manual, mpirun, "Exported Environment Variables".
const OMPI_RANK: &str = "OMPI_COMM_WORLD_RANK";
const OMPI_SIZE: &str = "OMPI_COMM_WORLD_SIZE";
const OMPI_LOCAL_RANK: &str = "OMPI_COMM_WORLD_LOCAL_RANK";
const OMPI_LOCAL_SIZE: &str = "OMPI_COMM_WORLD_LOCAL_SIZE";

/// What they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pmix {
    pub(crate) namespace: String,
    pub(crate) rank: u32,
    size: Option<Said>,
    local_rank: Option<Said>,
    local_size: Option<Said>,
    /// Where the library is, if the user has said.
    pub(crate) library: Option<OsString>,
}

/// Whether there is a server.
pub(super) fn is_there(get: &impl Fn(&str) -> Option<OsString>) -> bool {
    text(get, NAMESPACE).is_some()
}

/// What they say; `None` if none of them is set.
///
/// # Errors
/// As [`read`](super::read).
pub(super) fn read(get: &impl Fn(&str) -> Option<OsString>) -> Result<Option<Pmix>> {
    let (namespace, rank) = (of(get, NAMESPACE)?, number_of(get, RANK, RANKS)?);
    let ompi_rank = number_of(get, OMPI_RANK, RANKS)?;
    let size = number_of(get, OMPI_SIZE, env::PES.values)?;
    let missing = |(present, value): (&'static str, String), missing| {
        Err(Error::MissingVariable { present, value, missing, launcher: "mpirun or srun with PMIx" })
    };
    let shown = |(name, value): Said| (name, value.to_string());
    let (namespace, rank) = match (namespace, rank) {
        (Some((_, namespace)), Some(rank)) => (namespace, rank),
        (Some(namespace), None) => return missing(namespace, RANK),
        (None, rank) => match rank.or(ompi_rank).or(size) {
            Some(present) => return missing(shown(present), NAMESPACE),
            None => return Ok(None),
        },
    };
    let local_rank = number_of(get, OMPI_LOCAL_RANK, "a number from 0 on")?;
    let local_size = number_of(get, OMPI_LOCAL_SIZE, env::PES.values)?;
    if let Some(ompi_rank) = ompi_rank
        && ompi_rank.1 != rank.1
    {
        let why = "mpirun gives both the same value: unset those of one launcher";
        return Err(contradict(rank, ompi_rank, why));
    }
    if let Some(size) = size {
        Place { rank, size, local_rank, local_size }.check()?;
    }
    let library = get(env::PMIX.name).filter(|path| !path.is_empty());
    Ok(Some(Pmix { namespace, rank: rank.1, size, local_rank, local_size, library }))
}

impl Pmix {
    /// How many PEs there are, if a variable says it.
    pub(crate) fn said_size(&self) -> Option<u32> {
        self.size.map(|(_, size)| size)
    }

    /// The same with the variable.
    pub(super) fn size(&self) -> Option<Said> {
        self.size
    }

    /// Rank and size with their names, if both are known.
    pub(super) fn says(&self) -> Option<(&'static str, u32, &'static str, u32)> {
        self.size.map(|(name, size)| (RANK, self.rank, name, size))
    }

    /// The place that follows from this and from what the server says.
    ///
    /// # Errors
    /// As [`read`](super::read).
    pub(crate) fn place(
        &self,
        size: u32,
        local_rank: Option<u32>,
        local_size: Option<u32>,
        meeting: Meeting,
    ) -> Result<Launched> {
        let said = ("the PMIx server's job size", size);
        if let Some(ours) = self.size
            && ours.1 != size
        {
            let why = "variables and server are of different jobs: unset the variables of another mpirun";
            return Err(contradict(ours, said, why));
        }
        let place = Place {
            rank: (RANK, self.rank),
            size: said,
            local_rank: self.local_rank.or(local_rank.map(|rank| ("the PMIx server's local rank", rank))),
            local_size: self.local_size.or(local_size.map(|size| ("the PMIx server's local size", size))),
        };
        place.check()?;
        Ok(place.launched(meeting))
    }
}
