//! A PMI server (MPICH's mpiexec, srun) as a store: the wire protocols PMI-1 and PMI-2, over the socket that the launcher
//! has left open for this process, or one to the launcher's port.
//!
//! | file | what it holds |
//! |---|---|
//! | `connection.rs` | the socket: lines and counted messages, each waited for until a moment |
//! | `one.rs` | PMI-1: lines of words |
//! | `two.rs` | PMI-2: counted messages of fields |
//!
//! The server is asked once in a process, and told the end at once: the wire has one client, and a process that ends
//! without a word to the server is taken for a crash by it.

mod connection;
mod one;
#[cfg(test)]
mod tests;
mod two;

use super::cards::{self, Told};
use super::{Asked, Bootstrap, not_joined};
use crate::error::{Error, Result};
use crate::launched::pmi::{Protocol, Server};
use crate::launched::{Launched, Meeting, OTHERWISE, Pmi};
use connection::Connection;
use std::time::Instant;

const DOING: &str = "asking the launcher's PMI server";

impl Bootstrap for Pmi {
    fn size(&self) -> Option<u32> {
        self.said_size()
    }

    fn place(&self, until: Instant) -> Result<Launched> {
        static ASKED: Asked = Asked::new();
        ASKED.once(|| {
            if uses_mpi() {
                return Err(Error::NoBootstrap {
                    by: format!("a PMI server ({:?})", self.server),
                    why: "this program uses MPI, which talks to that server itself".into(),
                    remedy: "call MPI_Init first and then oxshmem_mpi::init (the package oxshmem-mpi), or pass a unique id (oxshmem::UniqueId)",
                });
            }
            let connection = match &self.server {
                Server::Descriptor(fd) => Connection::inherited(*fd),
                Server::Port { address, .. } => Connection::to(address, until),
            };
            let connection = connection.map_err(|why| self.failed(why))?;
            ask(self, connection, until)
        })
    }
}

impl Pmi {
    fn failed(&self, why: String) -> Error {
        not_joined(self.rank().unwrap_or(0), DOING, format!("{why}; {OTHERWISE}"))
    }
}

/// Whether the program has an MPI library.
fn uses_mpi() -> bool {
    // SAFETY: the call looks a name up and touches nothing else.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PMPI_Init".as_ptr()) }.is_null()
}

/// Talks to the server, from the first word to the last.
fn ask(pmi: &Pmi, mut connection: Connection, until: Instant) -> Result<Launched> {
    let failed = |why: String| pmi.failed(why);
    let mut said = (None, None);
    if let Server::Port { id, .. } = &pmi.server {
        said = one::introduce(&mut connection, id, until).map_err(failed)?;
    }
    let version = greet(&mut connection, pmi.protocol, until).map_err(failed)?;
    let two = match version {
        1 => None,
        _ => {
            let rank = pmi.rank().or(said.0);
            let (two, rank, size) = two::Two::start(&mut connection, rank, until).map_err(failed)?;
            // What both said of this process must be the same.
            let both = |one: Option<u32>, other| one.is_none_or(|one| one == other);
            if !both(said.0, rank) {
                return Err(failed(format!("it said first that this is PE {:?}, then PE {rank}", said.0)));
            }
            said = (Some(rank), size.or(said.1));
            Some(two)
        }
    };
    let unnamed = pmi.place(said, Meeting::Named(String::new()))?;
    let who = (unnamed.rank, unnamed.size);
    let (space, told) = match two {
        None => {
            let mut one = one::One::start(&mut connection, until).map_err(failed)?;
            let told = cards::exchange(&mut one, who, DOING, until)?;
            one.finish(told.name.is_some(), until).map_err(failed)?;
            (one.space, told)
        }
        Some(mut two) => {
            let told = cards::exchange(&mut two, who, DOING, until)?;
            two.finish(told.name.is_some(), until).map_err(failed)?;
            (two.space, told)
        }
    };
    let Told { name, refused } = told;
    let job = format!("pmi:{space}:{}", name.unwrap_or_default());
    Ok(Launched { meeting: Meeting::Named(job), refused, ..unnamed })
}

/// Agrees on a version of the protocol: both begin with the same line.
fn greet(connection: &mut Connection, protocol: Protocol, until: Instant) -> Result<u32, String> {
    let versions: &[(u32, u32)] = match protocol {
        Protocol::Either => &[(1, 1), (2, 0)],
        Protocol::One => &[(1, 1)],
        Protocol::Two => &[(2, 0)],
    };
    let mut refused = Vec::new();
    for &(version, below) in versions {
        let asked = format!("cmd=init pmi_version={version} pmi_subversion={below}");
        let answer = one::call(connection, &asked, "response_to_init", until)?;
        let spoken = answer.get("pmi_version").unwrap_or("none");
        if answer.get("rc") == Some("0") && spoken == version.to_string() {
            return Ok(version);
        }
        refused.push(format!("PMI-{version} (it speaks version {spoken})"));
    }
    Err(format!("it refuses {}", refused.join(" and ")))
}
