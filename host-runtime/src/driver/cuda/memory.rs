//! Memory: heap segments by the driver's virtual memory management, host memory that kernels reach, and a pool
//! of local memory whose frees wait for no kernel.

use super::backing::{host_granule, retain, take_host};
use super::check::{cu, is};
use super::context::Context;
use crate::driver::{Backing, Registered, Reservation, Shareable};
use crate::error::{Error, Result};
use cudarc::driver::sys::{
    self, CUdevice, CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationGranularity_flags,
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationType, CUmemGenericAllocationHandle,
    CUmemLocation, CUmemLocationType, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUresult, CUstream,
};
use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

/// Smallest step by which heaps grow, in bytes, whatever smaller granule the driver allows.
const SMALLEST_GRANULE: u64 = 2 << 20;

fn location(device: CUdevice) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device }
}

/// How memory is named to other processes.
pub(super) type HandleType = CUmemAllocationHandleType;

/// Pinned memory of a place, exportable as a handle of this type.
pub(super) fn properties(location: CUmemLocation, handles: HandleType) -> CUmemAllocationProp {
    CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: handles,
        location,
        win32HandleMetaData: std::ptr::null_mut(),
        // SAFETY: a struct of integers, for which all zero is right.
        allocFlags: unsafe { std::mem::zeroed() },
    }
}

/// Bytes of which physical memory of a GPU's heap is a multiple, wherever it is.
pub(super) fn granule(device: CUdevice, handles: HandleType) -> Result<u64> {
    let of_device = granularity(&properties(location(device), handles))?;
    // All are powers of two.
    Ok(of_device.max(host_granule(device, handles).unwrap_or(0)).max(SMALLEST_GRANULE))
}

/// Bytes of which memory of these properties is a multiple.
pub(super) fn granularity(properties: &CUmemAllocationProp) -> Result<u64> {
    let mut bytes = 0;
    let minimum = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    let doing = "asking for the granularity of memory";
    // SAFETY: `bytes` may be written, and the properties are complete.
    unsafe { cu!(cuMemGetAllocationGranularity(&mut bytes, properties, minimum), doing) }?;
    Ok(bytes as u64)
}

/// Makes memory with handles of this type and exports it, to see whether that can be done.
pub(super) fn try_handles(context: &Arc<Context>, handles: HandleType, bytes: u64) -> Result<()> {
    let devices: Arc<[CUdevice]> = Arc::new([context.device]);
    let mut segment = Segment::new(context.clone(), devices, handles, bytes, 0)?;
    segment.create(bytes, Backing::Device)?;
    segment.export().map(drop)
}

/// Free and total bytes of the calling thread's GPU.
pub(super) fn free_memory() -> Result<u64> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both may be written.
    unsafe { cu!(cuMemGetInfo_v2(&mut free, &mut total), "asking for free GPU memory") }?;
    Ok(free as u64)
}

/// A PE's heap: reserved addresses with memory behind their first part.
#[derive(Debug)]
pub(super) struct Segment {
    context: Arc<Context>,
    base: CUdeviceptr,
    bytes: u64,
    /// Devices that may access it.
    devices: Arc<[CUdevice]>,
    handles: HandleType,
    created: Option<Created>,
    /// What is mapped: address and size.
    mapped: Vec<(CUdeviceptr, u64)>,
}

/// What was taken and not mapped yet.
#[derive(Debug)]
struct Created {
    handle: CUmemGenericAllocationHandle,
    bytes: u64,
    /// Where it is, if that is the host, which is to access it too.
    host: Option<CUmemLocation>,
}

impl Segment {
    pub(super) fn new(
        context: Arc<Context>,
        devices: Arc<[CUdevice]>,
        handles: HandleType,
        bytes: u64,
        wish: u64,
    ) -> Result<Self> {
        let mut base = 0;
        let doing = "reserving a heap's addresses";
        // SAFETY: `base` may be written; an alignment of 0 lets the driver choose, and the address is a wish.
        unsafe { cu!(cuMemAddressReserve(&mut base, bytes as usize, 0, wish, 0), doing) }?;
        Ok(Self { context, base, bytes, devices, handles, created: None, mapped: Vec::new() })
    }
}

impl Reservation for Segment {
    fn base(&self) -> u64 {
        self.base
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn create(&mut self, bytes: u64, backing: Backing) -> Result<()> {
        self.context.enter()?;
        let (handle, host) = match backing {
            Backing::Device => (take_device(self.context.device, self.handles, bytes)?, None),
            Backing::Host => {
                let (handle, host) = take_host(&self.context, self.handles, bytes)?;
                (handle, Some(host))
            }
            Backing::Existing { pe, address } => {
                (retain(&self.context, self.handles, (pe, address), bytes)?, None)
            }
        };
        self.created = Some(Created { handle, bytes, host });
        Ok(())
    }

    fn map_created(&mut self, at: u64) -> Result<()> {
        let Some(Created { handle, bytes, host }) = self.created.take() else { return Ok(()) };
        let address = self.base + at;
        // SAFETY: the range is inside the reservation and nothing is mapped there; the handle is live.
        let mapped = unsafe { cu!(cuMemMap(address, bytes as usize, 0, handle, 0), "mapping heap memory") };
        // SAFETY: a live handle, released once; a mapping keeps the memory.
        let _ = unsafe { sys::cuMemRelease(handle) };
        mapped?;
        self.mapped.push((address, bytes));
        let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access: Vec<CUmemAccessDesc> = self
            .devices
            .iter()
            .map(|&device| location(device))
            .chain(host)
            .map(|location| CUmemAccessDesc { location, flags })
            .collect();
        let doing = "letting the GPUs and the host of this process access a heap";
        // SAFETY: a whole mapping, and as many descriptors as are passed.
        unsafe { cu!(cuMemSetAccess(address, bytes as usize, access.as_ptr(), access.len()), doing) }
    }

    fn drop_created(&mut self) {
        if let Some(Created { handle, .. }) = self.created.take() {
            // SAFETY: a live handle that nothing maps, released once.
            let _ = unsafe { sys::cuMemRelease(handle) };
        }
    }

    fn export(&self) -> Result<Shareable> {
        self.context.enter()?;
        let doing = "exporting heap memory";
        let nothing = || Error::Config { what: "heap memory was exported before it was taken".into() };
        let handle = self.created.as_ref().ok_or_else(nothing)?.handle;
        if self.handles == HandleType::CU_MEM_HANDLE_TYPE_FABRIC {
            let mut name = [0u8; 64];
            let to = name.as_mut_ptr().cast::<c_void>();
            // SAFETY: a live handle made for this type, whose name has 64 bytes.
            unsafe { cu!(cuMemExportToShareableHandle(to, handle, self.handles, 0), doing) }?;
            return Ok(Shareable::Fabric(name));
        }
        let mut descriptor: c_int = -1;
        let to = (&raw mut descriptor).cast::<c_void>();
        // SAFETY: a live handle made for this type, whose name is an int.
        unsafe { cu!(cuMemExportToShareableHandle(to, handle, self.handles, 0), doing) }?;
        // SAFETY: the driver opened it for us.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        // Programs that this one starts have no use for it. If it cannot be marked, they hold it as long as they run.
        let _ = rustix::io::fcntl_setfd(&descriptor, rustix::io::FdFlags::CLOEXEC);
        Ok(Shareable::Descriptor(descriptor))
    }

    fn import(&mut self, shareable: Shareable, bytes: u64) -> Result<()> {
        self.context.enter()?;
        let doing = "importing another PE's heap memory";
        let mut handle = 0;
        match &shareable {
            Shareable::Descriptor(descriptor) => {
                let (name, of) =
                    (descriptor.as_raw_fd(), HandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
                let name = std::ptr::without_provenance_mut(name as usize);
                // SAFETY: `handle` may be written; the driver takes the descriptor's number for the pointer, and keeps
                // none of it.
                unsafe { cu!(cuMemImportFromShareableHandle(&mut handle, name, of), doing) }?;
            }
            Shareable::Fabric(name) => {
                let (name, of) = (name.as_ptr().cast_mut().cast(), HandleType::CU_MEM_HANDLE_TYPE_FABRIC);
                // SAFETY: `handle` may be written; the name has the 64 bytes of one, and is only read.
                unsafe { cu!(cuMemImportFromShareableHandle(&mut handle, name, of), doing) }?;
            }
        }
        self.created = Some(Created { handle, bytes, host: None });
        Ok(())
    }

    fn unmap(&mut self, at: u64) {
        let address = self.base + at;
        if let Some(place) = self.mapped.iter().position(|(mapped, _)| *mapped == address) {
            let (address, bytes) = self.mapped.swap_remove(place);
            let _ = self.context.enter();
            // SAFETY: exactly a mapping, which the caller vouches nothing uses.
            let _ = unsafe { sys::cuMemUnmap(address, bytes as usize) };
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.drop_created();
        let _ = self.context.enter();
        for (address, bytes) in self.mapped.drain(..) {
            // SAFETY: exactly a mapping; the run is over, so no kernel uses it.
            let _ = unsafe { sys::cuMemUnmap(address, bytes as usize) };
        }
        // SAFETY: the reservation with nothing mapped, freed once.
        let _ = unsafe { sys::cuMemAddressFree(self.base, self.bytes as usize) };
    }
}

/// Host memory that every GPU of the process reaches.
#[derive(Debug)]
pub(super) struct Pinned {
    context: Arc<Context>,
    host: NonNull<u8>,
    device: CUdeviceptr,
}

// SAFETY: plain memory; all accesses are atomic.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// # Safety
    /// Whole pages that stay mapped until this is dropped.
    pub(super) unsafe fn new(context: Arc<Context>, host: NonNull<u8>, bytes: usize) -> Result<Self> {
        context.enter()?;
        let doing = "letting GPUs reach the error records";
        let flags = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;
        let start = host.as_ptr().cast::<c_void>();
        // SAFETY: the caller's promise.
        unsafe { cu!(cuMemHostRegister_v2(start, bytes, flags), doing) }?;
        // From here on the drop unregisters it.
        let mut pinned = Self { context, host, device: 0 };
        // SAFETY: host memory that was registered as mapped.
        unsafe { cu!(cuMemHostGetDevicePointer_v2(&mut pinned.device, start, 0), doing) }?;
        Ok(pinned)
    }
}

impl Registered for Pinned {
    fn device(&self) -> u64 {
        self.device
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: registered by `new`, once; the run is over, so no kernel uses it.
        let _ = unsafe { sys::cuMemHostUnregister(self.host.as_ptr().cast::<c_void>()) };
    }
}

/// Host memory of the runtime's, zeroed, pinned, and reached by GPUs at its own address.
#[derive(Debug)]
pub(super) struct Host {
    context: Arc<Context>,
    start: NonNull<u8>,
}

// SAFETY: plain memory, which nothing here accesses.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

impl Host {
    pub(super) fn new(context: Arc<Context>, bytes: u64) -> Result<Self> {
        context.enter()?;
        let (doing, mut start) = ("allocating host memory", std::ptr::null_mut());
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        // SAFETY: `start` may be written.
        let taken = unsafe { cu!(cuMemHostAlloc(&mut start, bytes as usize, flags), doing) };
        let none =
            || Error::OutOfMemory { what: "pinned host memory", asked: bytes, available: 0, limit: bytes };
        match taken {
            Err(error) if is(&error, CUresult::CUDA_ERROR_OUT_OF_MEMORY) => return Err(none()),
            taken => taken?,
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(none)?;
        // SAFETY: fresh memory of this size.
        unsafe { start.write_bytes(0, bytes as usize) };
        Ok(Self { context, start })
    }
}

impl Registered for Host {
    fn device(&self) -> u64 {
        // One address for host and GPUs (CUDA Driver API, unified addressing), which every accepted GPU has.
        self.start.as_ptr().expose_provenance() as u64
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: allocated by `new`, freed once; nothing uses it any more.
        let _ = unsafe { sys::cuMemFreeHost(self.start.as_ptr().cast::<c_void>()) };
    }
}

/// Local memory of a GPU. It keeps what is freed, so that no free makes the driver wait for kernels.
#[derive(Debug)]
pub(super) struct Pool {
    context: Arc<Context>,
    pool: CUmemoryPool,
}

// SAFETY: the driver's pools may be used from any thread.
unsafe impl Send for Pool {}
// SAFETY: as above; the driver locks what it must.
unsafe impl Sync for Pool {}

impl Pool {
    pub(super) fn new(context: Arc<Context>) -> Result<Self> {
        context.enter()?;
        let doing = "making a memory pool";
        // SAFETY: a struct of integers and pointers, for which all zero is right until it is filled.
        let zeroed: CUmemPoolProps = unsafe { std::mem::zeroed() };
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: location(context.device),
            ..zeroed
        };
        let mut pool = std::ptr::null_mut();
        // SAFETY: `pool` may be written, and the properties are complete.
        unsafe { cu!(cuMemPoolCreate(&mut pool, &properties), doing) }?;
        let pool = Self { context, pool };
        let mut keep = u64::MAX;
        let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: this attribute is a u64 (driver API reference, CUmemPool_attribute).
        unsafe { cu!(cuMemPoolSetAttribute(pool.pool, threshold, (&raw mut keep).cast::<c_void>()), doing) }?;
        Ok(pool)
    }

    /// Takes memory in the order of a stream.
    pub(super) fn allocate(&self, bytes: u64, stream: CUstream) -> Result<u64> {
        let mut address = 0;
        // SAFETY: `address` may be written; pool and stream are live and of one device.
        let taken = unsafe {
            cu!(
                cuMemAllocFromPoolAsync(&mut address, bytes as usize, self.pool, stream),
                "allocating local device memory"
            )
        };
        match taken {
            Ok(()) => Ok(address),
            Err(error) if is(&error, CUresult::CUDA_ERROR_OUT_OF_MEMORY) => {
                let (available, limit) = (free_memory().unwrap_or(0), bytes);
                Err(Error::OutOfMemory { what: "local device memory", asked: bytes, available, limit })
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: made by `new`, destroyed once.
        let _ = unsafe { sys::cuMemPoolDestroy(self.pool) };
    }
}

/// Takes memory of a GPU.
fn take_device(device: CUdevice, handles: HandleType, bytes: u64) -> Result<CUmemGenericAllocationHandle> {
    let (mut handle, properties) = (0, properties(location(device), handles));
    // SAFETY: `handle` may be written, and the properties are complete.
    let made =
        unsafe { cu!(cuMemCreate(&mut handle, bytes as usize, &properties, 0), "allocating heap memory") };
    match made {
        Ok(()) => Ok(handle),
        Err(error) if is(&error, CUresult::CUDA_ERROR_OUT_OF_MEMORY) => Err(out_of_memory(bytes)),
        Err(error) => Err(error),
    }
}

fn out_of_memory(asked: u64) -> Error {
    Error::OutOfMemory { what: "device memory", asked, available: free_memory().unwrap_or(0), limit: asked }
}
