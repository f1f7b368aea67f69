//! Symmetric vectors whose memory is not plain memory of the device: the host's, or the program's own. Each is a growth of
//! the heap by itself, so that kernels find it as all else: at the same offset in every PE's segment.

use crate::driver::{self, Backing};
use crate::error::Result;
use crate::group::Call;
use crate::shmem::Shmem;
use crate::symmetric::{Element, SymVec};
use bytemuck::Pod;
use oxshmem_device::Reach;
use std::any::type_name;
use std::ptr::NonNull;

/// # Symmetric memory in the host's memory, and the program's own
///
/// Kernels, host operations and streams use it as any [`SymVec`]. Each vector takes whole pages of 2 MiB of the heap's
/// addresses, and counts against the heap's limit with them. Signals and atomics are in the device's memory alone: updates by
/// several GPUs to one word of the host's memory are not atomic where the GPU is on PCIe (CUDA C++ Programming Guide, "Mapped
/// Memory").
impl Shmem {
    /// Collective. Allocates `len` zeroed elements on every PE in pinned memory of its host, which all GPUs reach over the
    /// bus: for what is large and seldom used, and for what the host reads by [`SymVec::host_ptr`] without a copy.
    ///
    /// ```
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(2, |shmem| {
    ///     let inbox = shmem.alloc_host_zeroed::<u32>(1000)?;
    ///     shmem.put(inbox.slice(7, 1), &[shmem.my_pe() + 1], 1 - shmem.my_pe())?;
    ///     shmem.barrier_all()?;
    ///     let here = inbox.host_ptr().expect("it is the host's");
    ///     // SAFETY: element 7 of 1000, and nobody writes it after the barrier.
    ///     let value = unsafe { here.add(7).read() };
    ///     assert_eq!(value, 2 - shmem.my_pe());
    ///     shmem.barrier_all()
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed); [`Error::HostMemory`](crate::Error::HostMemory) if the driver of a PE's GPU has
    /// no such memory.
    #[track_caller]
    pub fn alloc_host_zeroed<T: Pod>(&self, len: usize) -> Result<SymVec<T>> {
        driver::here();
        self.alloc_backed("alloc_host_zeroed", Ok(Backing::Host), len, SymVec::zero)
    }

    /// Collective. As [`alloc_host_zeroed`](Self::alloc_host_zeroed), but element `i` of this PE's copy is `element(i)`.
    /// `element` is not called for a type without bytes.
    ///
    /// # Errors
    /// As [`alloc_host_zeroed`](Self::alloc_host_zeroed).
    #[track_caller]
    pub fn alloc_host_from_fn<T: Pod>(
        &self,
        len: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<SymVec<T>> {
        driver::here();
        self.alloc_backed("alloc_host_from_fn", Ok(Backing::Host), len, |vector| vector.fill_by(element))
    }

    /// Collective. Makes device memory that each PE's program has symmetric: `len` elements from `memory` on, the same number
    /// on every PE, with what they hold. It is mapped a second time, in the heap, for this PE and all others. (NVSHMEM,
    /// `nvshmemx_buffer_register_symmetric`.) [`free`](Self::free) ends it, on all PEs.
    ///
    /// The memory is all of what `cuMemCreate` has made on the PE's GPU and `cuMemMap` has mapped at once, with the handle
    /// type by which the job shares memory: `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`, or
    /// `CU_MEM_HANDLE_TYPE_FABRIC` with `OXSHMEM_HANDLES=fabric`. Emulated GPUs have no such memory.
    ///
    /// # Errors
    /// [`Error::Registration`](crate::Error::Registration) on the PE whose memory it is not, and an error that names the PE on
    /// the others; as [`alloc_zeroed`](Self::alloc_zeroed). The heap is as before then.
    ///
    /// # Safety
    /// The memory stays allocated and mapped until [`free`](Self::free) has returned `Ok`, or the run is over. Kernels that
    /// use it by its own address and kernels that use it as symmetric memory do not run at the same time, unless they order
    /// the two by a proxy fence (PTX ISA, `fence.proxy.alias`): it has two addresses.
    #[track_caller]
    pub unsafe fn buffer_register_symmetric<T: Pod>(&self, memory: *mut T, len: usize) -> Result<SymVec<T>> {
        driver::here();
        let (pe, start) = (self.pe(), memory.expose_provenance() as u64);
        let (how, backing) = ("buffer_register_symmetric", Backing::Existing { pe: pe.me, address: start });
        let Some(bytes) = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes > 0) else {
            // No memory is used; of a length that overflows all PEs have the error.
            return self.alloc_backed(how, Ok(backing), len, |_| Ok(()));
        };
        let (claim, backing) = match pe.claim::<T>(start, bytes as u64) {
            Ok(claim) => (Some(claim), Ok(backing)),
            Err(error) => (None, Err(error)),
        };
        let mut vector = self.alloc_backed(how, backing, len, |_| Ok(()))?;
        vector.keep(claim);
        Ok(vector)
    }

    fn alloc_backed<T: Pod>(
        &self,
        how: &'static str,
        backing: Result<Backing>,
        len: usize,
        fill: impl FnOnce(&SymVec<T>) -> Result<()>,
    ) -> Result<SymVec<T>> {
        let (holds, element_bytes) = (type_name::<T>(), size_of::<T>() as u64);
        // Of which kind the memory is, the PEs agree by what they call.
        let call = Call::Alloc { how, holds, elements: len as u64, element_bytes };
        self.alloc_as(call, backing, len, Reach::World, fill)
    }
}

impl<T: Element> SymVec<T> {
    /// Where the host finds this PE's copy, if it is in the host's memory (`alloc_host_…`). It is memory of this
    /// vector, aligned to 256 bytes, until the vector is dropped. The host sees what kernels of this PE wrote once they are
    /// over ([`Shmem::synchronize`]), and what other PEs wrote after a [`Shmem::barrier_all`]; what the host writes is
    /// seen by what is launched after it, and by other PEs after a barrier.
    pub fn host_ptr(&self) -> Option<NonNull<T>> {
        let start = std::ptr::with_exposed_provenance_mut(self.address() as usize);
        NonNull::new(start).filter(|_| self.is_host())
    }
}
