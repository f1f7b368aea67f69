//! NVIDIA GPUs through the CUDA driver, by cudarc's `sys` alone: owned handles, every result checked, no call
//! that is newer than the oldest accepted driver.

mod backing;
mod check;
mod context;
mod graph;
mod image;
mod memory;
mod module;
mod queue;
pub(crate) mod raw;
mod registered;

use super::{Device, DeviceId, DeviceInfo, Function, HostThread, Queue, Registered, Release, Reservation};
use crate::config::{Config, Handles};
use crate::error::{Error, Result};
use check::{cu, is};
use context::{Context, capability, describe};
use cudarc::driver::sys::{
    self, CUdevice, CUdevice_P2PAttribute, CUdevice_attribute, CUfunction, CUfunction_attribute, CUresult,
};
use image::Target;
use memory::{HandleType, Host, Pinned, Pool, Segment};
use module::Kernels;
use queue::Stream;
use registered::Owned;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::Arc;

/// CUDA 12.4, driver 550: the oldest that is tested, and the first with `cuFuncLoad`.
const OLDEST_DRIVER: i32 = 12040;

/// A GPU of this process.
#[derive(Debug)]
struct Gpu {
    info: DeviceInfo,
    kernels: Kernels,
    pool: Arc<Pool>,
    /// All GPUs of the process, which may access this one's heaps.
    all: Arc<[CUdevice]>,
    handles: HandleType,
    context: Arc<Context>,
}

/// Whether there is a driver with at least one GPU.
///
/// # Errors
/// If there is a driver that works with no program: too old, or not able to start.
pub(crate) fn probe() -> Result<bool> {
    match start() {
        Ok(_) => Ok(true),
        Err(Error::NoDriverLibrary | Error::NoDevice { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Starts the driver; how many GPUs it has, at least one, and its CUDA version.
fn start() -> Result<(u32, i32)> {
    // SAFETY: loads the library if it is there; it has no other effect.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriverLibrary);
    }
    let mut version = 0;
    // SAFETY: `version` may be written; the one call that is allowed before cuInit.
    unsafe { cu!(cuDriverGetVersion(&mut version), "asking for the driver's version") }.map_err(not_there)?;
    if version < OLDEST_DRIVER {
        return Err(Error::DriverTooOld { found: version, needed: OLDEST_DRIVER });
    }
    // SAFETY: no precondition.
    unsafe { cu!(cuInit(0), "starting CUDA") }.map_err(not_there)?;
    let mut count: c_int = 0;
    // SAFETY: `count` may be written.
    unsafe { cu!(cuDeviceGetCount(&mut count), "counting GPUs") }.map_err(not_there)?;
    match u32::try_from(count) {
        Ok(count) if count > 0 => Ok((count, version)),
        _ => Err(Error::NoDevice { cause: None }),
    }
}

/// Results that mean "nothing here" as such.
fn not_there(error: Error) -> Error {
    if is(&error, CUresult::CUDA_ERROR_NO_DEVICE) {
        return Error::NoDevice { cause: Some(error.to_string()) };
    }
    if is(&error, CUresult::CUDA_ERROR_STUB_LIBRARY) {
        return Error::NoDriverLibrary;
    }
    error
}

/// Opens as many GPUs as there are PEs, or all, or the one of a PE that is a process; the program's kernels are loaded
/// on each, but for those on demand.
pub(super) fn open(config: &Config) -> Result<Vec<Arc<dyn Device>>> {
    let (count, driver) = start()?;
    let ordinals = match &config.launched {
        Some(launched) => launched.local_rank % count..launched.local_rank % count + 1,
        None => 0..count.min(config.pes),
    };
    let devices: Arc<[CUdevice]> = ordinals.clone().map(device).collect::<Result<_>>()?;
    let handles = match config.handles {
        Handles::Descriptors => HandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        Handles::Fabric => HandleType::CU_MEM_HANDLE_TYPE_FABRIC,
    };
    let infos: Vec<DeviceInfo> = ordinals
        .zip(devices.iter())
        .map(|(ordinal, &device)| describe(device, ordinal, memory::granule(device, handles)?))
        .collect::<Result<_>>()?;
    check_peers(&devices, &infos)?;
    let mut gpus: Vec<Arc<dyn Device>> = Vec::with_capacity(devices.len());
    for (info, &device) in infos.into_iter().zip(devices.iter()) {
        let context = Arc::new(Context::new(device)?);
        if config.handles == Handles::Fabric {
            check_fabric(&context, &info)?;
        }
        let target = Target { capability: capability(device)?, driver, name: info.name.clone() };
        gpus.push(Arc::new(Gpu {
            info,
            kernels: Kernels::open(context.clone(), target, config.loading, config.trace.is_some()),
            pool: Arc::new(Pool::new(context.clone())?),
            all: devices.clone(),
            handles,
            context,
        }));
    }
    Ok(gpus)
}

fn device(ordinal: u32) -> Result<CUdevice> {
    let mut device = 0;
    // SAFETY: `device` may be written.
    unsafe { cu!(cuDeviceGet(&mut device, ordinal as c_int), "opening a GPU") }?;
    Ok(device)
}

/// Refuses a GPU whose memory cannot be named to others of its NVLink fabric. The attribute alone does not tell: the driver
/// also refuses where no IMEX channel lets this process.
fn check_fabric(context: &Arc<Context>, info: &DeviceInfo) -> Result<()> {
    let supported = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED;
    let fabric = HandleType::CU_MEM_HANDLE_TYPE_FABRIC;
    let tried = match context::attribute(context.device, supported)? {
        0 => None,
        _ => Some(memory::try_handles(context, fabric, info.granule)),
    };
    match tried {
        Some(Ok(())) => Ok(()),
        Some(Err(error))
            if !is(&error, CUresult::CUDA_ERROR_NOT_PERMITTED)
                && !is(&error, CUresult::CUDA_ERROR_NOT_SUPPORTED) =>
        {
            Err(error)
        }
        _ => {
            let what = "its memory has no fabric handles here, which need an NVLink fabric whose IMEX service lets this process: unset OXSHMEM_HANDLES to use descriptors";
            Err(Error::DeviceUnsupported { device: info.name.clone(), what })
        }
    }
}

/// Every GPU must reach every other one's memory, atomics included.
fn check_peers(devices: &[CUdevice], infos: &[DeviceInfo]) -> Result<()> {
    let pairs = (0..devices.len()).flat_map(|a| (0..devices.len()).map(move |b| (a, b)));
    for (a, b) in pairs.filter(|(a, b)| a != b) {
        check_pair((devices[a], &infos[a].name), (devices[b], &infos[b].name))?;
    }
    Ok(())
}

/// One GPU must reach another one's memory, atomics included.
fn check_pair(from: (CUdevice, &str), to: (CUdevice, &str)) -> Result<()> {
    let refuse = |what| Error::NoPeerAccess { from: from.1.into(), to: to.1.into(), what };
    let (mut access, mut atomics): (c_int, c_int) = (0, 0);
    // SAFETY: `access` may be written; both devices are ones that the driver named.
    unsafe { cu!(cuDeviceCanAccessPeer(&mut access, from.0, to.0), "asking for access between GPUs") }?;
    if access == 0 {
        return Err(refuse("access"));
    }
    let native = CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    // SAFETY: as above.
    unsafe {
        cu!(cuDeviceGetP2PAttribute(&mut atomics, native, from.0, to.0), "asking for atomics between GPUs")
    }?;
    if atomics == 0 { Err(refuse("do atomics on")) } else { Ok(()) }
}

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn enter(&self, _: u32) -> Result<Box<dyn HostThread>> {
        self.context.enter()?;
        Ok(Box::new(OnGpu(self.context.clone())))
    }

    fn check_reach(&self, other: &DeviceId, name: &str) -> Result<()> {
        if *other == self.info.id {
            return Ok(());
        }
        let (count, _) = start()?;
        for ordinal in 0..count {
            let device = device(ordinal)?;
            if context::uuid(device)? == *other {
                return check_pair((self.context.device, &self.info.name), (device, name));
            }
        }
        // Not shown to this process (CUDA_VISIBLE_DEVICES): mapping its memory will tell.
        Ok(())
    }

    fn free_memory(&self) -> Result<u64> {
        self.context.enter()?;
        memory::free_memory()
    }

    fn reserve(&self, bytes: u64, wish: u64) -> Result<Box<dyn Reservation>> {
        Ok(Box::new(Segment::new(self.context.clone(), self.all.clone(), self.handles, bytes, wish)?))
    }

    unsafe fn register_host(&self, start: NonNull<u8>, bytes: usize) -> Result<Box<dyn Registered>> {
        // SAFETY: the caller's promise.
        Ok(Box::new(unsafe { Pinned::new(self.context.clone(), start, bytes)? }))
    }

    unsafe fn register_local(&self, pe: u32, address: u64, bytes: u64) -> Result<Box<dyn Registered>> {
        // SAFETY: the caller's promise.
        Ok(Box::new(unsafe { Owned::new(self.context.clone(), (pe, &self.info), address, bytes)? }))
    }

    fn allocate_host(&self, bytes: u64) -> Result<Box<dyn Registered>> {
        Ok(Box::new(Host::new(self.context.clone(), bytes)?))
    }

    fn queue(&self) -> Result<Arc<dyn Queue>> {
        Ok(Arc::new(Stream::new(self.context.clone(), self.pool.clone())?))
    }

    fn function(&self, symbol: &'static str) -> Result<Function> {
        self.kernels.function(symbol)
    }

    fn blocks_per_multiprocessor(&self, function: Function, threads: u32, shared: u32) -> Result<u32> {
        self.context.enter()?;
        let mut blocks: c_int = 0;
        let function = function.0 as CUfunction;
        // SAFETY: `blocks` may be written; the function lives as long as self.
        unsafe {
            cu!(
                cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &mut blocks,
                    function,
                    threads as c_int,
                    shared as usize,
                ),
                "asking how many blocks fit"
            )
        }?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    fn allow_shared(&self, function: Function, bytes: u32) -> Result<()> {
        self.context.enter()?;
        let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function lives as long as self.
        unsafe {
            cu!(
                cuFuncSetAttribute(function.0 as CUfunction, most, bytes as c_int),
                "asking for more shared memory"
            )
        }
    }
}

/// A PE's thread. It may block as it likes.
struct OnGpu(Arc<Context>);

impl HostThread for OnGpu {
    fn blocked(&self, wait: &mut dyn FnMut()) {
        wait();
    }

    fn waiting(&self, wait: &mut dyn FnMut()) {
        wait();
    }

    fn release(&self) -> Release {
        Arc::new(|| {})
    }

    // Whoever comes last to a meeting does what concerns all, with the contexts of other PEs' GPUs.
    fn back(&self) {
        // It was entered before, so what the driver may say is the failure of something else, which the next call tells.
        let _ = self.0.enter();
    }
}
