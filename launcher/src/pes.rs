//! The PEs as processes: how they start, how one looks whether they ended, how their process groups are signalled.
//!
//! Each PE leads a process group, so that what it starts can be ended with it. A PE that ended is held as a zombie until
//! the job's end: its number, which is the group's, cannot become another's while it is.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitIdStatus, getpid, getppid, getrlimit,
    kill_process_group, set_parent_process_death_signal, setrlimit, waitid,
};

use crate::Refused;
use crate::environment::Environment;
use crate::program::Program;

/// How long PEs that were sent SIGKILL are waited for at the end, all together, and how often is looked.
const LAST_WAIT: Duration = Duration::from_secs(10);
/// See [`LAST_WAIT`].
const LAST_LOOK: Duration = Duration::from_millis(2);

/// How a PE ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl End {
    fn of(status: &WaitIdStatus) -> Self {
        match status.terminating_signal() {
            Some(signal) => Self::Killed(signal),
            None => Self::Exited(status.exit_status().unwrap_or(0)),
        }
    }

    /// The exit status that a shell would show.
    pub fn status(self) -> u8 {
        let status = match self {
            Self::Exited(status) => status,
            Self::Killed(signal) => 128 + signal,
        };
        u8::try_from(status).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exited(status) => write!(f, "exited with status {status}"),
            Self::Killed(signal) => match signal_hook::low_level::signal_name(signal) {
                Some(name) => write!(f, "was killed by signal {signal} ({name})"),
                None => write!(f, "was killed by signal {signal}"),
            },
        }
    }
}

/// A PE that was started.
#[derive(Clone, Copy, Debug)]
pub struct Pe {
    /// Its rank.
    pub rank: u32,
    /// Its process, which leads the process group of the same number.
    pub pid: Pid,
    /// How it ended, if it did.
    pub end: Option<End>,
}

/// A PE's standard output and error stream.
#[derive(Debug)]
pub struct Streams {
    /// The PE's rank.
    pub rank: u32,
    /// The read end of its standard output.
    pub out: OwnedFd,
    /// The read end of its standard error stream.
    pub err: OwnedFd,
}

/// The PEs of a job. Dropping them ends them.
#[derive(Debug, Default)]
pub struct Pes(Vec<Pe>);

impl Pes {
    /// Starts `count` PEs. With `piped`, their output comes through the pipes that are returned, else it goes where the
    /// launcher's goes.
    ///
    /// # Errors
    /// If one cannot be started, or `interrupted` names a signal; those that were started are ended then.
    pub fn start(
        count: u32,
        program: &Program,
        environment: &Environment,
        piped: bool,
        interrupted: &dyn Fn() -> Option<i32>,
    ) -> Result<(Self, Vec<Streams>), Refused> {
        let descriptors = piped.then(|| enough_descriptors(count)).flatten();
        let (mut pes, mut streams) = (Self::default(), Vec::new());
        for rank in 0..count {
            if let Some(signal) = interrupted() {
                let why = format!("a signal came when {rank} of {count} PEs had been started; none runs");
                return Err(Refused { status: 128 + u8::try_from(signal).unwrap_or(0), why });
            }
            let mut command = Command::new(&program.file);
            command.arg0(&program.name).args(&program.arguments).stdin(Stdio::null());
            if piped {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
            environment.set(&mut command, rank);
            end_with_launcher(&mut command, descriptors);
            let refused = |error: io::Error| refusal(program, rank, count, &error);
            let mut child = command.process_group(0).spawn().map_err(refused)?;
            pes.0.push(Pe { rank, pid: Pid::from_child(&child), end: None });
            if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
                streams.push(Streams { rank, out: out.into(), err: err.into() });
            }
        }
        Ok((pes, streams))
    }

    /// Those that still run.
    pub fn running(&self) -> impl Iterator<Item = &Pe> {
        self.0.iter().filter(|pe| pe.end.is_none())
    }

    /// Whether `pid` is a PE.
    pub fn has(&self, pid: Pid) -> bool {
        self.0.iter().any(|pe| pe.pid == pid)
    }

    /// Looks which PEs ended since the last look, and keeps how.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn newly_ended(&mut self) -> Result<Vec<Pe>> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let mut ended = Vec::new();
        for pe in self.0.iter_mut().filter(|pe| pe.end.is_none()) {
            if let Some(status) = waitid(WaitId::Pid(pe.pid), look)? {
                pe.end = Some(End::of(&status));
                ended.push(*pe);
            }
        }
        Ok(ended)
    }

    /// Sends a signal to all PEs' process groups, also of those that ended.
    pub fn signal(&self, signal: Signal) {
        for pe in &self.0 {
            // The group's number is ours while its leader, a zombie perhaps, has not been waited for. That there is nobody
            // left to signal is no fault.
            let _ = kill_process_group(pe.pid, signal);
        }
    }
}

impl Drop for Pes {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let until = Instant::now() + LAST_WAIT;
        for pe in self.0.drain(..) {
            while !reaped(pe.pid) && Instant::now() < until {
                std::thread::sleep(LAST_LOOK);
            }
        }
    }
}

/// Takes a zombie away; whether there is none any more.
fn reaped(pid: Pid) -> bool {
    !matches!(
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG),
        Ok(None) | Err(Errno::INTR)
    )
}

/// Has the kernel end the process when the launcher ends, however that happens. `descriptors` is its limit of open files.
fn end_with_launcher(command: &mut Command, descriptors: Option<Rlimit>) {
    let launcher = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the launcher ended before the line above, nothing would end this process.
        if getppid() != Some(launcher) {
            return Err(Errno::SRCH.into());
        }
        if let Some(limit) = &descriptors {
            setrlimit(Resource::Nofile, Rlimit { current: limit.current, maximum: limit.maximum })?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec, `prepare` makes system calls only: it allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) };
}

/// Raises the limit of open files as far as it goes if `count` PEs' pipes need it, and returns the former one.
fn enough_descriptors(count: u32) -> Option<Rlimit> {
    // Two pipes for each PE; some for the launcher and for the one that is being started.
    let needed = 2 * u64::from(count) + 64;
    let limit = getrlimit(Resource::Nofile);
    let short = limit.current.is_some_and(|current| current < needed);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    (short && setrlimit(Resource::Nofile, raised).is_ok()).then_some(limit)
}

fn refusal(program: &Program, rank: u32, count: u32, error: &io::Error) -> Refused {
    let file = program.file.display();
    let errno = Errno::from_io_error(error);
    let (status, remedy) = match errno {
        Some(Errno::NOENT) => (126, ": the interpreter or loader that it names is not on this machine"),
        Some(Errno::ACCESS | Errno::PERM) => (126, ": it or its interpreter is not executable"),
        Some(Errno::NOEXEC) => (126, ": it is no program for this machine"),
        Some(Errno::TOOBIG) => (126, ": the arguments and the environment are too long"),
        Some(Errno::AGAIN) => (1, ": the limit of processes is reached (ulimit -u)"),
        Some(Errno::MFILE | Errno::NFILE) => (1, ": the limit of open files is reached (ulimit -n)"),
        _ => (1, ""),
    };
    Refused {
        status,
        why: format!("PE {rank} of {count} cannot be started ({file}: {error}){remedy}; none runs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_words_and_a_shells_status() {
        assert_eq!(End::Exited(2).to_string(), "exited with status 2");
        assert_eq!(End::Killed(9).to_string(), "was killed by signal 9 (SIGKILL)");
        assert_eq!(End::Killed(44).to_string(), "was killed by signal 44");
        assert_eq!((End::Exited(255).status(), End::Killed(9).status()), (255, 137));
    }
}
