//! One launcher's variables, all of which stand in the environment: which PE this process is, of how many, and what
//! names the job.

use super::{Launched, Meeting, Set, contradict, number, of, text};
use crate::env::variables as env;
use crate::error::{Error, Result};
use std::ffi::OsString;

/// A family of variables.
pub(super) struct Family {
    /// Who sets them.
    pub(super) launcher: &'static str,
    pub(super) rank: &'static str,
    pub(super) size: &'static str,
    pub(super) local_rank: &'static str,
    pub(super) local_size: &'static str,
    /// What names the job. All must be there.
    pub(super) job: &'static [&'static str],
    /// What else tells jobs apart, if it is there.
    pub(super) also: &'static [&'static str],
}

/// `oxshmem-run`'s variables.
pub(super) const OWN: Family = Family {
    launcher: "oxshmem-run",
    rank: env::RANK.name,
    size: env::WORLD_SIZE.name,
    local_rank: env::LOCAL_RANK.name,
    local_size: env::LOCAL_WORLD_SIZE.name,
    job: &[env::JOB.name],
    also: &[],
};

/// torchrun's variables (PyTorch documentation, torchrun, "Environment Variables").
pub(super) const TORCHRUN: Family = Family {
    launcher: "torchrun",
    rank: "RANK",
    size: "WORLD_SIZE",
    local_rank: "LOCAL_RANK",
    local_size: "LOCAL_WORLD_SIZE",
    job: &["MASTER_ADDR", "MASTER_PORT"],
    also: &["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"],
};

/// srun's variables (Slurm documentation, srun, "OUTPUT ENVIRONMENT VARIABLES").
pub(super) const SLURM: Family = Family {
    launcher: "srun",
    rank: "SLURM_PROCID",
    size: "SLURM_STEP_NUM_TASKS",
    local_rank: "SLURM_LOCALID",
    // It says how many tasks each host has in a form of its own, which is read elsewhere.
    local_size: "",
    job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
    also: &["SLURM_RESTART_COUNT"],
};

impl Family {
    /// Whether a variable is set that says more than a job's name, which others use, too.
    pub(super) fn has_rank(&self, get: &impl Fn(&str) -> Option<OsString>) -> bool {
        [self.rank, self.size, self.local_rank].iter().any(|name| text(get, name).is_some())
    }

    /// What its variables say; `None` if none of them is set.
    ///
    /// # Errors
    /// As [`read`](super::read).
    pub(super) fn read(&self, get: &impl Fn(&str) -> Option<OsString>) -> Result<Option<Launched>> {
        let needed = [self.rank, self.size, self.local_rank].into_iter().chain(self.job.iter().copied());
        let needed: Vec<(&'static str, Option<Set>)> =
            needed.map(|name| Ok((name, of(get, name)?))).collect::<Result<_>>()?;
        let local_size = of(get, self.local_size)?;
        let Some((present, value)) = needed.iter().find_map(|(_, set)| set.clone()).or(local_size.clone())
        else {
            return Ok(None);
        };
        if let Some((missing, _)) = needed.iter().find(|(_, set)| set.is_none()) {
            return Err(Error::MissingVariable { present, value, missing, launcher: self.launcher });
        }
        let set = |at: usize| needed[at].1.as_ref();
        let place = Place {
            rank: (self.rank, number(set(0), RANKS)?),
            size: (self.size, number(set(1), env::PES.values)?),
            local_rank: Some((self.local_rank, number(set(2), "a number from 0 on")?)),
            local_size: match &local_size {
                Some(_) => Some((self.local_size, number(local_size.as_ref(), env::PES.values)?)),
                None => None,
            },
        };
        let mut job = self.launcher.to_owned();
        for name in self.job.iter().chain(self.also) {
            if let Some((name, value)) = of(get, name)? {
                job.push_str(&format!(":{name}={value}"));
            }
        }
        place.check()?;
        Ok(Some(place.launched(Meeting::Named(job))))
    }
}

/// What a rank may be.
pub(super) const RANKS: &str = "a number from 0 on, less than the number of PEs";

/// A number with the variable that says it.
type Said = (&'static str, u32);

/// What variables say of the place of this process.
pub(super) struct Place {
    pub(super) rank: Said,
    pub(super) size: Said,
    pub(super) local_rank: Option<Said>,
    pub(super) local_size: Option<Said>,
}

impl Place {
    /// Whether it can be one.
    ///
    /// # Errors
    /// [`Error::Environment`], [`Error::Contradiction`], [`Error::OtherHosts`].
    pub(super) fn check(&self) -> Result<()> {
        let (variable, size) = self.size;
        if size == 0 || size > env::MAX_PES {
            return Err(Error::Environment { variable, value: size.to_string(), valid: env::PES.values });
        }
        if self.rank.1 >= size {
            let why = "ranks count from 0, so each is less than the number of processes";
            return Err(contradict(self.rank, self.size, why));
        }
        if let Some(local_rank) = self.local_rank
            && local_rank.1 > self.rank.1
        {
            let why = "a process has no more processes before it on its host than in the job";
            return Err(contradict(local_rank, self.rank, why));
        }
        let Some(local_size) = self.local_size else { return Ok(()) };
        if let Some(local_rank) = self.local_rank
            && local_rank.1 >= local_size.1
        {
            let why = "local ranks count from 0, so each is less than the number of processes on its host";
            return Err(contradict(local_rank, local_size, why));
        }
        if local_size.1 != size {
            return Err(Error::OtherHosts {
                what: format!("{}={} and {variable}={size}", local_size.0, local_size.1),
            });
        }
        Ok(())
    }

    /// The same with where the processes meet. Without a local rank the rank is one: all are on one host.
    pub(super) fn launched(&self, meeting: Meeting) -> Launched {
        let local_rank = self.local_rank.unwrap_or(self.rank).1;
        Launched { rank: self.rank.1, size: self.size.1, local_rank, meeting, refused: None }
    }
}
