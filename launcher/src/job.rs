//! One job from the first PE's start to the end of the last process.

use std::time::Instant;

use anyhow::Result;
use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGTSTP};

use crate::ending::Ending;
use crate::environment::Environment;
use crate::options::Options;
use crate::orphans::Orphans;
use crate::pes::{End, Pe, Pes};
use crate::prefix::Prefixer;
use crate::program::Program;
use crate::signals::{ENDING, Signals};
use crate::{Refused, say};

/// What a job needs.
#[derive(Debug)]
pub struct Job<'a> {
    /// The command line.
    pub options: &'a Options,
    /// What to start.
    pub program: &'a Program,
    /// What to tell the PEs.
    pub environment: &'a Environment,
    /// Whom not to end.
    pub orphans: &'a Orphans,
}

impl Job<'_> {
    /// Runs it and returns its exit status. Nothing of it runs afterwards.
    ///
    /// # Errors
    /// If a PE cannot be started or the kernel does not tell of it.
    pub fn run(&self, signals: &Signals) -> Result<u8, Refused> {
        if let Some(signal) = signals.asked_to_end() {
            return Ok(128 + u8::try_from(signal).unwrap_or(0));
        }
        let status = self.start_and_watch(signals);
        // The PEs' process groups are gone; what left them is not.
        self.orphans.end();
        let (status, prefixer) = status?;
        // If nobody reads the output, a further signal ends the wait.
        let lost = prefixer.and_then(|prefixer| prefixer.finish(|| signals.asked_to_end().is_some()));
        let status = status.map_err(Refused::from)?;
        match lost {
            Some(error) => {
                say(&format!("what the PEs printed could not be written: {error}"));
                Ok(status.max(1))
            }
            None => Ok(status),
        }
    }

    fn start_and_watch(&self, signals: &Signals) -> Result<(Result<u8>, Option<Prefixer>), Refused> {
        let Options { pes, prefix, .. } = *self.options;
        let (mut pes, streams) =
            Pes::start(pes, self.program, self.environment, prefix, &|| signals.asked_to_end())?;
        signals.started();
        let prefixer = prefix.then(|| Prefixer::start(streams)).transpose()?;
        Ok((self.watch(&mut pes, signals), prefixer))
    }

    /// Waits until all PEs have ended, and sees to it that they do once one has failed or a signal asks for it.
    fn watch(&self, pes: &mut Pes, signals: &Signals) -> Result<u8> {
        let mut ending = Ending::new(self.options.grace);
        let mut came = Vec::new();
        loop {
            let ended = pes.newly_ended()?;
            if ended.is_empty() && came.contains(&SIGCHLD) {
                self.orphans.reap(|pid| pes.has(pid));
            }
            if let Some((failed, end)) = first_failure(&ended)
                && ending.failed(end.status(), Instant::now())
            {
                say(&format!("PE {} (pid {}) {end}", failed.rank, failed.pid.as_raw_nonzero()));
            }
            if pes.running().next().is_none() {
                return Ok(ending.status());
            }
            came = signals.wait(ending.deadline());
            let now = Instant::now();
            for &signal in &came {
                if signal == SIGTSTP {
                    stop_with(pes)?;
                } else if let Some(signal) =
                    Signal::from_named_raw(signal).filter(|_| ENDING.contains(&signal))
                    && let Some(send) = ending.interrupted(signal, now)
                {
                    pes.signal(send);
                }
            }
            if ending.is_over(now) {
                let pids = pes.running().map(|pe| pe.pid.as_raw_nonzero().to_string()).collect::<Vec<_>>();
                say(&format!("these processes hang in the kernel and are left: {}", pids.join(", ")));
                return Ok(ending.status());
            }
            if let Some(send) = ending.expired(now) {
                tell_who_remains(pes, send);
                pes.signal(send);
            }
        }
    }
}

/// The failure that began the end, of PEs that ended at about the same time: one by a signal is rather the cause of the
/// others than they of it.
fn first_failure(ended: &[Pe]) -> Option<(&Pe, End)> {
    let failures = ended.iter().filter_map(|pe| Some((pe, pe.end?))).filter(|(_, end)| end.status() != 0);
    failures.min_by_key(|(_, end)| matches!(end, End::Exited(_)))
}

/// Ctrl-Z: stops the PEs with the launcher, and lets them go on with it.
fn stop_with(pes: &Pes) -> Result<()> {
    pes.signal(Signal::STOP);
    signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
    pes.signal(Signal::CONT);
    Ok(())
}

fn tell_who_remains(pes: &Pes, send: Signal) {
    let ranks = pes.running().map(|pe| pe.rank.to_string()).collect::<Vec<_>>().join(", ");
    let sent = if send == Signal::KILL { "are killed (SIGKILL)" } else { "are asked to end (SIGTERM)" };
    say(&format!("PEs that still run {sent}: {ranks}"));
}
