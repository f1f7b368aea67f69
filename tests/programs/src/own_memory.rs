//! Memory that oxshmem has not allocated and that kernels of a PE reach: of its GPU, or the host's if that is emulated.

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
