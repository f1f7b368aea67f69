//! `--mps`: NVIDIA's Multi-Process Service, which lets several processes run on one GPU at once.
//!
//! Without it the driver gives the GPU to one process after another, so a PE that waits for another on the same GPU waits
//! for its own turn to pass. A daemon that runs is used and left as it is; else the job gets one of its own, which ends
//! with it.

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use rustix::process::Pid;

use crate::control::{Control, LOGS, PIPES, PROGRAM, ends_within};
use crate::orphans::Orphans;
use crate::say;

/// What to do if there is no MPS.
const REMEDY: &str = "run without --mps, where PEs on one GPU take turns, or with one PE per GPU";

/// A daemon that was started answers within this time.
const START: Duration = Duration::from_secs(10);

/// How often one that was just started is asked.
const TICK: Duration = Duration::from_millis(20);

/// A daemon that was told to quit ends within this time.
const QUIT: Duration = Duration::from_secs(10);

/// A daemon of this job's own. Dropping it ends it.
#[derive(Debug)]
pub struct Daemon {
    control: Control,
    folder: PathBuf,
    processes: Vec<Pid>,
    /// Ends what the daemon leaves.
    others: Orphans,
}

/// Finds or starts a daemon; `None` if one runs already. One that is started is not taken for an orphan.
///
/// # Errors
/// If there is none to be had: a sentence that says what to do.
pub fn ready(orphans: &mut Orphans, name: &str) -> Result<Option<Daemon>> {
    let control = Control::find().with_context(|| {
        format!("--mps needs {PROGRAM}, which is not on the PATH; it comes with the driver; {REMEDY}")
    })?;
    if control.answers() {
        return Ok(None);
    }
    let daemon = Daemon::start(&control, orphans, name);
    daemon.map(Some).map_err(|error| anyhow!("MPS does not start: {error:#}; {REMEDY}"))
}

impl Daemon {
    fn start(control: &Control, orphans: &mut Orphans, name: &str) -> Result<Self> {
        let folder = env::temp_dir().join(format!("oxshmem-mps-{name}"));
        let create = |folder: &PathBuf| DirBuilder::new().mode(0o700).create(folder);
        create(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let control = control.at(&folder.join("pipe"));
        // From here on, dropping it removes what there is.
        let mut daemon = Self { control, folder, processes: Vec::new(), others: orphans.clone() };
        let [pipes, logs] = ["pipe", "log"].map(|name| daemon.folder.join(name));
        create(&pipes)?;
        create(&logs)?;
        let started = daemon.control.start(&logs);
        daemon.processes = orphans.keep_new();
        started?;
        let patience = Instant::now() + START;
        while let Err(error) = daemon.control.ask("get_server_list") {
            if Instant::now() > patience {
                return Err(error);
            }
            thread::sleep(TICK);
        }
        Ok(daemon)
    }

    /// What the PEs need to know in order to find it.
    pub fn variables(&self) -> [(&'static str, PathBuf); 2] {
        [(PIPES, self.folder.join("pipe")), (LOGS, self.folder.join("log"))]
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.control.answers() {
            match self.control.ask("quit") {
                Ok(_) => {
                    let patience = Instant::now() + QUIT;
                    for &pid in &self.processes {
                        // One that hangs is killed below.
                        let _ = ends_within(pid, patience.saturating_duration_since(Instant::now()));
                    }
                }
                Err(error) => say(&format!("MPS does not quit and is killed: {error:#}")),
            }
        }
        self.others.end();
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            say(&format!("{} cannot be removed: {error}", self.folder.display()));
        }
    }
}
