//! `nvidia-cuda-mps-control`, the program that starts MPS and talks to it. It may hang, so it gets a time limit.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::program;

/// The program's name.
pub const PROGRAM: &str = "nvidia-cuda-mps-control";

/// Where a daemon has its pipes.
pub const PIPES: &str = "CUDA_MPS_PIPE_DIRECTORY";

/// Where a daemon has its logs.
pub const LOGS: &str = "CUDA_MPS_LOG_DIRECTORY";

/// Where its pipes are unless [`PIPES`] says otherwise.
const DEFAULT_PIPES: &str = "/tmp/nvidia-mps";

/// A daemon that needs longer for an answer hangs.
const LIMIT: Duration = Duration::from_secs(10);

/// The control program, and the daemon that it is to talk to.
#[derive(Clone, Debug)]
pub struct Control {
    program: PathBuf,
    pipes: PathBuf,
}

impl Control {
    /// The one on the PATH, for the daemon that CUDA programs would use now.
    pub fn find() -> Option<Self> {
        let path = env::var_os("PATH")?;
        let program = program::find(OsStr::new(PROGRAM), &path).ok()?;
        let pipes = env::var_os(PIPES).filter(|value| !value.is_empty());
        Some(Self { program, pipes: pipes.map_or_else(|| DEFAULT_PIPES.into(), PathBuf::from) })
    }

    /// The same program for a daemon elsewhere.
    pub fn at(&self, pipes: &Path) -> Self {
        Self { pipes: pipes.to_owned(), ..self.clone() }
    }

    /// Whether the daemon runs and answers.
    pub fn answers(&self) -> bool {
        // Without the folder there is no daemon, and no need to start a program.
        self.pipes.is_dir() && self.ask("get_server_list").is_ok()
    }

    /// Starts the daemon.
    ///
    /// # Errors
    /// Holds what the program said.
    pub fn start(&self, logs: &Path) -> Result<()> {
        let mut command = self.command();
        // The daemon serves all GPUs. With a choice of its own it would number them anew, and the PEs' choice, which they
        // keep, would mean others.
        command.arg("-d").env(LOGS, logs).env_remove("CUDA_VISIBLE_DEVICES");
        run(&mut command, "").map(drop)
    }

    /// Tells the daemon a command and returns its answer.
    ///
    /// # Errors
    /// If there is no daemon or it does not answer in time; holds what the program said.
    pub fn ask(&self, words: &str) -> Result<String> {
        let said = run(&mut self.command(), &format!("{words}\n"))?;
        // Some versions say so with exit status 0.
        if said.contains("Cannot find MPS control daemon") {
            bail!("{}", said.trim());
        }
        Ok(said)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // In a group of its own, so that Ctrl-C on a terminal does not reach it.
        command.env(PIPES, &self.pipes).process_group(0);
        command
    }
}

/// Runs the command with this input and returns what it printed. What it leaves running may keep its output open, so that
/// goes to a file in memory: nobody waits for the end of a pipe.
fn run(command: &mut Command, input: &str) -> Result<String> {
    let (mut said, mut stdin) = (in_memory("output")?, in_memory("input")?);
    stdin.write_all(input.as_bytes())?;
    stdin.rewind()?;
    command.stdin(stdin).stdout(said.try_clone()?).stderr(said.try_clone()?);
    let mut child = command.spawn().with_context(|| format!("{PROGRAM} cannot be started"))?;
    let pid = Pid::from_child(&child);
    let in_time = ends_within(pid, LIMIT);
    if !matches!(in_time, Ok(true)) {
        // The group's number is its leader's, which has not been waited for. That it ended just now is no fault.
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let status = child.wait()?;
    if !in_time? {
        bail!("{PROGRAM} did not end within {} s", LIMIT.as_secs());
    }
    let mut bytes = Vec::new();
    said.rewind()?;
    said.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if !status.success() {
        bail!("{PROGRAM} ended with {status} and said {:?}", text.trim());
    }
    Ok(text)
}

/// Waits until a child of this process ends, and returns whether it did in time.
///
/// # Errors
/// If the kernel does not tell.
pub fn ends_within(pid: Pid, limit: Duration) -> Result<bool> {
    let process = pidfd_open(pid, PidfdFlags::empty()).context("pidfd_open fails: Linux 5.3 is needed")?;
    let until = Instant::now() + limit;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now()))?;
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)) {
            // A signal came, most likely because this very child ended.
            Err(Errno::INTR) => {}
            ended => return Ok(ended? > 0),
        }
    }
}

fn in_memory(name: &str) -> Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_goes_in_and_what_stays_behind_is_not_waited_for() {
        let mut command = Command::new("sh");
        let said = run(command.args(["-c", "read word; echo got $word; sleep 600 & echo $!"]), "it\n");
        let said = said.expect("sh runs");
        let (first, pid) = said.split_once('\n').expect("two lines");
        assert_eq!(first, "got it");
        let pid = Pid::from_raw(pid.trim().parse().expect("a number")).expect("not 0");
        rustix::process::kill_process(pid, Signal::KILL).expect("it runs");
    }

    #[test]
    fn failure_says_what_the_program_said() {
        let error =
            run(Command::new("sh").args(["-c", "echo no daemon >&2; exit 3"]), "").expect_err("it fails");
        assert!(error.to_string().contains("no daemon"), "{error}");
    }
}
