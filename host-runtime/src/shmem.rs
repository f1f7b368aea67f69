//! The host context of a PE: who it is, barrier and recovery. Launches are in `launch.rs`, streams and events in
//! `stream.rs` and `event.rs`, what it allocates in `symmetric.rs` and `local.rs`.

use crate::driver;
use crate::error::{Error, Result};
use crate::group::{Call, GATHERED};
use crate::pe::Pe;
use bytemuck::Pod;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

/// A PE's host context. It may move to another thread, but belongs to one at a time.
///
/// Calls marked *collective* are made by every PE, or by every PE of a team where they say so, in the same order and with
/// equal arguments. They end with an error, never with a hang: if the PEs make different calls, if one fails or returns, or if one does not
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

    /// Whether this PE's device is emulated.
    pub fn is_emulated(&self) -> bool {
        self.pe.device.info().emulated
    }

    /// The number of this PE's device among those that its process sees, from 0. PEs of one process with the same number
    /// share a device.
    pub fn device_number(&self) -> u32 {
        self.pe.device.info().ordinal
    }

    /// How many multiprocessors this PE's device has.
    pub fn multiprocessors(&self) -> u32 {
        self.pe.device.info().multiprocessors
    }

    /// Bytes of this PE's device's memory that nobody uses now, as the driver says: also other programs take of it.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the driver cannot tell.
    pub fn device_memory_free(&self) -> Result<u64> {
        self.pe.device.free_memory()
    }

    /// Collective. Waits until everything that this PE launched is over, then for all PEs to have come here.
    /// What kernels before it wrote, anywhere, is then visible to kernels and copies after it on every PE.
    ///
    /// # Errors
    /// [`Error::Poisoned`](crate::Error::Poisoned), [`Error::KernelFailed`](crate::Error::KernelFailed) if a kernel of any PE failed; [`Error::PeFailed`](crate::Error::PeFailed),
    /// [`Error::Returned`](crate::Error::Returned), [`Error::Absent`](crate::Error::Absent), [`Error::CallsDiffer`](crate::Error::CallsDiffer) if not every PE comes.
    #[track_caller]
    pub fn barrier_all(&self) -> Result<()> {
        driver::here();
        let trouble = self.pe.settle().err();
        self.pe.meet(Call::BarrierAll, trouble, |_| Ok(None)).map(drop)
    }

    /// Waits until everything that this PE launched, on all its streams, is over.
    ///
    /// # Errors
    /// As [`Stream::synchronize`](crate::Stream::synchronize).
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        driver::here();
        self.pe.settle()
    }

    /// Collective. What each PE passes, by PE. For small values at the start or the end of a program: sizes, addresses,
    /// results of checks. It travels through the host's rendezvous, and waits for no kernel.
    ///
    /// # Errors
    /// [`Error::GatherTooLarge`](crate::Error::GatherTooLarge) for more than 512 bytes; those of [`barrier_all`](Self::barrier_all).
    #[track_caller]
    pub fn all_gather<T: Pod>(&self, value: &T) -> Result<Vec<T>> {
        driver::here();
        let bytes = bytemuck::bytes_of(value);
        let mut trouble = self.pe.trouble();
        if bytes.len() > GATHERED {
            let (given, limit) = (bytes.len() as u64, GATHERED as u64);
            trouble = trouble.or(Some(Error::GatherTooLarge { given, limit }));
        }
        let data = if trouble.is_none() { bytes.to_vec() } else { Vec::new() };
        let agreed = self.pe.gather(data, trouble)?;
        let values = agreed.gathered.iter().map(|of_pe| {
            // All brought as many bytes: it is a part of the call.
            bytemuck::try_pod_read_unaligned(of_pe).map_err(|error| Error::other(error.to_string()))
        });
        values.collect()
    }

    /// Collective. Makes a poisoned job usable again: waits until all kernels of all PEs have given up, then
    /// resets the runtime's own words in every heap. The contents of allocations stay as they are, signals
    /// included: set them as the next kernels need them.
    ///
    /// PEs that wait in another collective call get the failure there, so that they can come. Calling it when
    /// nothing has failed is allowed and does the same.
    ///
    /// # Errors
    /// [`Error::GlobalExit`](crate::Error::GlobalExit), which is final;
    /// [`Error::StreamStuck`](crate::Error::StreamStuck) if a kernel does not end; [`Error::Cuda`](crate::Error::Cuda) if the device is lost (a plain panic
    /// in a kernel traps, after which only a new process helps); those of a rendezvous.
    #[track_caller]
    pub fn recover(&self) -> Result<()> {
        driver::here();
        let pe = &self.pe;
        if let Some(error) = pe.job.ended() {
            return Err(error);
        }
        let drained = pe.drain();
        if let Some(exit @ Error::GlobalExit { .. }) = pe.job.poisoned() {
            return Err(exit);
        }
        pe.meet_to_recover(drained.err())?;
        // No kernel of any PE runs from here to the end of the second rendezvous.
        pe.mend();
        pe.job.board.clear_record(pe.me);
        pe.job.clear_alarm();
        let reset = pe.reset_control();
        pe.meet(Call::RecoverReset, reset.err(), |_| Ok(None)).map(drop)
    }
}
