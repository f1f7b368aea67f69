//! Signals as messages: each is put in line by a thread, and the launcher takes them one after another.
//!
//! A handler may do next to nothing; whoever takes a message may do everything.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator;

/// Signals that ask for the end of the job.
pub const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// The signals that came and were not looked at yet.
#[derive(Debug)]
pub struct Signals {
    received: Receiver<i32>,
    /// Whether PEs are being started, which may wait for a file system for ever: a second signal then ends the launcher,
    /// and the kernel the PEs.
    starting: Arc<AtomicBool>,
}

impl Signals {
    /// Takes over the signals that end the launcher or tell it of a child. One that whoever started the launcher had
    /// ignored stays so, as `nohup` wants it.
    ///
    /// # Errors
    /// If the kernel gives no handler or thread.
    pub fn install() -> Result<Self> {
        let ignored = ignored();
        let wanted = ENDING.into_iter().chain([SIGTSTP]).filter(|signal| !is_in(*signal, ignored));
        let mut signals =
            iterator::Signals::new(wanted.chain([SIGCHLD])).context("signals cannot be handled")?;
        let (sender, received) = channel();
        let starting = Arc::new(AtomicBool::new(true));
        let still_starting = starting.clone();
        let forward = move || {
            let mut asked = 0;
            for signal in signals.forever() {
                asked += u32::from(ENDING.contains(&signal));
                if asked > 1 && still_starting.load(Ordering::Acquire) {
                    std::process::exit(128 + signal);
                }
                if sender.send(signal).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("signals".into())
            .spawn(forward)
            .context("there is no thread for signals")?;
        Ok(Self { received, starting })
    }

    /// Waits for signals and returns all that came; none if the time is up.
    pub fn wait(&self, until: Option<Instant>) -> Vec<i32> {
        let first = match until {
            Some(until) => self.received.recv_timeout(until.saturating_duration_since(Instant::now())),
            None => self.received.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        first.into_iter().chain(self.received.try_iter()).collect()
    }

    /// Notes that all PEs have been started.
    pub fn started(&self) {
        self.starting.store(false, Ordering::Release);
    }

    /// The first signal that asks for the end, of those that came so far.
    pub fn asked_to_end(&self) -> Option<i32> {
        self.received.try_iter().find(|signal| ENDING.contains(signal))
    }
}

/// The set of signals that this process ignores, bit `s - 1` for signal `s`.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_in(signal: i32, set: u64) -> bool {
    set >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_of_ignored_signals_is_the_kernels() {
        // Rust's runtime ignores this one before main.
        assert!(is_in(signal_hook::consts::SIGPIPE, ignored()));
        assert!(!is_in(signal_hook::consts::SIGSEGV, ignored()));
    }
}
