//! Physical memory that is not made on a GPU for the heap: the host's, and what the program has made.

use super::check::{cu, is, name};
use super::context::{self, Context};
use super::memory::{HandleType, granularity, properties};
use super::registered::Found;
use crate::error::{Error, HostMemory, Registration, Result, Unregistrable};
use cudarc::driver::sys::{
    self, CUdevice, CUdevice_attribute, CUmemAllocationProp, CUmemGenericAllocationHandle, CUmemLocation,
    CUmemLocationType, CUresult,
};
use std::mem::MaybeUninit;

/// What a driver says that has no host memory for the heap (CUDA Driver API, `cuMemCreate`).
const REFUSALS: [CUresult; 4] = [
    CUresult::CUDA_ERROR_NOT_SUPPORTED,
    CUresult::CUDA_ERROR_INVALID_VALUE,
    CUresult::CUDA_ERROR_INVALID_DEVICE,
    CUresult::CUDA_ERROR_NOT_PERMITTED,
];

/// The host's memory next to a GPU: of the NUMA node that the driver names, or of the first if it names none.
pub(super) fn host_location(device: CUdevice) -> Result<CUmemLocation> {
    let node = context::attribute(device, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID)?;
    Ok(CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA, id: node.max(0) })
}

/// Bytes of which the host's memory behind a heap is a multiple; nothing where there is none.
pub(super) fn host_granule(device: CUdevice, handles: HandleType) -> Option<u64> {
    granularity(&properties(host_location(device).ok()?, handles)).ok()
}

/// Takes `bytes` of the host's memory, pinned and zeroed.
pub(super) fn take_host(
    context: &Context,
    handles: HandleType,
    bytes: u64,
) -> Result<(CUmemGenericAllocationHandle, CUmemLocation)> {
    let location = host_location(context.device)?;
    let (mut handle, properties) = (0, properties(location, handles));
    let doing = "allocating host memory for the heap";
    // SAFETY: `handle` may be written, and the properties are complete.
    match unsafe { cu!(cuMemCreate(&mut handle, bytes as usize, &properties, 0), doing) } {
        Ok(()) => Ok((handle, location)),
        Err(error) if is(&error, CUresult::CUDA_ERROR_OUT_OF_MEMORY) => {
            let what = "host memory for the symmetric heap";
            Err(Error::OutOfMemory { what, asked: bytes, available: 0, limit: bytes })
        }
        Err(error) => match REFUSALS.into_iter().find(|&refusal| is(&error, refusal)) {
            Some(refusal) => {
                let (device, node, result) = (context.device, location.id, name(refusal));
                Err(HostMemory { device, node, result }.into())
            }
            None => Err(error),
        },
    }
}

/// Retains the handle of memory that the program has made on this GPU and mapped at `address`, of which PE `pe` wants
/// `bytes`, a multiple of the granule.
pub(super) fn retain(
    context: &Context,
    handles: HandleType,
    (pe, address): (u32, u64),
    bytes: u64,
) -> Result<CUmemGenericAllocationHandle> {
    let refuse = |why| Error::Registration(Box::new(Registration { pe, start: address, bytes, why }));
    let (mut handle, doing) = (0, "asking for the handle of the program's memory");
    let at = std::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: `handle` may be written; the driver looks the address up, and accesses nothing there.
    match unsafe { cu!(cuMemRetainAllocationHandle(&mut handle, at), doing) } {
        Err(error) if is(&error, CUresult::CUDA_ERROR_INVALID_VALUE) => {
            return Err(refuse(Unregistrable::NotMappable { found: "no memory of cuMemCreate" }));
        }
        retained => retained?,
    }
    let checked = check(context, handles, handle, (address, bytes));
    if !matches!(checked, Ok(Ok(()))) {
        // SAFETY: retained above, released once.
        let _ = unsafe { sys::cuMemRelease(handle) };
    }
    checked?.map(|()| handle).map_err(refuse)
}

/// Whether memory can be a part of this GPU's heap, or why not.
fn check(
    context: &Context,
    handles: HandleType,
    handle: CUmemGenericAllocationHandle,
    (address, bytes): (u64, u64),
) -> Result<Result<(), Unregistrable>> {
    let mut properties = MaybeUninit::<CUmemAllocationProp>::zeroed();
    let (to, doing) = (properties.as_mut_ptr(), "asking what the program's memory is");
    // SAFETY: `properties` may be written; the handle is live.
    unsafe { cu!(cuMemGetAllocationPropertiesFromHandle(to, handle), doing) }?;
    // SAFETY: all of it was zeroed, or written by the driver. The kind of place is read as a number, since one that is newer
    // than the bindings is none of the enum's values.
    let (found, kind, id) = unsafe {
        let kind = (&raw const (*to).location.type_).cast::<u32>().read();
        ((*to).requestedHandleTypes.0, kind, (*to).location.id)
    };
    let device = || format!("GPU {}", context.device);
    if kind != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE as u32 {
        let found = "memory of the host".into();
        return Ok(Err(Unregistrable::OtherDevice { found, device: device() }));
    }
    if id != context.device {
        return Ok(Err(Unregistrable::OtherDevice { found: format!("GPU {id}"), device: device() }));
    }
    if found & handles.0 == 0 {
        let wanted = match handles {
            HandleType::CU_MEM_HANDLE_TYPE_FABRIC => "CU_MEM_HANDLE_TYPE_FABRIC",
            _ => "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR",
        };
        return Ok(Err(Unregistrable::NotShareable { found, wanted }));
    }
    let mapped = Found::at(address)?;
    if (mapped.start, mapped.bytes as u64) != (address, bytes) {
        let end = mapped.end().unwrap_or(mapped.start);
        return Ok(Err(Unregistrable::NotWhole { start: mapped.start, end }));
    }
    Ok(Ok(()))
}
