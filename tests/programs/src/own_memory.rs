//! Memory that oxshmem has not allocated and that kernels of a PE reach: of its GPU, or the host's if that is emulated; and
//! such as can become symmetric.

use cudarc::driver::sys;
use oxshmem::{Error, Result, Shmem};

/// It, until dropped; nothing uses it then.
#[derive(Debug)]
pub enum OwnMemory {
    /// The host's.
    Host(Vec<u32>),
    /// The GPU's, by its address.
    Gpu(sys::CUdeviceptr),
}

impl OwnMemory {
    /// Takes memory for `len` elements, in the GPU's primary context, which the PE's thread is in.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(shmem: &Shmem, len: usize) -> Result<Self> {
        if shmem.is_emulated() {
            return Ok(Self::Host(vec![shmem.my_pe(); len]));
        }
        let mut start = 0;
        // SAFETY: `start` may be written; the driver was started by the run.
        match unsafe { sys::cuMemAlloc_v2(&mut start, len * size_of::<u32>()) } {
            sys::CUresult::CUDA_SUCCESS => Ok(Self::Gpu(start)),
            refused => Err(Error::other(format!("cuMemAlloc: {refused:?}"))),
        }
    }

    /// Its first element.
    pub fn start(&mut self) -> *mut u32 {
        match self {
            Self::Host(values) => values.as_mut_ptr(),
            Self::Gpu(start) => std::ptr::with_exposed_provenance_mut(*start as usize),
        }
    }
}

impl Drop for OwnMemory {
    fn drop(&mut self) {
        if let Self::Gpu(start) = *self {
            // SAFETY: allocated by `new`, freed once; the owner says that nothing uses it.
            let _ = unsafe { sys::cuMemFree_v2(start) };
        }
    }
}

/// Memory of a GPU that can be mapped a second time, as a symmetric registration does; until dropped.
#[derive(Debug)]
pub struct Mappable {
    start: sys::CUdeviceptr,
    bytes: usize,
}

impl Mappable {
    /// Takes at least `bytes` bytes on the GPU of a PE, which its process may share by a descriptor.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn new(shmem: &Shmem, bytes: usize) -> Result<Self> {
        let (mut device, mut granule, mut handle, mut start) = (0, 0, 0, 0);
        let minimum = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        // SAFETY: a struct of integers and a pointer, for which all zero is right but for what is set below.
        let mut properties: sys::CUmemAllocationProp = unsafe { std::mem::zeroed() };
        properties.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.requestedHandleTypes =
            sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        // SAFETY: both may be written, and the properties are complete when they are read.
        unsafe {
            told("cuDeviceGet", sys::cuDeviceGet(&mut device, shmem.device_number() as i32))?;
            let type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
            properties.location = sys::CUmemLocation { type_, id: device };
            let asked = sys::cuMemGetAllocationGranularity(&mut granule, &properties, minimum);
            told("cuMemGetAllocationGranularity", asked)?;
        }
        let bytes = bytes.next_multiple_of(granule.max(2 << 20));
        let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access = sys::CUmemAccessDesc { location: properties.location, flags };
        // SAFETY: fresh memory at fresh addresses of its size; the mapping keeps it when the handle is released.
        unsafe {
            told("cuMemCreate", sys::cuMemCreate(&mut handle, bytes, &properties, 0))?;
            told("cuMemAddressReserve", sys::cuMemAddressReserve(&mut start, bytes, 0, 0, 0))?;
            told("cuMemMap", sys::cuMemMap(start, bytes, 0, handle, 0))?;
            told("cuMemSetAccess", sys::cuMemSetAccess(start, bytes, &access, 1))?;
            told("cuMemRelease", sys::cuMemRelease(handle))?;
        }
        Ok(Self { start, bytes })
    }

    /// Its first element.
    pub fn start(&self) -> *mut u32 {
        std::ptr::with_exposed_provenance_mut(self.start as usize)
    }

    /// Copies it out from its own address.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn read(&self, to: &mut [u32]) -> Result<()> {
        let bytes = size_of_val(to).min(self.bytes);
        // SAFETY: as many bytes as both have; nobody writes them meanwhile, as the caller says.
        told("cuMemcpyDtoH", unsafe { sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), self.start, bytes) })
    }
}

impl Drop for Mappable {
    fn drop(&mut self) {
        // SAFETY: mapped and reserved so by `new`; the owner says that nothing uses it.
        unsafe {
            let _ = sys::cuMemUnmap(self.start, self.bytes);
            let _ = sys::cuMemAddressFree(self.start, self.bytes);
        }
    }
}

/// What a call of the driver said.
fn told(call: &str, result: sys::CUresult) -> Result<()> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        refused => Err(Error::other(format!("{call}: {refused:?}"))),
    }
}
