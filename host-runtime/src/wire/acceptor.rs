//! Takes connections from anybody and hands out those that prove themselves, with one thread and a fixed number
//! of places. A stranger can keep a place for [`HANDSHAKE_LIMIT`], or until others want it.

use super::channel::{Channel, OTHER_USER};
use super::error::WireError;
use super::listener::Listener;
use super::pending::{Pending, Step};
use super::refusals::Refusals;
use super::secret::Secret;
use super::stream::Stream;
use super::until::Until;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::io::{Errno, write};
use rustix::process::geteuid;
use std::collections::VecDeque;
use std::fmt::Display;
use std::io;
use std::mem::take;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// How many connections may be unproven at once.
const PENDING: usize = 128;
/// How long a connection may be unproven.
pub(super) const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// How many connections are accepted before those that are pending have their turn again.
const AT_ONCE: usize = 16;
/// How long nothing is accepted where there is no descriptor for it and nothing to give up.
const REST: Duration = Duration::from_millis(10);

/// Accepts the connections of one listener.
pub(crate) struct Acceptor {
    listener: Listener,
    secret: Secret,
    /// The oldest first.
    pending: VecDeque<Pending>,
    refusals: Refusals,
    stop: Stop,
    pub(super) rules: Rules,
}

/// Who may come, and how long and how many at once may take.
pub(super) struct Rules {
    pub(super) pending: usize,
    pub(super) limit: Duration,
    pub(super) uid: u32,
}

/// Ends an [`Acceptor`] from any thread.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Arc<OwnedFd>);

impl Acceptor {
    /// Accepts at `listener` who knows `secret`. `who` is the name of the service in the log.
    pub(crate) fn new(listener: Listener, secret: Secret, who: impl Into<String>) -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            listener,
            secret,
            pending: VecDeque::new(),
            refusals: Refusals::new(who),
            stop: Stop(Arc::new(event)),
            rules: Rules { pending: PENDING, limit: HANDSHAKE_LIMIT, uid: geteuid().as_raw() },
        })
    }

    /// Where it listens.
    #[cfg(test)]
    pub(crate) fn address(&self) -> &super::Address {
        self.listener.address()
    }

    /// Something that ends it.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// The next connection that proves itself; `None` if none does for so long, or this has been stopped. It is
    /// only in here that others make progress.
    ///
    /// # Errors
    /// The listener or the system failed in a way that will not pass. No stranger can cause it.
    pub(crate) fn next(&mut self, wait: Duration) -> io::Result<Option<Channel>> {
        let until = Until::after(wait);
        loop {
            self.drop_late();
            let Some(ready) = self.poll(until)? else { return Ok(None) };
            if let Some(channel) = self.serve(ready.pending) {
                return Ok(Some(channel));
            }
            if ready.listener {
                self.accept()?;
            }
            if until.passed() {
                return Ok(None);
            }
        }
    }

    /// Waits until something can be done, or the time of a pending one is over; `None` if it was stopped.
    fn poll(&self, until: Until) -> io::Result<Option<Ready>> {
        let until = self.pending.front().map_or(until, |oldest| until.or(oldest.until));
        let mut polled =
            vec![PollFd::new(&*self.stop.0, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
        polled.extend(self.pending.iter().map(|pending| PollFd::new(&pending.stream, pending.interest())));
        until.poll(&mut polled)?;
        let mut ready = polled.iter().map(|polled| !polled.revents().is_empty());
        if ready.next() == Some(true) {
            return Ok(None);
        }
        Ok(Some(Ready { listener: ready.next() == Some(true), pending: ready.collect() }))
    }

    /// Lets those go on that can, until one has proven itself. The others' turn comes again.
    fn serve(&mut self, ready: Vec<bool>) -> Option<Channel> {
        let mut done = None;
        for (pending, ready) in take(&mut self.pending).into_iter().zip(ready) {
            if ready && done.is_none() {
                done = self.advance(pending);
            } else {
                self.pending.push_back(pending);
            }
        }
        done
    }

    fn advance(&mut self, pending: Pending) -> Option<Channel> {
        match pending.advance(&self.secret) {
            Step::Waits(pending) => self.pending.push_back(pending),
            Step::Done(channel) => return Some(channel),
            Step::Refused(stream, error) => self.refuse(&stream, &error),
        }
        None
    }

    /// Takes some of the connections that wait.
    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            match self.listener.accept() {
                Ok(stream) => self.admit(stream)?,
                Err(error) => match Trouble::of(&error) {
                    Trouble::NoneWaits => return Ok(()),
                    Trouble::OfThatConnection => {}
                    // Linux looks for a descriptor before it looks for a connection.
                    Trouble::NoDescriptors if !self.has_waiting()? => return Ok(()),
                    Trouble::NoDescriptors
                        if self.drop_oldest(&"this process has no descriptors or memory left") => {}
                    // The stop is heard of meanwhile, and nothing else is there to be done.
                    Trouble::NoDescriptors => {
                        return Until::after(REST).ready(&*self.stop.0, PollFlags::IN).map(|_| ());
                    }
                    Trouble::Lasting => return Err(error),
                },
            }
        }
        Ok(())
    }

    fn has_waiting(&self) -> io::Result<bool> {
        Until::after(Duration::ZERO).ready(&self.listener, PollFlags::IN)
    }

    /// Gives a connection a place. It is greeted when its turn comes, which is next.
    fn admit(&mut self, stream: Stream) -> io::Result<()> {
        if stream.credentials().is_some_and(|(_, uid)| uid != self.rules.uid) {
            self.refuse(&stream, &OTHER_USER);
            return Ok(());
        }
        if self.pending.len() >= self.rules.pending {
            self.drop_oldest(&"others came while it had not proven itself");
        }
        self.pending.push_back(Pending::new(stream, self.rules.limit)?);
        Ok(())
    }

    fn drop_late(&mut self) {
        while self.pending.front().is_some_and(|oldest| oldest.until.passed()) {
            self.drop_oldest(&WireError::Slow { limit: self.rules.limit });
        }
    }

    /// Whether there was one.
    fn drop_oldest(&mut self, why: &dyn Display) -> bool {
        let oldest = self.pending.pop_front();
        if let Some(oldest) = &oldest {
            self.refuse(&oldest.stream, why);
        }
        oldest.is_some()
    }

    fn refuse(&mut self, stream: &Stream, why: &dyn Display) {
        self.refusals.note(&stream.peer(), why);
    }
}

/// Where something can be done.
struct Ready {
    listener: bool,
    pending: Vec<bool>,
}

impl Stop {
    /// Ends the acceptor: its call returns at once, and so does every later one.
    pub(crate) fn stop(&self) {
        // It fails only if it has been called 2^64 times, and then is stopped as well.
        let _ = write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Whether it was ended.
    pub(crate) fn stopped(&self) -> bool {
        Until::after(Duration::ZERO).ready(&*self.0, PollFlags::IN).unwrap_or(false)
    }
}

/// What an accept failed of.
enum Trouble {
    NoneWaits,
    /// It is gone, or the network said something about it: Linux tells such things here.
    OfThatConnection,
    NoDescriptors,
    Lasting,
}

impl Trouble {
    fn of(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::AGAIN) => Self::NoneWaits,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Self::NoDescriptors,
            Some(
                Errno::CONNABORTED
                | Errno::CONNRESET
                | Errno::HOSTDOWN
                | Errno::HOSTUNREACH
                | Errno::INTR
                | Errno::NETDOWN
                | Errno::NETUNREACH
                | Errno::NONET
                | Errno::NOPROTOOPT
                | Errno::OPNOTSUPP
                | Errno::PERM
                | Errno::PROTO
                | Errno::TIMEDOUT,
            ) => Self::OfThatConnection,
            _ => Self::Lasting,
        }
    }
}
