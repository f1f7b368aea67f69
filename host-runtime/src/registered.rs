//! Registration: device memory that the program has allocated by other means, used as local memory of a PE.

use crate::claims::Claim;
use crate::driver;
use crate::error::{Error, Registration, Result, Unregistrable};
use crate::foreign::{Foreign, Owner};
use crate::local::DeviceVec;
use crate::pe::Pe;
use crate::shmem::Shmem;
use bytemuck::Pod;
use oxshmem_device::Global;

/// # Memory of the program's
///
/// Device memory that was allocated by other means (cudarc, PyTorch, a C library) becomes a [`DeviceVec`]: a source and
/// destination of operations of kernels, of the host and on streams. Peers do not reach it: see
/// [`buffer_register_symmetric`](Shmem::buffer_register_symmetric). On a CUDA device it is memory of the PE's own GPU, in its primary context, or
/// managed memory; on an emulated device any host memory, because emulated GPUs share the process's addresses.
impl Shmem {
    /// Registers `len` elements from `memory` on as local memory of this PE, until the vector is dropped. (NVSHMEM,
    /// `nvshmemx_buffer_register`, which is for sources and destinations too.)
    ///
    /// ```
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(2, |shmem| {
    ///     # if !shmem.is_emulated() { return Ok(()); }
    ///     let mut data = vec![shmem.my_pe(); 1000];
    ///     let inbox = shmem.alloc_zeroed::<u32>(1000)?;
    ///     // SAFETY: the vector outlives the registration, and is not used meanwhile.
    ///     let registered = unsafe { shmem.buffer_register(data.as_mut_ptr(), data.len())? };
    ///     shmem.put(&inbox, &registered, 1 - shmem.my_pe())?;
    ///     shmem.barrier_all()?;
    ///     shmem.get(&registered, &inbox, shmem.my_pe())?;
    ///     shmem.buffer_unregister(registered)?;
    ///     assert_eq!(data[999], 1 - shmem.my_pe());
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Registration`] if it is no memory that kernels of this PE reach, or a part of it is registered in this process
    /// or lies in a heap; [`Error::SizeOverflow`]; what stands against further work.
    ///
    /// # Safety
    /// The memory stays allocated until [`buffer_unregister`](Self::buffer_unregister) has returned `Ok`; if the vector is
    /// dropped instead, until a [`synchronize`](Self::synchronize) or [`barrier_all`](Self::barrier_all) after that has, or
    /// the run is over. What kernels and operations do with it is ordered by the program against every other use of it.
    #[track_caller]
    pub unsafe fn buffer_register<T: Pod>(&self, memory: *mut T, len: usize) -> Result<DeviceVec<T>> {
        driver::here();
        // SAFETY: the caller's promise.
        unsafe { self.register(memory.expose_provenance() as u64, len, Owner::new(self.my_pe(), ())) }
    }

    /// As [`buffer_register`](Self::buffer_register), and keeps `owner`, whose drop may free the memory: it is dropped when
    /// the vector was and everything that was launched before that is over, on the thread that sees it, at the latest when
    /// the run ends. If there is an error, or no byte to register, it is dropped at once. A panic of its drop is a line on stderr
    /// and nothing else.
    ///
    /// # Errors
    /// Those of [`buffer_register`](Self::buffer_register).
    ///
    /// # Safety
    /// The memory stays allocated until `owner` is dropped. What kernels and operations do with it is ordered by the program
    /// against every other use of it.
    #[track_caller]
    pub unsafe fn buffer_register_owned<T: Pod>(
        &self,
        memory: *mut T,
        len: usize,
        owner: impl Send + 'static,
    ) -> Result<DeviceVec<T>> {
        driver::here();
        // SAFETY: the caller's promise.
        unsafe { self.register(memory.expose_provenance() as u64, len, Owner::new(self.my_pe(), owner)) }
    }

    /// As [`buffer_register_owned`](Self::buffer_register_owned), for memory that nobody may write through this registration.
    ///
    /// # Errors
    /// Those of [`buffer_register`](Self::buffer_register).
    ///
    /// # Safety
    /// That of [`buffer_register_owned`](Self::buffer_register_owned).
    #[track_caller]
    pub unsafe fn buffer_register_source<T: Pod>(
        &self,
        memory: *const T,
        len: usize,
        owner: impl Send + 'static,
    ) -> Result<SourceVec<T>> {
        driver::here();
        // SAFETY: the caller's promise.
        unsafe { self.register(memory.expose_provenance() as u64, len, Owner::new(self.my_pe(), owner)) }
            .map(SourceVec)
    }

    /// Ends a registration: waits until everything that this PE has launched is over. With `Ok` the memory is the program's
    /// alone, also if a kernel has failed, which the next call tells. Given a vector that oxshmem has allocated, frees it.
    ///
    /// # Errors
    /// [`Error::WrongOwner`]; [`Error::Capturing`], [`Error::StreamStuck`], [`Error::KernelCrashed`] if kernels that may use
    /// it cannot be waited for: it must stay allocated then.
    #[track_caller]
    pub fn buffer_unregister<T: Pod>(&self, vector: impl Into<DeviceVec<T>>) -> Result<()> {
        driver::here();
        let (pe, vector) = (self.pe(), vector.into());
        if !std::sync::Arc::ptr_eq(vector.owner(), pe) {
            return Err(Error::WrongOwner { owner: vector.owner().name(), user: pe.name() });
        }
        drop(vector);
        pe.not_capturing("the end of a registration")?;
        pe.drain()
    }

    /// # Safety
    /// That of [`buffer_register_owned`](Self::buffer_register_owned).
    pub(crate) unsafe fn register<T: Pod>(
        &self,
        start: u64,
        len: usize,
        owner: Owner,
    ) -> Result<DeviceVec<T>> {
        let pe = self.pe();
        pe.ready_for_local("a registration")?;
        let overflow = || Error::SizeOverflow { elements: len as u64, element_bytes: size_of::<T>() as u64 };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(overflow)? as u64;
        if bytes == 0 {
            return Ok(DeviceVec::over(pe, 0, len));
        }
        let claim = pe.claim::<T>(start, bytes)?;
        // SAFETY: the caller's promise: the owner is dropped after what this returns.
        let memory = unsafe { pe.device.register_local(pe.me, start, bytes) }?;
        pe.lock().insert_foreign(start, bytes, Foreign::Registered { memory, claim, owner });
        Ok(DeviceVec::over(pe, start, len))
    }
}

/// The address after the last.
fn check_range<T>(start: u64, bytes: u64) -> Result<u64, Unregistrable> {
    let align = align_of::<T>() as u64;
    match start.checked_add(bytes) {
        _ if start == 0 => Err(Unregistrable::Null),
        _ if !start.is_multiple_of(align) => Err(Unregistrable::Misaligned { align }),
        None => Err(Unregistrable::BeyondAddresses),
        Some(end) => Ok(end),
    }
}

impl Pe {
    /// Takes a range of the program's memory that holds `T` and is in no other use, until what this returns is dropped.
    pub(crate) fn claim<T>(&self, start: u64, bytes: u64) -> Result<Claim> {
        let registered =
            |(start, end, pe)| Unregistrable::Overlaps { start, end, what: "registered memory", pe };
        check_range::<T>(start, bytes)
            .and_then(|end| self.apart(start, end).map(|()| end))
            .and_then(|end| self.job.claims.claim(start, end, self.me).map_err(registered))
            .map_err(|why| Error::Registration(Box::new(Registration { pe: self.me, start, bytes, why })))
    }

    /// Whether addresses touch neither a heap nor local memory of this PE.
    fn apart(&self, start: u64, end: u64) -> Result<(), Unregistrable> {
        let reserved = self.job.heap().space().reserved();
        for (pe, &base) in (0..).zip(&self.job.bases) {
            if start < base.saturating_add(reserved) && base < end {
                return Err(Unregistrable::InHeap { pe });
            }
        }
        let state = self.lock();
        match state.local.range(..end).next_back() {
            Some((&first, local)) if first + local.bytes > start => {
                let what =
                    if state.foreign.contains_key(&first) { "registered memory" } else { "a DeviceVec" };
                Err(Unregistrable::Overlaps { start: first, end: first + local.bytes, what, pe: self.me })
            }
            _ => Ok(()),
        }
    }
}

/// Registered memory that nobody may write: a source of puts by the host and on streams. Dropping it is as for
/// [`DeviceVec`].
#[derive(Debug)]
pub struct SourceVec<T: Pod>(pub(crate) DeviceVec<T>);

impl<T: Pod> SourceVec<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The handle that kernels take. It does not say that the memory must not be written.
    ///
    /// # Safety
    /// What is given the handle does not write through it.
    pub unsafe fn handle(&self) -> Global<[T]> {
        self.0.handle()
    }

    /// The elements. As [`DeviceVec::read`].
    ///
    /// # Errors
    /// Those of [`DeviceVec::read`].
    #[track_caller]
    pub fn read(&self) -> Result<Vec<T>> {
        driver::here();
        self.0.read()
    }
}

impl<T: Pod> From<SourceVec<T>> for DeviceVec<T> {
    fn from(source: SourceVec<T>) -> Self {
        source.0
    }
}
