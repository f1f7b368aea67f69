//! What a PE learns from its environment: its rank, the job's size and name.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::mps::Daemon;
use crate::options::Options;
use crate::say;

/// The runtime's variable for PEs as threads, which would contradict PEs as processes.
const PES: &str = "OXSHMEM_PES";

/// What other launchers tell their processes: torchrun, and those of MPI. The runtime listens to it too, and inside a job of
/// theirs it would describe that one.
const OTHER_LAUNCHERS: &[&str] = &[
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "ROLE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",
    "OXSHMEM_BOOTSTRAP",
];

/// The beginnings of further names of theirs.
const OTHER_LAUNCHERS_PREFIXES: &[&[u8]] = &[b"TORCHELASTIC_", b"PMI_", b"PMIX_", b"OMPI_COMM_WORLD_"];

/// What is the same for all PEs of a job.
#[derive(Clone, Debug)]
pub struct Environment {
    pes: u32,
    job: String,
    rendezvous: Option<String>,
    mps: Vec<(&'static str, PathBuf)>,
}

impl Environment {
    /// The environment of a new job, with a name that no other has.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn of(options: &Options) -> Result<Self> {
        if env::var_os(PES).is_some() {
            say(&format!("{PES} is ignored: -n {} says how many PEs there are", options.pes));
        }
        let mut bytes = [0; 16];
        getrandom(&mut bytes, GetRandomFlags::empty()).context("the kernel gives no random bytes")?;
        let job = bytes.map(|byte| format!("{byte:02x}")).concat();
        Ok(Self { pes: options.pes, job, rendezvous: options.rendezvous.clone(), mps: Vec::new() })
    }

    /// The job's name: 32 hexadecimal digits.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// Tells the PEs of a daemon of their own as well.
    pub fn add_mps(&mut self, daemon: &Daemon) {
        self.mps = daemon.variables().into();
    }

    /// Sets the variables of one PE.
    pub fn set(&self, command: &mut Command, rank: u32) {
        command.env_remove(PES);
        for (name, _) in env::vars_os().filter(|(name, _)| is_other_launchers(name)) {
            command.env_remove(name);
        }
        let (rank, size) = (rank.to_string(), self.pes.to_string());
        command.env("OXSHMEM_RANK", &rank).env("OXSHMEM_WORLD_SIZE", &size);
        command.env("OXSHMEM_LOCAL_RANK", &rank).env("OXSHMEM_LOCAL_WORLD_SIZE", &size);
        command.env("OXSHMEM_JOB", &self.job);
        if let Some(rendezvous) = &self.rendezvous {
            command.env("OXSHMEM_RENDEZVOUS", rendezvous);
        }
        command.envs(self.mps.iter().map(|(name, value)| (name, value)));
    }
}

fn is_other_launchers(name: &OsStr) -> bool {
    let begins = |prefix: &&[u8]| name.as_bytes().starts_with(prefix);
    OTHER_LAUNCHERS.iter().any(|other| name == *other) || OTHER_LAUNCHERS_PREFIXES.iter().any(begins)
}
