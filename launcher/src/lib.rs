//! The launcher: starts one process per PE on this machine, tells each its rank, and leaves none behind.
//!
//! It is a library so that its parts can be tested; the program `oxshmem-run` is a call of [`run`]. It knows nothing of
//! oxshmem but a few environment variables, so it starts any program, and any program may be started by another launcher.
//!
//! How nothing is left behind:
//!
//! | what | ends with the job because |
//! |---|---|
//! | a PE | it is sent SIGKILL at the latest, and by the kernel if the launcher itself is killed ([`pes`]) |
//! | what a PE started, in its process group | the group is sent SIGKILL, while its leader is held as a zombie so that its number stays ours ([`pes`]) |
//! | what left that group | it becomes the launcher's own child when its parent ends, and is found there ([`orphans`]) |
//! | an MPS daemon that the launcher started | it is told to quit ([`mps`]) |
//!
//! Only a launcher killed by SIGKILL cannot do so: the kernel ends the PEs then, but not what they started.

pub mod control;
pub mod ending;
pub mod environment;
pub mod gpus;
pub mod job;
pub mod mps;
pub mod options;
pub mod orphans;
pub mod pes;
pub mod prefix;
pub mod program;
pub mod signals;

use std::io::Write;

use rustix::process::{getpid, set_child_subreaper};

use crate::environment::Environment;
use crate::job::Job;
use crate::options::Options;
use crate::orphans::Orphans;
use crate::program::Program;
use crate::signals::Signals;

/// Why there was no job, or no end of it that a PE gave.
#[derive(Debug)]
pub struct Refused {
    /// The exit status: a shell's for a program that cannot be run, else 1.
    pub status: u8,
    /// A sentence that says what to do.
    pub why: String,
}

impl From<anyhow::Error> for Refused {
    fn from(error: anyhow::Error) -> Self {
        Self { status: 1, why: format!("{error:#}") }
    }
}

/// Runs a job to its end and returns its exit status. To be called once, from a program's main thread: the kernel ends the
/// PEs when the thread that started them ends.
///
/// # Errors
/// If the program cannot be started, or MPS not had; no PE runs then.
pub fn run(options: &Options) -> Result<u8, Refused> {
    let program = Program::find(&options.program)?;
    // From here on signals wait in line, so that none ends the launcher before it has cleaned up.
    let signals = Signals::install()?;
    set_child_subreaper(Some(getpid())).map_err(|error| Refused::from(anyhow::Error::from(error)))?;
    let mut orphans = Orphans::none_before_now();
    let mut environment = Environment::of(options)?;
    let daemon = if options.mps { mps::ready(&mut orphans, environment.job())? } else { None };
    match &daemon {
        Some(daemon) => environment.add_mps(daemon),
        None if !options.mps => gpus::hint(options.pes).iter().for_each(|hint| say(hint)),
        None => {}
    }
    let job = Job { options, program: &program, environment: &environment, orphans: &orphans };
    let status = job.run(&signals);
    // The PEs are gone; the daemon that served them goes after them.
    drop(daemon);
    status
}

/// Prints a line on the standard error stream, with the launcher's name. Nobody may be reading it any more.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "oxshmem-run: {line}");
}
