//! A moment until which something is waited for, or none, and the one wait of this layer.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// When a wait ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until(Option<Instant>);

impl Until {
    pub(super) const NEVER: Self = Self(None);

    /// That long from now. What is beyond the clock is never.
    pub(crate) fn after(time: Duration) -> Self {
        Self(Instant::now().checked_add(time))
    }

    pub(crate) fn passed(self) -> bool {
        self.0.is_some_and(|moment| moment <= Instant::now())
    }

    /// The earlier of the two.
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).min())
    }

    fn left(self) -> Option<Timespec> {
        let left = self.0?.saturating_duration_since(Instant::now());
        Timespec::try_from(left).ok()
    }

    /// Waits until something can be done with one of the descriptors; `false` if the moment came first.
    /// A descriptor whose connection is over counts: what is done with it next tells.
    pub(super) fn poll(self, descriptors: &mut [PollFd<'_>]) -> io::Result<bool> {
        loop {
            match poll(descriptors, self.left().as_ref()) {
                Ok(0) if self.passed() => return Ok(false),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The same for one descriptor.
    pub(crate) fn ready(self, descriptor: impl AsFd, what: PollFlags) -> io::Result<bool> {
        self.poll(&mut [PollFd::new(&descriptor, what)])
    }
}
