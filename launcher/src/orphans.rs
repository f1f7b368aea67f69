//! Processes that became the launcher's children because their own parent ended: what a PE left behind.
//!
//! The launcher is a subreaper, so a process whose parent ends becomes its child wherever it stands, also in a session of
//! its own. There it is found in `/proc`; its number cannot be another's before the launcher has waited for it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

use crate::say;

/// A process that was sent SIGKILL ends within this time, or hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often `/proc` is looked at while such processes end.
const TICK: Duration = Duration::from_millis(2);

/// Finds, reaps and ends orphans.
#[derive(Clone, Debug)]
pub struct Orphans {
    /// Children that are not to be touched: they were here before, or serve the job.
    kept: Vec<Pid>,
}

impl Orphans {
    /// Leaves alone the children that this process has now: they are those of whoever replaced itself by the launcher.
    pub fn none_before_now() -> Self {
        Self { kept: if has_children() { children() } else { Vec::new() } }
    }

    /// Leaves alone the children that came since, and returns them.
    pub fn keep_new(&mut self) -> Vec<Pid> {
        let mut new = children();
        new.retain(|pid| !self.kept.contains(pid));
        self.kept.extend(&new);
        new
    }

    /// Takes orphans that ended out of the kernel's table, all but those that `held` names.
    pub fn reap(&self, held: impl Fn(Pid) -> bool) {
        for pid in children().into_iter().filter(|pid| !self.kept.contains(pid) && !held(*pid)) {
            // One that still runs, or was never a child, is left as it is.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }

    /// Ends all orphans. Each that ends may leave others, which are found in the next round.
    pub fn end(&self) {
        let patience = Instant::now() + PATIENCE;
        while !self.kept.is_empty() || has_children() {
            let mut left = children();
            left.retain(|pid| !self.kept.contains(pid));
            if left.is_empty() {
                return;
            }
            for &pid in &left {
                // It may have ended meanwhile, and is still ours then.
                let _ = kill_process(pid, Signal::KILL);
            }
            self.reap(|_| false);
            if Instant::now() > patience {
                let numbers = left.iter().map(|pid| pid.as_raw_nonzero().to_string()).collect::<Vec<_>>();
                say(&format!(
                    "was killed and does not end, so it hangs in the kernel: pid {}",
                    numbers.join(", ")
                ));
                return;
            }
            thread::sleep(TICK);
        }
    }
}

/// Whether this process has children, in one system call.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, look).err() != Some(Errno::CHILD)
}

/// This process's children, ended ones too.
fn children() -> Vec<Pid> {
    let this = getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parent = |pid: &i32| parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    pids.filter(|pid| parent(pid) == Some(this)).filter_map(Pid::from_raw).collect()
}

/// The parent's number in a line of `/proc/PID/stat`: the second word after the name, which may hold anything.
fn parent(stat: &str) -> Option<i32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_whatever_the_name_holds() {
        assert_eq!(parent("12 (a) S 3) R) Z 77 12 12 0"), Some(77));
        assert_eq!(parent("12 (sh) S 1 12 12 0"), Some(1));
        assert_eq!(parent("12 (sh"), None);
    }
}
