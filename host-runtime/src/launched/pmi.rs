//! The variables of a PMI-1 or PMI-2 server: where it is, and who this process is.

use super::family::{Place, RANKS};
use super::{Launched, Meeting, Said, contradict, number_of, of};
use crate::env::variables as env;
use crate::error::{Error, Result};
use std::ffi::OsString;

const FD: &str = "PMI_FD";
const PORT: &str = "PMI_PORT";
const ID: &str = "PMI_ID";
const RANK: &str = "PMI_RANK";
const SIZE: &str = "PMI_SIZE";
// MPICH's mpiexec sets these besides.
const LOCAL_RANK: &str = "MPI_LOCALRANKID";
const LOCAL_SIZE: &str = "MPI_LOCALNRANKS";

/// Which of the two protocols is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The first that the server understands.
    #[default]
    Either,
    One,
    Two,
}

/// Where the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// At the other end of a socket that this process has inherited.
    Descriptor(i32),
    /// At an address; it knows this process by a number.
    Port { address: String, id: String },
}

/// What they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pmi {
    pub(crate) server: Server,
    pub(crate) protocol: Protocol,
    rank: Option<Said>,
    size: Option<Said>,
    local_rank: Option<Said>,
    local_size: Option<Said>,
}

/// Whether there is a server.
pub(super) fn is_there(get: &impl Fn(&str) -> Option<OsString>) -> bool {
    [FD, PORT].iter().any(|name| super::text(get, name).is_some())
}

/// What they say; `None` if none of them is set.
///
/// # Errors
/// As [`read`](super::read).
pub(super) fn read(get: &impl Fn(&str) -> Option<OsString>, protocol: Protocol) -> Result<Option<Pmi>> {
    let (rank, size) = (number_of(get, RANK, RANKS)?, number_of(get, SIZE, env::PES.values)?);
    let missing = |(present, value): (&'static str, String), missing| {
        let launcher = "mpiexec or srun with PMI";
        Err(Error::MissingVariable { present, value, missing, launcher })
    };
    let shown = |(name, value): Said| (name, value.to_string());
    let server = match (of(get, FD)?, of(get, PORT)?) {
        (Some((_, fd)), _) => match fd.trim().parse() {
            Ok(fd) if fd >= 0 => Server::Descriptor(fd),
            _ => {
                let valid = "the number of an open socket";
                return Err(Error::Environment { variable: FD, value: fd, valid });
            }
        },
        (None, Some(port)) => match of(get, ID)?.or(rank.map(shown)) {
            Some((_, id)) => Server::Port { address: port.1, id },
            None => return missing(port, ID),
        },
        (None, None) => match rank.or(size) {
            Some(present) => return missing(shown(present), FD),
            None => return Ok(None),
        },
    };
    if let Server::Descriptor(fd) = server {
        let fd = (FD, fd.to_string());
        match (rank, size) {
            (None, _) => return missing(fd, RANK),
            (_, None) => return missing(fd, SIZE),
            _ => {}
        }
    }
    let local_rank = number_of(get, LOCAL_RANK, "a number from 0 on")?;
    let local_size = number_of(get, LOCAL_SIZE, env::PES.values)?;
    if let (Some(rank), Some(size)) = (rank, size) {
        Place { rank, size, local_rank, local_size }.check()?;
    }
    Ok(Some(Pmi { server, protocol, rank, size, local_rank, local_size }))
}

impl Pmi {
    /// Which PE this is, if a variable says it.
    pub(crate) fn rank(&self) -> Option<u32> {
        self.rank.map(|(_, rank)| rank)
    }

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
        let (rank, size) = (self.rank?, self.size?);
        Some((rank.0, rank.1, size.0, size.1))
    }

    /// Rank and size, which the server may have said as well.
    ///
    /// # Errors
    /// [`Error::Contradiction`] if it has said something else; as [`read`](super::read).
    pub(crate) fn place(&self, server: (Option<u32>, Option<u32>), meeting: Meeting) -> Result<Launched> {
        let agree = |ours: Option<Said>, theirs: Option<u32>, name| match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours.1 != theirs => {
                let why =
                    "variables and server are of different jobs: unset the variables of another mpiexec";
                Err(contradict(ours, (name, theirs), why))
            }
            (Some(ours), _) => Ok(ours),
            (None, Some(theirs)) => Ok((name, theirs)),
            (None, None) => {
                let (present, missing) = (PORT, RANK);
                let value = "(an address)".to_owned();
                Err(Error::MissingVariable { present, value, missing, launcher: "mpiexec" })
            }
        };
        let place = Place {
            rank: agree(self.rank, server.0, "the PMI server's rank")?,
            size: agree(self.size, server.1, "the PMI server's size")?,
            local_rank: self.local_rank,
            local_size: self.local_size,
        };
        place.check()?;
        Ok(place.launched(meeting))
    }
}
