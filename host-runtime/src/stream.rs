//! Streams: queues of launches of one PE. Launches of one stream run in order; those of several may run side by
//! side, and each stream has its own grid-barrier word.

use crate::driver;
use crate::enqueue::enqueue;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::pe::Pe;
use crate::shmem::Shmem;
use std::sync::Arc;

/// A queue of launches. Made by [`Shmem::stream`](crate::Shmem::stream); dropping it waits for nothing, and
/// what was launched runs on.
#[derive(Debug)]
pub struct Stream {
    pe: Arc<Pe>,
    slot: usize,
}

impl Shmem {
    /// Makes a stream. A PE has one stream from the start, the default one, that launches use which name none.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`], or what stands against further work.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self.pe())
    }
}

impl Stream {
    pub(crate) fn new(pe: &Arc<Pe>) -> Result<Self> {
        if let Some(error) = pe.trouble() {
            return Err(error);
        }
        pe.look_at_all()?;
        pe.collect()?;
        let slot = pe.new_slot()?;
        Ok(Self { pe: pe.clone(), slot })
    }

    /// Waits until everything that was launched on this stream is over.
    ///
    /// # Errors
    /// [`Error::KernelFailed`], [`Error::Poisoned`], [`Error::PeFailed`]: what a kernel or another PE failed
    /// with. [`Error::StreamStuck`] if a kernel does not end although the job has failed, or runs
    /// longer than [`Config::kernel_limit`](crate::Config::kernel_limit).
    pub fn synchronize(&self) -> Result<()> {
        if let Some(error) = self.pe.job.ended() {
            return Err(error);
        }
        self.pe.not_capturing("waiting for a stream")?;
        self.pe.drain_slot(self.slot)?;
        self.pe.trouble().map_or(Ok(()), Err)
    }

    /// Whether everything that was launched on this stream is over. Does not wait.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the driver cannot tell.
    pub fn is_idle(&self) -> Result<bool> {
        if let Some(error) = self.pe.job.ended() {
            return Err(error);
        }
        self.pe.not_capturing_on(self.slot, "asking whether the stream is idle")?;
        match self.pe.queue_of(self.slot) {
            Some(queue) => self.pe.look(self.slot, &*queue),
            None => Ok(true),
        }
    }

    /// Marks the end of what was launched on this stream so far.
    ///
    /// # Errors
    /// What stands against further work; [`Error::Cuda`] if the driver refuses.
    pub fn record(&self) -> Result<Event> {
        Event::record(&self.pe, self.slot)
    }

    /// Has what is launched on this stream from now on wait for everything before `event`, on the stream where it was
    /// recorded. Returns at once.
    ///
    /// # Errors
    /// [`Error::WrongOwner`] for an event of another PE; [`Error::Capturing`] while this stream records a graph; what stands
    /// against further work; [`Error::Cuda`] if the driver refuses.
    #[track_caller]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        driver::here();
        event.check_owner(&self.pe)?;
        self.pe.not_capturing_on(self.slot, "waiting for an event of another stream")?;
        enqueue(&self.pe, self.slot, "(wait for an event)", &[], |queue| queue.wait(event.mark()))
    }

    /// The PE, and the stream's slot.
    pub(crate) fn parts(&self) -> (&Arc<Pe>, usize) {
        (&self.pe, self.slot)
    }

    /// The stream's slot, if it is `pe`'s.
    pub(crate) fn slot_of(&self, pe: &Arc<Pe>) -> Result<usize> {
        if Arc::ptr_eq(&self.pe, pe) {
            Ok(self.slot)
        } else {
            Err(Error::WrongOwner { owner: self.pe.name(), user: pe.name() })
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(Some(slot)) = self.pe.lock().streams.get_mut(self.slot) {
            slot.dropped = true;
        }
    }
}
