//! Local device memory of a PE: scratch, weights, results. Peers cannot reach it. It is allocated here, or the program's own
//! (`registered.rs`).

use crate::driver;
use crate::error::{Error, Result};
use crate::pe::Pe;
use crate::shmem::Shmem;
use crate::symmetric::zeroed_values;
use bytemuck::Pod;
use oxshmem_device::Global;
use oxshmem_device::launch::Arg;
use std::marker::PhantomData;
use std::sync::Arc;

/// `len` elements of `T` in this PE's device memory: allocated by oxshmem, or registered
/// ([`Shmem::buffer_register`]). Dropping it never blocks: the memory is given back when
/// what was launched before the drop is over. The host methods wait until everything that this PE launched is
/// over, then copy.
pub struct DeviceVec<T: Pod> {
    pe: Arc<Pe>,
    /// 0 if it has no bytes.
    address: u64,
    len: usize,
    of: PhantomData<fn() -> T>,
}

impl Shmem {
    /// Allocates `len` zeroed elements of local device memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::SizeOverflow`]; what stands against further work.
    #[track_caller]
    pub fn device_zeroed<T: Pod>(&self, len: usize) -> Result<DeviceVec<T>> {
        driver::here();
        let vector = self.device_vec(len)?;
        if vector.bytes() > 0 {
            // SAFETY: fresh memory of this size that nothing knows yet.
            unsafe { vector.pe.copies.zero(vector.address, vector.bytes())? };
        }
        Ok(vector)
    }

    /// Copies `values` into new local device memory.
    ///
    /// # Errors
    /// As [`device_zeroed`](Self::device_zeroed).
    #[track_caller]
    pub fn device_from_slice<T: Pod>(&self, values: &[T]) -> Result<DeviceVec<T>> {
        driver::here();
        let vector = self.device_vec(values.len())?;
        vector.copy_in(values)?;
        Ok(vector)
    }

    fn device_vec<T: Pod>(&self, len: usize) -> Result<DeviceVec<T>> {
        let pe = self.pe();
        pe.ready_for_local("an allocation of local memory")?;
        let overflow = || Error::SizeOverflow { elements: len as u64, element_bytes: size_of::<T>() as u64 };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(overflow)? as u64;
        let limit = pe.device.info().memory;
        if bytes > limit {
            let (what, available) = ("local device memory", pe.device.free_memory()?);
            return Err(Error::OutOfMemory { what, asked: bytes, available, limit });
        }
        let mut address = 0;
        if bytes > 0 {
            address = pe.copies.allocate(bytes)?;
            pe.lock().insert_local(address, bytes);
        }
        Ok(DeviceVec::over(pe, address, len))
    }
}

impl<T: Pod> DeviceVec<T> {
    /// A vector over local memory that the PE knows; address 0 if it has no bytes.
    pub(crate) fn over(pe: &Arc<Pe>, address: u64, len: usize) -> Self {
        Self { pe: pe.clone(), address, len, of: PhantomData }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The handle that kernels take. It does not keep the memory: a launch with the handle of a dropped vector
    /// is an error.
    pub fn handle(&self) -> Global<[T]> {
        // SAFETY: the memory is there for this many elements, aligned to 256 bytes; a launch checks that it
        // still is, and it is given back only when earlier launches are over.
        unsafe { Global::from_parts(self.address, self.len as u64) }
    }

    /// The elements.
    ///
    /// # Errors
    /// What a kernel or another PE failed with; [`Error::Cuda`] if the driver refuses.
    #[track_caller]
    pub fn read(&self) -> Result<Vec<T>> {
        driver::here();
        let mut values = zeroed_values(self.len);
        self.read_into(&mut values)?;
        Ok(values)
    }

    /// Copies the first `values.len()` elements into `values`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are fewer; those of [`read`](Self::read).
    #[track_caller]
    pub fn read_into(&self, values: &mut [T]) -> Result<()> {
        driver::here();
        self.pe.settle()?;
        self.check_range(values.len())?;
        if values.is_empty() || size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: the range was checked, and no kernel of this PE, which alone reaches it, runs.
        unsafe { self.pe.copies.read(self.address, bytemuck::cast_slice_mut(values)) }
    }

    /// Copies `values` into the first elements.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are fewer; those of [`read`](Self::read).
    #[track_caller]
    pub fn write(&self, values: &[T]) -> Result<()> {
        driver::here();
        self.pe.settle()?;
        self.copy_in(values)
    }

    /// Waits for nothing.
    pub(crate) fn copy_in(&self, values: &[T]) -> Result<()> {
        self.check_range(values.len())?;
        if values.is_empty() || size_of::<T>() == 0 {
            return Ok(());
        }
        // SAFETY: as in `read_into`, or the memory is fresh.
        unsafe { self.pe.copies.write(self.address, bytemuck::cast_slice(values)) }
    }

    fn check_range(&self, count: usize) -> Result<()> {
        if count <= self.len {
            return Ok(());
        }
        Err(Error::OutOfRange { start: 0, count: count as u64, len: self.len as u64 })
    }

    pub(crate) fn owner(&self) -> &Arc<Pe> {
        &self.pe
    }

    fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }
}

impl<T: Pod> Drop for DeviceVec<T> {
    fn drop(&mut self) {
        if self.address != 0 {
            self.pe.retire(self.address);
        }
    }
}

impl<T: Pod> std::fmt::Debug for DeviceVec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeviceVec(on PE {}: {} elements at {:#x})", self.pe.me, self.len, self.address)
    }
}

impl<T: Pod> Arg<Global<[T]>> for DeviceVec<T> {
    fn to_param(&self) -> Global<[T]> {
        self.handle()
    }
}

impl<T: Pod> Arg<Global<[T]>> for &DeviceVec<T> {
    fn to_param(&self) -> Global<[T]> {
        self.handle()
    }
}
