//! What is particular to srun's variables: names that differ between versions, hosts in a form of their own, and that a
//! batch script has some of them.

use super::family::{Family, SLURM};
use super::{Launched, contradict, number_of, text};
use crate::env::variables as env;
use crate::error::{Error, Result};
use std::ffi::OsString;

/// Tasks of the step, or without that of the job.
const TASKS: &str = "SLURM_NTASKS";
const HOSTS: &str = "SLURM_STEP_NUM_NODES";
const TASKS_BY_HOST: &str = "SLURM_STEP_TASKS_PER_NODE";
const STEP: &str = "SLURM_STEP_ID";

/// Whether srun has started this process as a task of a step. A batch script and what it starts itself have a rank too,
/// which is 0, and no step.
pub(super) fn is_there(get: &impl Fn(&str) -> Option<OsString>) -> bool {
    let rank = text(get, SLURM.rank);
    text(get, STEP).is_some() && rank.is_some() || rank.is_some_and(|rank| rank.trim() != "0")
}

/// What srun has said.
///
/// # Errors
/// As [`read`](super::read).
pub(super) fn read(get: &impl Fn(&str) -> Option<OsString>) -> Result<Option<Launched>> {
    if !is_there(get) {
        return Ok(None);
    }
    let of_step = number_of(get, SLURM.size, env::PES.values)?;
    let tasks = number_of(get, TASKS, env::PES.values)?;
    if let (Some(of_step), Some(tasks)) = (of_step, tasks)
        && of_step.1 != tasks.1
    {
        let why = "srun gives both the same value: unset the one that is wrong";
        return Err(contradict(of_step, tasks, why));
    }
    let size = if of_step.is_none() && tasks.is_some() { TASKS } else { SLURM.size };
    let Some(launched) = (Family { size, ..SLURM }).read(get)? else { return Ok(None) };
    let hosts = number_of(get, HOSTS, "a number from 1 on")?;
    let by_host = text(get, TASKS_BY_HOST).filter(|counts| counts.contains([',', '(']));
    let other_hosts = match (hosts, by_host) {
        (Some((name, hosts)), _) if hosts > 1 => Some(format!("{name}={hosts}")),
        (None, Some(counts)) => Some(format!("{TASKS_BY_HOST}={counts}")),
        _ => None,
    };
    match other_hosts {
        Some(hosts) => Err(Error::OtherHosts { what: format!("{hosts} and {size}={}", launched.size) }),
        None => Ok(Some(launched)),
    }
}
