//! Pinned host memory, which copies on a stream read and write without waiting, and kernels as well.

use crate::driver;
use crate::error::{Error, Result};
use crate::foreign::Foreign;
use crate::local::DeviceVec;
use crate::pe::Pe;
use crate::shmem::Shmem;
use crate::state::State;
use bytemuck::Pod;
use oxshmem_device::Global;
use oxshmem_device::launch::Arg;

/// Host memory comes in powers of two of bytes, from this on, so that what was dropped fits what comes next.
const LEAST: u64 = 4096;

/// `len` elements of `T` in pinned host memory of this PE. Copies on a stream move it at once and in order
/// ([`SymVec::read_on`](crate::SymVec::read_on), [`write_on`](crate::SymVec::write_on), [`Shmem::put_on`],
/// [`get_on`](Shmem::get_on)); kernels reach it too, over the bus. The host methods wait until everything that this PE
/// launched is over, then copy. Dropping it never blocks: the memory stays until what was launched before is over, and is
/// used again by later vectors.
#[derive(Debug)]
pub struct HostVec<T: Pod>(pub(crate) DeviceVec<T>);

impl Shmem {
    /// Allocates `len` zeroed elements of pinned host memory. The driver may wait for the device's kernels to pin it, so do it
    /// before launching one that waits for what this PE does afterwards.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::SizeOverflow`]; [`Error::Emulated`] if the system has no addresses for it; what
    /// stands against further work.
    #[track_caller]
    pub fn host_zeroed<T: Pod>(&self, len: usize) -> Result<HostVec<T>> {
        driver::here();
        self.host_vec(len)
    }

    /// Copies `values` into new pinned host memory.
    ///
    /// # Errors
    /// Those of [`host_zeroed`](Self::host_zeroed).
    #[track_caller]
    pub fn host_from_slice<T: Pod>(&self, values: &[T]) -> Result<HostVec<T>> {
        driver::here();
        let vector = self.host_vec(values.len())?;
        vector.0.copy_in(values)?;
        Ok(vector)
    }

    fn host_vec<T: Pod>(&self, len: usize) -> Result<HostVec<T>> {
        let pe = self.pe();
        pe.ready_for_local("an allocation of host memory")?;
        let overflow = || Error::SizeOverflow { elements: len as u64, element_bytes: size_of::<T>() as u64 };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(overflow)? as u64;
        let address = if bytes > 0 {
            pe.allocate_host(bytes.checked_next_power_of_two().ok_or_else(overflow)?)?
        } else {
            0
        };
        Ok(HostVec(DeviceVec::over(pe, address, len)))
    }
}

impl Pe {
    /// Zeroed host memory: used before, if there is some of this size, else new.
    fn allocate_host(&self, bytes: u64) -> Result<u64> {
        let bytes = bytes.max(LEAST);
        let spare = self.lock().take_spare(bytes);
        let used = spare.is_some();
        let memory = spare.map_or_else(|| self.new_host_memory(bytes), Ok)?;
        let address = memory.device();
        self.lock().insert_foreign(address, bytes, Foreign::Host { memory, bytes });
        if used {
            // SAFETY: memory of this size that nothing else knows.
            unsafe { self.copies.zero(address, bytes)? };
        }
        Ok(address)
    }

    /// Memory of the system's. What is kept for later goes first if there is no more.
    fn new_host_memory(&self, bytes: u64) -> Result<Box<dyn driver::Registered>> {
        self.device.allocate_host(bytes).or_else(|error| {
            let spare = std::mem::take(&mut self.lock().spare);
            if spare.is_empty() {
                return Err(error);
            }
            drop(spare);
            self.device.allocate_host(bytes)
        })
    }
}

impl State {
    fn take_spare(&mut self, bytes: u64) -> Option<Box<dyn driver::Registered>> {
        let at = self.spare.iter().position(|(_, of)| *of == bytes)?;
        Some(self.spare.swap_remove(at).0)
    }
}

impl<T: Pod> HostVec<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The handle that kernels take. It does not keep the memory: a launch with the handle of a dropped vector is an error.
    pub fn handle(&self) -> Global<[T]> {
        self.0.handle()
    }

    /// The elements, when everything that this PE launched is over.
    ///
    /// # Errors
    /// Those of [`DeviceVec::read`].
    #[track_caller]
    pub fn read(&self) -> Result<Vec<T>> {
        driver::here();
        self.0.read()
    }

    /// Copies the first `values.len()` elements into `values`, when everything that this PE launched is over.
    ///
    /// # Errors
    /// Those of [`DeviceVec::read_into`].
    #[track_caller]
    pub fn read_into(&self, values: &mut [T]) -> Result<()> {
        driver::here();
        self.0.read_into(values)
    }

    /// Copies `values` into the first elements, when everything that this PE launched is over.
    ///
    /// # Errors
    /// Those of [`DeviceVec::write`].
    #[track_caller]
    pub fn write(&self, values: &[T]) -> Result<()> {
        driver::here();
        self.0.write(values)
    }
}

impl<T: Pod> Arg<Global<[T]>> for HostVec<T> {
    fn to_param(&self) -> Global<[T]> {
        self.handle()
    }
}

impl<T: Pod> Arg<Global<[T]>> for &HostVec<T> {
    fn to_param(&self) -> Global<[T]> {
        self.handle()
    }
}
