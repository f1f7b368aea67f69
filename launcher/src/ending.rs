//! How a job ends, apart from who is told: asked politely, asked firmly, killed.
//!
//! The rules are here without processes or clocks, so that each can be tested.

use std::time::{Duration, Instant};

use rustix::process::Signal;

/// The time between a signal that a PE may handle and SIGKILL.
pub const BETWEEN_ASKING_AND_KILLING: Duration = Duration::from_secs(2);

/// How long a PE that was sent SIGKILL is waited for.
const KILLED_WAIT: Duration = Duration::from_secs(10);

/// The same when it was asked once more.
const ASKED_AGAIN: Duration = Duration::from_secs(1);

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing has happened.
    Running,
    /// A PE failed; the others may end by themselves until then.
    Grace(Instant),
    /// They were sent a signal that they may handle, and have until then.
    Asked(Instant),
    /// They were sent SIGKILL, and are waited for until then: one that hangs in the kernel does not end.
    Killed(Instant),
}

/// The end of a job.
#[derive(Clone, Debug)]
pub struct Ending {
    grace: Duration,
    phase: Phase,
    status: u8,
}

impl Ending {
    /// The end of a job that just started.
    pub fn new(grace: Duration) -> Self {
        Self { grace, phase: Phase::Running, status: 0 }
    }

    /// The exit status: that of whatever first began the end, else 0.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// A PE failed with this exit status. Returns whether this began the end.
    pub fn failed(&mut self, status: u8, now: Instant) -> bool {
        let first = self.phase == Phase::Running;
        if first {
            (self.phase, self.status) = (Phase::Grace(now + self.grace), status);
        }
        first
    }

    /// The launcher was sent a signal. Returns what to send to the PEs.
    pub fn interrupted(&mut self, signal: Signal, now: Instant) -> Option<Signal> {
        let (phase, send) = match self.phase {
            Phase::Running | Phase::Grace(_) => {
                (Phase::Asked(now + BETWEEN_ASKING_AND_KILLING), Some(signal))
            }
            Phase::Asked(_) => (Phase::Killed(now + KILLED_WAIT), Some(Signal::KILL)),
            // Whoever asks once more waits a moment longer.
            Phase::Killed(until) => (Phase::Killed(until.min(now + ASKED_AGAIN)), None),
        };
        if self.phase == Phase::Running {
            self.status = 128 + u8::try_from(signal.as_raw()).unwrap_or(0);
        }
        self.phase = phase;
        send
    }

    /// When [`Ending::expired`] is to be called.
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Grace(until) | Phase::Asked(until) | Phase::Killed(until) => Some(until),
            Phase::Running => None,
        }
    }

    /// Whether those that still run are waited for no longer.
    pub fn is_over(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Killed(until) if now >= until)
    }

    /// What to send to the PEs now, if the time of the present step is up.
    pub fn expired(&mut self, now: Instant) -> Option<Signal> {
        let (phase, send) = match self.phase {
            Phase::Grace(until) if now >= until => {
                (Phase::Asked(now + BETWEEN_ASKING_AND_KILLING), Signal::TERM)
            }
            Phase::Asked(until) if now >= until => (Phase::Killed(now + KILLED_WAIT), Signal::KILL),
            _ => return None,
        };
        self.phase = phase;
        Some(send)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    #[test]
    fn after_a_failure_come_grace_sigterm_and_sigkill() {
        let (mut ending, start) = (Ending::new(GRACE), Instant::now());
        assert_eq!((ending.deadline(), ending.status()), (None, 0));
        assert!(ending.failed(3, start));
        assert!(!ending.failed(4, start), "only the first failure counts");
        assert_eq!(ending.expired(start + GRACE - Duration::from_millis(1)), None);
        assert_eq!(ending.expired(start + GRACE), Some(Signal::TERM));
        let kill = start + GRACE + BETWEEN_ASKING_AND_KILLING;
        assert_eq!(ending.deadline(), Some(kill));
        assert_eq!(ending.expired(kill), Some(Signal::KILL));
        assert_eq!((ending.expired(kill), ending.is_over(kill), ending.status()), (None, false, 3));
        let left = kill + KILLED_WAIT;
        assert_eq!((ending.deadline(), ending.is_over(left)), (Some(left), true));
    }

    #[test]
    fn an_interrupt_is_forwarded_once_and_the_second_kills() {
        let (mut ending, start) = (Ending::new(GRACE), Instant::now());
        assert_eq!(ending.interrupted(Signal::INT, start), Some(Signal::INT));
        assert!(!ending.failed(1, start), "a PE that ends now was asked to");
        assert_eq!(ending.deadline(), Some(start + BETWEEN_ASKING_AND_KILLING));
        assert_eq!(ending.interrupted(Signal::INT, start), Some(Signal::KILL));
        assert_eq!(ending.interrupted(Signal::INT, start), None);
        assert!(ending.is_over(start + ASKED_AGAIN));
        assert_eq!(ending.status(), 130);
    }

    #[test]
    fn an_interrupt_during_the_grace_cuts_it_short_and_keeps_the_first_cause() {
        let (mut ending, start) = (Ending::new(GRACE), Instant::now());
        assert!(ending.failed(9, start));
        assert_eq!(ending.interrupted(Signal::TERM, start), Some(Signal::TERM));
        assert_eq!(ending.expired(start + BETWEEN_ASKING_AND_KILLING), Some(Signal::KILL));
        assert_eq!(ending.status(), 9);
    }
}
