//! What a launcher says in the environment: which PE this process is, of how many, and where they meet, or whom to ask
//! for that. With no launcher's variables the process is alone. Variables that contradict each other, or that miss a
//! companion, are an error that names both: never does every process take itself for PE 0.
//!
//! | file | whose variables |
//! |---|---|
//! | `family.rs` | oxshmem-run's, torchrun's, srun's: they say all |
//! | `slurm.rs` | what is particular to srun's |
//! | `pmix.rs` | a PMIx server's (Open MPI's mpirun, srun) |
//! | `pmi.rs` | a PMI-1 or PMI-2 server's (MPICH's mpiexec, srun) |

mod family;
pub(crate) mod pmi;
pub(crate) mod pmix;
mod slurm;
#[cfg(test)]
mod tests;

use crate::env::variables as env;
use crate::error::{Error, Result};
use crate::wire::UniqueId;
use family::{OWN, TORCHRUN};
pub(crate) use pmi::Pmi;
pub(crate) use pmix::Pmix;
use std::ffi::OsString;

/// The place of a PE that is a process.
#[derive(Clone, Debug)]
pub(crate) struct Launched {
    /// Its number in the job.
    pub(crate) rank: u32,
    /// PEs of the job.
    pub(crate) size: u32,
    /// Its number among the job's processes on this host.
    pub(crate) local_rank: u32,
    pub(crate) meeting: Meeting,
    /// Of PE 0: why no job comes of it, which it tells the others.
    pub(crate) refused: Option<Error>,
}

/// Where the processes of a job meet.
#[derive(Clone, Debug)]
pub(crate) enum Meeting {
    /// PE 0 publishes a unique id under this name, which all processes of the job, and no other job, are told.
    Named(String),
    /// All have been given this unique id.
    Known(UniqueId),
}

/// By what the processes of a job come together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    /// By whatever launcher has set its variables.
    #[default]
    Auto,
    Own,
    Torchrun,
    Pmix,
    Pmi(pmi::Protocol),
    Slurm,
    /// By none: the process is alone.
    Nothing,
}

/// What a launcher has set.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// All that is needed.
    Place(Launched),
    /// Where to ask for it.
    Pmix(Pmix),
    /// The same.
    Pmi(Pmi),
}

/// A variable that is set, with its value.
type Set = (&'static str, String);
/// A number with what says it.
type Said = (&'static str, u32);

impl Choice {
    /// As `OXSHMEM_BOOTSTRAP` names it.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "own" => Self::Own,
            "torchrun" => Self::Torchrun,
            "pmix" => Self::Pmix,
            "pmi" => Self::Pmi(pmi::Protocol::Either),
            "pmi1" => Self::Pmi(pmi::Protocol::One),
            "pmi2" => Self::Pmi(pmi::Protocol::Two),
            "slurm" => Self::Slurm,
            "none" => Self::Nothing,
            _ => return None,
        })
    }
}

/// What the environment, given as a function, says. `threads` is what it asks for in `OXSHMEM_PES`.
///
/// # Errors
/// [`Error::Environment`], [`Error::Contradiction`], [`Error::MissingVariable`], [`Error::NoBootstrap`],
/// [`Error::OtherHosts`].
pub(crate) fn read(
    get: &impl Fn(&str) -> Option<OsString>,
    choice: Choice,
    threads: Option<u32>,
) -> Result<Option<Found>> {
    let chosen = |name: &'static str, found: Option<Found>, missing: &str| match found {
        Some(found) => Ok(Some(found)),
        None => Err(Error::NoBootstrap {
            by: format!("{}={name}", env::BOOTSTRAP.name),
            why: format!("it has not set {missing}"),
            remedy: "start the program by that launcher, or unset OXSHMEM_BOOTSTRAP",
        }),
    };
    let place = |launched: Option<Launched>| launched.map(Found::Place);
    let found = match choice {
        Choice::Auto => automatic(get)?,
        Choice::Own => chosen("own", place(OWN.read(get)?), OWN.rank)?,
        Choice::Torchrun => chosen("torchrun", place(TORCHRUN.read(get)?), TORCHRUN.rank)?,
        Choice::Slurm => chosen("slurm", place(slurm::read(get)?), "SLURM_PROCID and SLURM_STEP_ID")?,
        Choice::Pmix => chosen("pmix", pmix::read(get)?.map(Found::Pmix), pmix::NAMESPACE)?,
        Choice::Pmi(protocol) => {
            let name = match protocol {
                pmi::Protocol::Either => "pmi",
                pmi::Protocol::One => "pmi1",
                pmi::Protocol::Two => "pmi2",
            };
            chosen(name, pmi::read(get, protocol)?.map(Found::Pmi), "PMI_FD or PMI_PORT")?
        }
        Choice::Nothing => None,
    };
    if let (Some(found), Some(threads)) = (&found, threads) {
        found.agrees_with_threads(threads)?;
    }
    Ok(found)
}

/// By whoever has set its variables. Who says more goes first; those that say a rank must agree.
fn automatic(get: &impl Fn(&str) -> Option<OsString>) -> Result<Option<Found>> {
    let own = OWN.read(get)?;
    let serves = pmix::is_there(get) || pmi::is_there(get) || slurm::is_there(get);
    // The name of torchrun's job alone is often set for PyTorch under another launcher.
    let torchrun =
        if (own.is_some() || serves) && !TORCHRUN.has_rank(get) { None } else { TORCHRUN.read(get)? };
    let alone = own.is_none() && torchrun.is_none();
    // What others lack is no matter where the place is known.
    let pmix = if alone || pmix::is_there(get) { pmix::read(get)? } else { None };
    let alone = alone && pmix.is_none();
    let pmi = if alone || pmi::is_there(get) { pmi::read(get, pmi::Protocol::Either)? } else { None };
    let said = [
        own.as_ref().map(|it| (OWN.rank, it.rank, OWN.size, it.size)),
        torchrun.as_ref().map(|it| (TORCHRUN.rank, it.rank, TORCHRUN.size, it.size)),
        pmix.as_ref().and_then(Pmix::says),
        pmi.as_ref().and_then(Pmi::says),
    ];
    let mut said = said.into_iter().flatten();
    if let Some((rank, a, size, n)) = said.next() {
        for (other_rank, b, other_size, m) in said {
            let why = "two launchers have set them: unset those of one, or choose one by OXSHMEM_BOOTSTRAP";
            if a != b {
                return Err(contradict((rank, a), (other_rank, b), why));
            }
            if n != m {
                return Err(contradict((size, n), (other_size, m), why));
            }
        }
    }
    let places = own.or(torchrun).map(Found::Place);
    let found = places.or(pmix.map(Found::Pmix)).or(pmi.map(Found::Pmi));
    match found {
        Some(found) => Ok(Some(found)),
        None => match slurm::read(get)? {
            Some(launched) => Ok(Some(Found::Place(launched))),
            None => unknown_launcher(get).map(|()| None),
        },
    }
}

/// Launchers that say something and offer nothing that is understood here, with the variables of their size.
const UNKNOWN: &[(&str, &str)] = &[
    ("MV2_COMM_WORLD_SIZE", "MVAPICH2's launcher"),
    ("JSM_NAMESPACE_SIZE", "jsrun"),
    ("FLUX_JOB_SIZE", "flux"),
];

/// Whether a launcher has started several processes that cannot meet.
fn unknown_launcher(get: &impl Fn(&str) -> Option<OsString>) -> Result<()> {
    for (name, launcher) in UNKNOWN {
        if let Some(size) = text(get, name).filter(|size| size.trim() != "1") {
            return Err(Error::NoBootstrap {
                by: format!("{name}={size}"),
                why: format!("{launcher} offers neither PMIx nor PMI here"),
                remedy: OTHERWISE,
            });
        }
    }
    Ok(())
}

/// What else there is to do.
pub(crate) const OTHERWISE: &str = "start the processes by oxshmem-run, pass a unique id to all (oxshmem::UniqueId, or oxshmem-mpi for MPI programs), or set OXSHMEM_BOOTSTRAP=none if each is to be alone";

impl Found {
    /// A process of a launcher is one PE.
    fn agrees_with_threads(&self, threads: u32) -> Result<()> {
        let size = match self {
            Self::Place(launched) => (launched.meeting.says_size(), launched.size),
            Self::Pmix(pmix) => pmix.size().unwrap_or(("the size that the PMIx server says", 0)),
            Self::Pmi(pmi) => pmi.size().unwrap_or(("the size that the PMI server says", 0)),
        };
        // A shell inside a Slurm job is a step of one task, too.
        let is_shell = size == ("SLURM_STEP_NUM_TASKS", 1);
        if threads == 1 || is_shell {
            return Ok(());
        }
        let why = "under a launcher every process is one PE: unset OXSHMEM_PES, do not use the launcher, or set OXSHMEM_BOOTSTRAP=none";
        Err(contradict((env::PES.name, threads), size, why))
    }
}

impl Launched {
    /// Whether there are other PEs.
    pub(crate) fn has_others(&self) -> bool {
        self.size > 1
    }
}

impl Meeting {
    /// The variable that has said how many there are.
    fn says_size(&self) -> &'static str {
        match self {
            Self::Named(job) if job.starts_with(TORCHRUN.launcher) => TORCHRUN.size,
            Self::Named(job) if job.starts_with(family::SLURM.launcher) => family::SLURM.size,
            _ => OWN.size,
        }
    }
}

/// The value of a variable that is set and is text.
fn text(get: &impl Fn(&str) -> Option<OsString>, name: &str) -> Option<String> {
    get(name)?.into_string().ok().filter(|value| !value.is_empty())
}

/// The same with its name, and an error if it is no text.
fn of(get: &impl Fn(&str) -> Option<OsString>, name: &'static str) -> Result<Option<Set>> {
    if name.is_empty() {
        return Ok(None);
    }
    let Some(value) = get(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let invalid = |value: OsString| Error::Environment {
        variable: name,
        value: value.to_string_lossy().into_owned(),
        valid: "text in UTF-8",
    };
    Ok(Some((name, value.into_string().map_err(invalid)?)))
}

/// The number in a variable, if it is set.
fn number_of(
    get: &impl Fn(&str) -> Option<OsString>,
    name: &'static str,
    valid: &'static str,
) -> Result<Option<Said>> {
    match of(get, name)? {
        Some(set) => Ok(Some((name, number(Some(&set), valid)?))),
        None => Ok(None),
    }
}

fn number(set: Option<&Set>, valid: &'static str) -> Result<u32> {
    let Some((variable, value)) = set else { return Ok(0) };
    let invalid = |_| Error::Environment { variable, value: value.clone(), valid };
    value.trim().parse().map_err(invalid)
}

pub(crate) fn contradict(one: Said, other: Said, why: &'static str) -> Error {
    let shown = |(name, value)| format!("{name}={value}");
    Error::Contradiction { one: shown(one), other: shown(other), why }
}
