//! The PEs of a job as one of them sees them: where collective host calls meet, and where it shows that another PE has
//! failed or returned. In one process they meet in memory; of several processes, that of PE 0 serves the rendezvous,
//! and the others bring their arrivals over a connection each.
//!
//! | file | what it holds |
//! |---|---|
//! | `call.rs` | what PEs bring and leave with |
//! | `rendezvous/` | the rendezvous itself, in the process that serves it |
//! | `message.rs`, `errors.rs` | what processes say to each other about it |
//! | `service.rs` | PE 0's side of the connections |
//! | `link.rs` | another PE's side of its connection |
//! | `watch.rs` | a thread that notices when processes end |

mod call;
mod errors;
mod link;
mod message;
mod rendezvous;
mod service;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use call::{Agreed, Arrival, Call, TEAM_BARRIER, TEAM_DESTROY, TEAM_SYNC};
pub(crate) use link::Link;
pub(crate) use message::{DeviceFacts, FromPe, GATHERED, Hello, Peer, RELEASED, Ready, ToPe, Welcome};
pub(crate) use rendezvous::Rendezvous;
pub(crate) use service::{Remote, Service};
pub(crate) use watch::{has_ended, open as open_process};

use crate::error::{Error, Result};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The least time for which a process must not have said that it can run before that means something: it says so ten
/// times a second.
const SILENCE: Duration = Duration::from_secs(1);

/// What those wait in whose closures have returned.
const END: &str = "the wait for all PEs to end";

/// Where the PEs of a job meet.
#[derive(Debug)]
pub(crate) enum Group {
    /// All are threads of this process.
    Threads(Rendezvous),
    /// This process serves the rendezvous for the others.
    Serves(Service),
    /// Another process serves it.
    Linked(Arc<Link>),
}

/// Does the common part of a call, when all have come and agree.
pub(crate) type Lead<'a> = Box<dyn FnOnce(&mut Agreed) -> Result<()> + 'a>;

impl Group {
    /// Comes to a rendezvous and waits for the others. `lead` is run when all have come: by the last of them if they
    /// are threads, while the others wait; by each process if they are processes.
    ///
    /// # Errors
    /// The own trouble; another PE's trouble or failure; [`Error::CallsDiffer`], [`Error::Absent`],
    /// [`Error::Returned`]; what `lead` returns.
    ///
    /// [`Error::CallsDiffer`]: crate::Error::CallsDiffer
    /// [`Error::Absent`]: crate::Error::Absent
    /// [`Error::Returned`]: crate::Error::Returned
    pub(crate) fn meet(&self, pe: u32, arrival: Arrival, lead: Lead<'_>) -> Result<Agreed> {
        let own_trouble = arrival.trouble.clone();
        let mut lead = Some(lead);
        let agreed = match self {
            Self::Threads(rendezvous) => rendezvous.meet(pe, arrival, lead.take()),
            Self::Serves(service) => service.rendezvous().meet(pe, arrival, None),
            Self::Linked(link) => link.meet(arrival),
        };
        if let Some(trouble) = own_trouble {
            return Err(trouble);
        }
        let mut agreed = agreed?;
        if let Some(lead) = lead {
            lead(&mut agreed)?;
        }
        Ok(agreed)
    }

    /// Notes that a PE ended with this error, and tells those that wait. Only the first failure counts.
    pub(crate) fn fail(&self, pe: u32, error: Error) {
        // What follows from another PE's failure is not a failure of its own.
        let (failed, error) = match error {
            Error::PeFailed { pe, cause } => (pe, *cause),
            error => (pe, error),
        };
        match self {
            Self::Threads(rendezvous) => rendezvous.fail(pe, failed, error),
            Self::Serves(service) => service.rendezvous().fail(pe, failed, error),
            Self::Linked(link) => link.fail(failed, error),
        }
    }

    /// Notes that a PE's closure returned, and tells those that wait.
    pub(crate) fn finish(&self, pe: u32) {
        match self {
            Self::Threads(rendezvous) => rendezvous.finish(pe),
            Self::Serves(service) => service.rendezvous().finish(pe),
            Self::Linked(link) => link.finish(),
        }
    }

    /// Waits until the closures of all PEs have returned, or one has failed. What they still compute may take any time.
    ///
    /// # Errors
    /// [`Error::Absent`] for PEs whose processes have not run for a deadline.
    pub(crate) fn wait_for_end(&self, pe: u32) -> Result<()> {
        match self {
            Self::Threads(rendezvous) => rendezvous.wait_for_end(pe),
            Self::Serves(service) => service.rendezvous().wait_for_end(pe),
            Self::Linked(link) => link.wait_for_end(),
        }
    }

    /// The first failure of another PE than `pe`, if there is one.
    pub(crate) fn failure_for(&self, pe: u32) -> Option<Error> {
        failure_for(pe, self.failed())
    }

    /// The first PE that failed, and how.
    pub(crate) fn failed(&self) -> Option<(u32, Error)> {
        match self {
            Self::Threads(rendezvous) => rendezvous.failed(),
            Self::Serves(service) => service.rendezvous().failed(),
            Self::Linked(link) => link.failed(),
        }
    }

    /// Has `then` called once a PE has failed, with its number. Set once, before anything can fail.
    pub(crate) fn on_failure(&self, then: OnFailure) {
        match self {
            Self::Threads(rendezvous) => rendezvous.on_failure(then),
            Self::Serves(service) => service.rendezvous().on_failure(then),
            Self::Linked(link) => link.on_failure(then),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Self::Linked(link) = self {
            link.close();
        }
    }
}

/// What is done once a PE has failed.
pub(crate) type OnFailure = Box<dyn Fn(u32) + Send + Sync>;

/// Where that is kept.
#[derive(Default)]
struct FailureHook(OnceLock<OnFailure>);

impl FailureHook {
    /// Sets it, once, and does it if a PE has failed already.
    fn set(&self, then: OnFailure, failed: impl FnOnce() -> Option<(u32, Error)>) {
        let _ = self.0.set(then);
        // One that came in between is told twice, which does no harm.
        if let Some((pe, _)) = failed() {
            self.call(pe);
        }
    }

    /// Does it, if it is set.
    fn call(&self, failed: u32) {
        self.0.get().inspect(|then| then(failed));
    }
}

/// The failure as PE `pe` is told of it: nothing if it is its own.
fn failure_for(pe: u32, failed: Option<(u32, Error)>) -> Option<Error> {
    let (failed, cause) = failed.filter(|(failed, _)| *failed != pe)?;
    Some(Error::of_another_pe(failed, cause))
}
