//! Events: points in a stream that the host can ask about, wait for, and measure the time between.

use crate::driver::{Mark, Queue};
use crate::error::{Error, Result};
use crate::pe::Pe;
use crate::shmem::Shmem;
use std::sync::Arc;
use std::time::Duration;

/// A point in a stream: everything that was launched on it before [`record`](crate::Stream::record).
#[derive(Debug)]
pub struct Event {
    pe: Arc<Pe>,
    slot: usize,
    queue: Arc<dyn Queue>,
    mark: Box<dyn Mark>,
}

impl Shmem {
    /// Marks the end of what was launched on the default stream so far.
    ///
    /// # Errors
    /// As [`Stream::record`](crate::Stream::record).
    pub fn record(&self) -> Result<Event> {
        Event::record(self.pe(), 0)
    }
}

impl Event {
    pub(crate) fn record(pe: &Arc<Pe>, slot: usize) -> Result<Self> {
        if let Some(error) = pe.trouble() {
            return Err(error);
        }
        pe.not_capturing_on(slot, "an event")?;
        let Some(queue) = pe.queue_of(slot) else {
            return Err(Error::Config { what: "the event names a stream that does not exist".into() });
        };
        let mark = queue.record().inspect_err(|error| pe.lock().note_failure(error))?;
        Ok(Self { pe: pe.clone(), slot, queue, mark })
    }

    pub(crate) fn mark(&self) -> &dyn Mark {
        &*self.mark
    }

    /// Refuses an event of another PE or run.
    pub(crate) fn check_owner(&self, pe: &Arc<Pe>) -> Result<()> {
        if Arc::ptr_eq(&self.pe, pe) {
            Ok(())
        } else {
            Err(Error::WrongOwner { owner: self.pe.name(), user: pe.name() })
        }
    }

    /// Whether everything before the event is over. Does not wait. Never true if a kernel before it failed on
    /// the emulator.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the driver cannot tell; [`Error::KernelCrashed`].
    pub fn is_done(&self) -> Result<bool> {
        self.mark.is_done()
    }

    /// Waits until everything before the event is over.
    ///
    /// # Errors
    /// As [`Stream::synchronize`](crate::Stream::synchronize).
    pub fn synchronize(&self) -> Result<()> {
        if let Some(error) = self.pe.job.ended() {
            return Err(error);
        }
        self.pe.not_capturing("waiting for an event")?;
        // A kernel that failed leaves its stream idle and the mark not reached.
        let over = || Ok(self.mark.is_done()? || self.pe.look(self.slot, &*self.queue)?);
        self.pe.wait_for(self.slot, over, |attempt, longest| self.mark.pause(attempt, longest))?;
        self.pe.trouble().map_or(Ok(()), Err)
    }

    /// The time from `earlier` to this event, both done. On a GPU measured by the GPU, to about 0.5 µs.
    ///
    /// # Errors
    /// [`Error::Config`] if one of them is not done, or they are events of different kinds of device.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Duration> {
        if !self.is_done()? || !earlier.is_done()? {
            return Err(Error::Config { what: "the time between events is known when both are done".into() });
        }
        self.mark.since(&*earlier.mark)
    }
}
