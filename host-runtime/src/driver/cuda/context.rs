//! A GPU's primary context, which all PEs of the process on this GPU share, and what the driver says about the
//! GPU.

use super::check::cu;
use crate::driver::{DeviceId, DeviceInfo};
use crate::error::{Error, Result};
use cudarc::driver::sys::{self, CUcontext, CUdevice, CUdevice_attribute as Attribute};
use std::ffi::{CStr, c_int};

/// Oldest compute capability that kernels are compiled for.
const OLDEST: (i32, i32) = (8, 0);

/// A retained primary context.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) device: CUdevice,
    context: CUcontext,
}

// SAFETY: the driver's contexts may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks what it must.
unsafe impl Sync for Context {}

impl Context {
    pub(super) fn new(device: CUdevice) -> Result<Self> {
        let mut context = std::ptr::null_mut();
        // SAFETY: `context` may be written; the device is one that the driver named.
        unsafe { cu!(cuDevicePrimaryCtxRetain(&mut context, device), "opening a GPU") }?;
        Ok(Self { device, context })
    }

    /// Whether a context that the driver names is this one.
    pub(super) fn is(&self, other: CUcontext) -> bool {
        self.context == other
    }

    /// Makes this the calling thread's context. Cheap when it is already.
    pub(super) fn enter(&self) -> Result<()> {
        // SAFETY: the context is retained as long as self lives.
        unsafe { cu!(cuCtxSetCurrent(self.context), "choosing a GPU") }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once by `new`; everything that used it holds an Arc of self and is gone.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// An attribute of a device.
pub(super) fn attribute(device: CUdevice, attribute: Attribute) -> Result<i32> {
    let mut value: c_int = 0;
    // SAFETY: `value` may be written; the device is one that the driver named.
    unsafe { cu!(cuDeviceGetAttribute(&mut value, attribute, device), "asking what a GPU can do") }?;
    Ok(value)
}

/// The device's UUID.
pub(super) fn uuid(device: CUdevice) -> Result<DeviceId> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: `uuid` may be written; the device is one that the driver named.
    unsafe { cu!(cuDeviceGetUuid_v2(&mut uuid, device), "asking for a GPU's UUID") }?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// The device's compute capability.
pub(super) fn capability(device: CUdevice) -> Result<(i32, i32)> {
    Ok((
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}

/// What is fixed about a GPU.
///
/// # Errors
/// [`Error::DeviceUnsupported`] if it lacks what oxshmem needs.
pub(super) fn describe(device: CUdevice, ordinal: u32, granule: u64) -> Result<DeviceInfo> {
    let mut name = [0; 256];
    // SAFETY: the buffer has the length that is passed.
    unsafe {
        cu!(cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device), "asking for a GPU's name")
    }?;
    // SAFETY: the driver ends the name with NUL inside the buffer, which was zeroed besides.
    let model = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let name = format!("{model} (GPU {ordinal})");
    let mut memory = 0;
    // SAFETY: `memory` may be written.
    unsafe { cu!(cuDeviceTotalMem_v2(&mut memory, device), "asking for a GPU's memory") }?;
    let number = |of| attribute(device, of).map(|value| u32::try_from(value).unwrap_or(0));
    for (needed, what) in [
        (Attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, "it cannot launch cooperative kernels"),
        (Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "it has no unified addressing"),
        (
            Attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED,
            "it has no virtual memory management",
        ),
        (Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, "it has no memory pools"),
    ] {
        if number(needed)? == 0 {
            return Err(Error::DeviceUnsupported { device: name, what });
        }
    }
    if capability(device)? < OLDEST {
        let what = "oxshmem needs compute capability 8.0 (Ampere) or newer";
        return Err(Error::DeviceUnsupported { device: name, what });
    }
    Ok(DeviceInfo {
        name,
        model,
        emulated: false,
        ordinal,
        id: uuid(device)?,
        multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory: memory as u64,
        granule,
        max_block_threads: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_block: [
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        max_grid: [
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
            number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
        ],
        max_shared: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        // The kernels' clock is %globaltimer, in nanoseconds (PTX ISA 10.23).
        copy_engine: true,
        ticks_per_second: 1_000_000_000,
    })
}
