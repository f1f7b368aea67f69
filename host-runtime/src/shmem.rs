//! The host context of a PE: who it is, its heap, its streams, barrier and recovery. Launches are in
//! `launch.rs`, what it allocates in `symmetric.rs` and `local.rs`.

use crate::error::{Error, Result};
use crate::event::Event;
use crate::group::{Call, Outcome};
use crate::launch::{Described, room};
use crate::pe::Pe;
use crate::stream::Stream;
use oxshmem_device::launch::Kernel;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A PE's host context. It may move to another thread, but belongs to one at a time.
///
/// Calls marked *collective* are made by every PE, in the same order and with equal arguments. They end with
/// an error, never with a hang: if the PEs make different calls, if one fails or returns, or if one does not
/// come within the deadline.
#[derive(Debug)]
pub struct Shmem {
    pe: Arc<Pe>,
    /// One thread at a time.
    _not_sync: PhantomData<Cell<()>>,
}

impl Shmem {
    pub(crate) fn new(pe: Arc<Pe>) -> Self {
        Self { pe, _not_sync: PhantomData }
    }

    pub(crate) fn pe(&self) -> &Arc<Pe> {
        &self.pe
    }

    /// This PE's number, `0 .. n_pes`.
    pub fn my_pe(&self) -> u32 {
        self.pe.me
    }

    /// How many PEs the job has.
    pub fn n_pes(&self) -> u32 {
        self.pe.job.n_pes
    }

    /// The name of this PE's kind of device.
    pub fn device_name(&self) -> &str {
        &self.pe.device.info().model
    }

    /// Collective. Waits until everything that this PE launched is over, then for all PEs to have come here.
    /// What kernels before it wrote, anywhere, is then visible to kernels and copies after it on every PE.
    ///
    /// # Errors
    /// [`Error::Poisoned`], [`Error::KernelFailed`] if a kernel of any PE failed; [`Error::PeFailed`],
    /// [`Error::Returned`], [`Error::Absent`], [`Error::CallsDiffer`] if not every PE comes.
    pub fn barrier_all(&self) -> Result<()> {
        let trouble = self.pe.settle().err();
        self.pe.meet(Call::BarrierAll, trouble, || Ok(Outcome::Done))?;
        // Poison that came while this PE waited.
        self.pe.trouble().map_or(Ok(()), Err)
    }

    /// Waits until everything that this PE launched, on all its streams, is over.
    ///
    /// # Errors
    /// As [`Stream::synchronize`].
    pub fn synchronize(&self) -> Result<()> {
        self.pe.settle()
    }

    /// Makes a stream. A PE has one stream from the start, the default one, that launches use which name none.
    ///
    /// # Errors
    /// [`Error::TooManyStreams`], or what stands against further work.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(&self.pe)
    }

    /// Marks the end of what was launched on the default stream so far.
    ///
    /// # Errors
    /// As [`Stream::record`].
    pub fn record(&self) -> Result<Event> {
        Event::record(&self.pe, 0)
    }

    /// How many blocks of `threads` threads of the collective kernel `K` this PE can launch now: what its
    /// share of the device holds, less what its unfinished collective launches hold.
    ///
    /// # Errors
    /// Those of a launch for want of device code; [`Error::Cuda`] if the driver refuses.
    pub fn resident_blocks<K: Kernel>(&self, threads: u32) -> Result<u32> {
        let kernel = Described::of::<K>();
        let mut state = self.pe.lock();
        let room = room(&self.pe, &mut state, &kernel, threads, K::SHARED_BYTES, None)?;
        Ok(u32::try_from(room.available).unwrap_or(u32::MAX))
    }

    /// Collective. Makes a poisoned job usable again: waits until all kernels of all PEs have given up, then
    /// resets the runtime's own words in every heap. The contents of allocations stay as they are, signals
    /// included: set them as the next kernels need them.
    ///
    /// PEs that wait in another collective call get the failure there, so that they can come. Calling it when
    /// nothing has failed is allowed and does the same.
    ///
    /// # Errors
    /// [`Error::StreamStuck`] if a kernel does not end; [`Error::Cuda`] if the device is lost (a plain panic
    /// in a kernel traps, after which only a new process helps); those of a rendezvous.
    pub fn recover(&self) -> Result<()> {
        let pe = &self.pe;
        if let Some(error) = pe.job.ended() {
            return Err(error);
        }
        let drained = pe.drain();
        pe.meet_to_recover(drained.err())?;
        // No kernel of any PE runs from here to the end of the second rendezvous.
        pe.mend();
        pe.job.clear_record(pe.me);
        let reset = pe.reset_control();
        let job = pe.job.clone();
        let reset = pe.meet(Call::RecoverReset, reset.err(), move || {
            job.clear_alarm();
            Ok(Outcome::Done)
        });
        reset.map(drop)
    }

    /// Collective. Frees a vector on every PE: the range may be handed out again at once. It first waits until
    /// everything that this PE launched is over.
    ///
    /// # Errors
    /// [`Error::WrongOwner`] if it is another PE's or run's; those of [`barrier_all`](Self::barrier_all).
    pub fn free<T: crate::symmetric::Element>(&self, vector: crate::symmetric::SymVec<T>) -> Result<()> {
        vector.check_owner(self)?;
        let id = vector.id();
        let settled = self.pe.settle();
        drop(vector);
        self.pe.meet(Call::Free(id), settled.err(), || Ok(Outcome::Done))?;
        Ok(())
    }

    /// Collective part of an allocation: takes the range, grows the heap if it must.
    pub(crate) fn allocate(&self, call: Call) -> Result<Arc<crate::alloc::Allocation>> {
        let pe = &self.pe;
        let looked = match pe.trouble() {
            Some(error) => Err(error),
            None => pe.look_at_all().and_then(|()| pe.collect()),
        };
        let job = pe.job.clone();
        let outcome = pe.meet(call.clone(), looked.err(), move || {
            let mut heap = job.heap();
            let Call::Alloc { holds, elements, element_bytes, .. } = call else { return Ok(Outcome::Done) };
            let allocation = heap.allocate(holds, elements, element_bytes)?;
            job.mapped.store(heap.mapped(), Ordering::Release);
            Ok(Outcome::Allocated(allocation))
        })?;
        match outcome {
            Outcome::Allocated(allocation) => {
                if allocation.bytes > 0 {
                    pe.lock().symmetric.insert(allocation.offset, allocation.clone());
                }
                Ok(allocation)
            }
            Outcome::Done => Err(Error::other("an allocation returned nothing")),
        }
    }
}
