//! What a launcher says in the environment: which PE this process is, of how many, and where they meet. Read from
//! oxshmem-run's variables or from torchrun's; with neither, the process is alone. Variables that contradict each other,
//! or that miss a companion, are an error that names both: never does every process take itself for PE 0.

use crate::env::variables as env;
use crate::error::{Error, Result};
use std::ffi::OsString;

/// The place of a PE that a launcher started as a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launched {
    /// Its number in the job.
    pub(crate) rank: u32,
    /// PEs of the job.
    pub(crate) size: u32,
    /// Its number among the job's processes on this host.
    pub(crate) local_rank: u32,
    /// What all processes of the job, and no other job, are told: where they meet is made of it.
    pub(crate) job: String,
}

/// One family of variables.
struct Family {
    /// Who sets them.
    launcher: &'static str,
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    local_size: &'static str,
    /// What names the job. All must be there.
    job: &'static [&'static str],
    /// What else tells jobs apart, if it is there.
    also: &'static [&'static str],
}

/// `oxshmem-run`'s variables.
const OWN: Family = Family {
    launcher: "oxshmem-run",
    rank: env::RANK.name,
    size: env::WORLD_SIZE.name,
    local_rank: env::LOCAL_RANK.name,
    local_size: env::LOCAL_WORLD_SIZE.name,
    job: &[env::JOB.name],
    also: &[],
};

/// torchrun's variables (PyTorch documentation, torchrun, "Environment Variables").
const TORCHRUN: Family = Family {
    launcher: "torchrun",
    rank: "RANK",
    size: "WORLD_SIZE",
    local_rank: "LOCAL_RANK",
    local_size: "LOCAL_WORLD_SIZE",
    job: &["MASTER_ADDR", "MASTER_PORT"],
    also: &["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"],
};

/// A variable that is set, with its value.
type Set = (&'static str, String);

impl Launched {
    /// What the environment, given as a function, says. `threads` is what it asks for in `OXSHMEM_PES`.
    ///
    /// # Errors
    /// [`Error::Environment`], [`Error::Contradiction`], [`Error::MissingVariable`].
    pub(crate) fn read(
        get: &impl Fn(&str) -> Option<OsString>,
        threads: Option<u32>,
    ) -> Result<Option<Self>> {
        let (own, torchrun) = (OWN.read(get)?, TORCHRUN.read(get)?);
        if let (Some(own), Some(torchrun)) = (&own, &torchrun) {
            for (what, ours, theirs) in [
                ((OWN.rank, TORCHRUN.rank), own.rank, torchrun.rank),
                ((OWN.size, TORCHRUN.size), own.size, torchrun.size),
            ] {
                if ours != theirs {
                    let why = "two launchers have set them: unset those of one";
                    return Err(contradict((what.0, ours), (what.1, theirs), why));
                }
            }
        }
        let (family, launched) = match (own, torchrun) {
            (Some(own), _) => (&OWN, own),
            (None, Some(torchrun)) => (&TORCHRUN, torchrun),
            (None, None) => return Ok(None),
        };
        if let Some(threads) = threads
            && threads != 1
        {
            let why =
                "under a launcher every process is one PE: unset OXSHMEM_PES, or do not use the launcher";
            return Err(contradict((env::PES.name, threads), (family.size, launched.size), why));
        }
        Ok(Some(launched))
    }

    /// Whether there are other PEs.
    pub(crate) fn has_others(&self) -> bool {
        self.size > 1
    }
}

impl Family {
    fn read(&self, get: &impl Fn(&str) -> Option<OsString>) -> Result<Option<Launched>> {
        let of = |name: &'static str| -> Result<Option<Set>> {
            let Some(value) = get(name).filter(|value| !value.is_empty()) else { return Ok(None) };
            let invalid = |value: OsString| Error::Environment {
                variable: name,
                value: value.to_string_lossy().into_owned(),
                valid: "text in UTF-8",
            };
            Ok(Some((name, value.into_string().map_err(invalid)?)))
        };
        let needed = [self.rank, self.size, self.local_rank].into_iter().chain(self.job.iter().copied());
        let needed: Vec<(&'static str, Option<Set>)> =
            needed.map(|name| Ok((name, of(name)?))).collect::<Result<_>>()?;
        let local_size = of(self.local_size)?;
        let Some((present, value)) = needed.iter().find_map(|(_, set)| set.clone()).or(local_size.clone())
        else {
            return Ok(None);
        };
        if let Some((missing, _)) = needed.iter().find(|(_, set)| set.is_none()) {
            return Err(Error::MissingVariable { present, value, missing, launcher: self.launcher });
        }
        let set = |at: usize| needed[at].1.as_ref();
        let rank = number(set(0), "a number from 0 on, less than the number of PEs")?;
        let size = number(set(1), env::PES.values)?;
        let local_rank = number(set(2), "a number from 0 on")?;
        if size == 0 || size > env::MAX_PES {
            let value = size.to_string();
            return Err(Error::Environment { variable: self.size, value, valid: env::PES.values });
        }
        if rank >= size {
            let why = "ranks count from 0, so each is less than the number of processes";
            return Err(contradict((self.rank, rank), (self.size, size), why));
        }
        if local_rank > rank {
            let why = "a process has no more processes before it on its host than in the job";
            return Err(contradict((self.local_rank, local_rank), (self.rank, rank), why));
        }
        if local_size.is_some() {
            let local_size = number(local_size.as_ref(), env::PES.values)?;
            if local_rank >= local_size {
                let why =
                    "local ranks count from 0, so each is less than the number of processes on its host";
                return Err(contradict((self.local_rank, local_rank), (self.local_size, local_size), why));
            }
            if local_size != size {
                return Err(Error::OtherHosts {
                    what: format!("{}={local_size} and {}={size}", self.local_size, self.size),
                });
            }
        }
        let mut job = self.launcher.to_owned();
        let names = self.job.iter().chain(self.also);
        for name in names {
            if let Some((name, value)) = of(name)? {
                job.push_str(&format!(":{name}={value}"));
            }
        }
        Ok(Some(Launched { rank, size, local_rank, job }))
    }
}

fn number(set: Option<&Set>, valid: &'static str) -> Result<u32> {
    let Some((variable, value)) = set else { return Ok(0) };
    let invalid = |_| Error::Environment { variable, value: value.clone(), valid };
    value.trim().parse().map_err(invalid)
}

fn contradict(one: (&'static str, u32), other: (&'static str, u32), why: &'static str) -> Error {
    let shown = |(name, value)| format!("{name}={value}");
    Error::Contradiction { one: shown(one), other: shown(other), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)], threads: Option<u32>) -> Result<Option<Launched>> {
        let get = |name: &str| {
            let found = variables.iter().find(|(of, _)| *of == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Launched::read(&get, threads)
    }

    const TORCH: [(&str, &str); 6] = [
        ("RANK", "3"),
        ("WORLD_SIZE", "4"),
        ("LOCAL_RANK", "3"),
        ("LOCAL_WORLD_SIZE", "4"),
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", "29500"),
    ];
    const OURS: [(&str, &str); 4] = [
        ("OXSHMEM_RANK", "1"),
        ("OXSHMEM_WORLD_SIZE", "2"),
        ("OXSHMEM_LOCAL_RANK", "1"),
        ("OXSHMEM_JOB", "00ff"),
    ];

    #[test]
    fn torchrun_and_the_own_launcher_are_understood_and_none_is_a_lone_pe() {
        let launched = read(&TORCH, None).unwrap().unwrap();
        assert_eq!((launched.rank, launched.size, launched.local_rank), (3, 4, 3));
        let with_id: Vec<_> = TORCH.into_iter().chain([("TORCHELASTIC_RUN_ID", "a")]).collect();
        assert_ne!(read(&with_id, None).unwrap().unwrap().job, launched.job);
        let launched = read(&OURS, Some(1)).unwrap().unwrap();
        assert_eq!((launched.rank, launched.size, launched.local_rank), (1, 2, 1));
        assert_eq!(read(&[], Some(4)).unwrap(), None);
        assert_eq!(read(&[("RANK", ""), ("WORLD_SIZE", "")], None).unwrap(), None);
    }

    #[test]
    fn what_contradicts_is_named_with_both_values() {
        let change = |name: &str, value: &'static str| -> Vec<(&str, &str)> {
            TORCH.iter().map(|&(of, was)| (of, if of == name { value } else { was })).collect()
        };
        let both: Vec<_> = TORCH.into_iter().chain(OURS).collect();
        for (variables, threads, one, other) in [
            (change("RANK", "4"), None, "RANK=4", "WORLD_SIZE=4"),
            (change("RANK", "2"), None, "LOCAL_RANK=3", "RANK=2"),
            (change("LOCAL_WORLD_SIZE", "3"), None, "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=3"),
            (change("WORLD_SIZE", "8"), None, "LOCAL_WORLD_SIZE=4", "WORLD_SIZE=8"),
            (both, None, "OXSHMEM_RANK=1", "RANK=3"),
            (TORCH.to_vec(), Some(2), "OXSHMEM_PES=2", "WORLD_SIZE=4"),
            (OURS.to_vec(), Some(3), "OXSHMEM_PES=3", "OXSHMEM_WORLD_SIZE=2"),
        ] {
            let message = read(&variables, threads).unwrap_err().to_string();
            assert!(message.contains(one) && message.contains(other), "{message}");
        }
    }

    #[test]
    fn what_is_missing_is_named_beside_what_is_there() {
        for missing in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"] {
            let rest: Vec<_> = TORCH.into_iter().filter(|(name, _)| *name != missing).collect();
            let error = read(&rest, None).unwrap_err();
            let named = matches!(&error, Error::MissingVariable { missing: named, .. } if *named == missing);
            assert!(named, "{error}");
        }
        let error = read(&[("OXSHMEM_RANK", "0")], None).unwrap_err().to_string();
        assert!(error.contains("OXSHMEM_RANK=\"0\"") && error.contains("OXSHMEM_WORLD_SIZE"), "{error}");
        assert!(read(&[("MASTER_PORT", "1")], None).is_err());
        assert!(read(&[("LOCAL_WORLD_SIZE", "1")], None).is_err());
    }

    #[test]
    fn values_that_mean_nothing_are_errors() {
        for (name, value) in [
            ("RANK", "-1"),
            ("RANK", "x"),
            ("WORLD_SIZE", "0"),
            ("WORLD_SIZE", "1025"),
            ("LOCAL_RANK", "1.5"),
        ] {
            let change: Vec<_> =
                TORCH.iter().map(|&(of, was)| (of, if of == name { value } else { was })).collect();
            let error = read(&change, None).unwrap_err();
            assert!(matches!(error, Error::Environment { variable, .. } if variable == name), "{error}");
        }
    }
}
