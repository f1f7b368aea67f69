//! What only NVIDIA's management library says of GPUs: free memory, and NVLink. Where it is not there, nothing of it is known.

use std::ffi::{CString, c_char, c_int, c_uint, c_ulonglong, c_void};

use libloading::{Library, Symbol};

/// `NVML_P2P_CAPS_INDEX_NVLINK` (nvml.h).
const NVLINK: c_int = 2;
/// `NVML_NVLINK_MAX_LINKS`.
const MOST_LINKS: c_uint = 18;

type Handle = *mut c_void;

/// The library, ready.
pub(super) struct Nvml(Library);

/// One GPU.
pub(super) struct Device<'a> {
    nvml: &'a Nvml,
    handle: Handle,
}

/// `nvmlMemory_t`.
#[repr(C)]
#[derive(Default)]
struct Memory {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

impl Nvml {
    pub(super) fn open() -> Option<Self> {
        // SAFETY: loading the library runs its constructors; this process exists for that alone.
        let nvml = Self(unsafe { Library::new("libnvidia-ml.so.1") }.ok()?);
        // SAFETY: the prototype is the manual's (nvml.h).
        let init = unsafe { nvml.call::<unsafe extern "C" fn() -> c_int>("nvmlInit_v2") }?;
        // SAFETY: it takes nothing.
        (unsafe { init() } == 0).then_some(nvml)
    }

    /// # Safety
    /// `F` is the prototype of the function of this name.
    unsafe fn call<F>(&self, name: &str) -> Option<Symbol<'_, F>> {
        // SAFETY: the caller's.
        unsafe { self.0.get::<F>(name.as_bytes()) }.ok()
    }

    /// The GPU at this place on the PCI bus.
    pub(super) fn device(&self, bus: &str) -> Option<Device<'_>> {
        type ByBus = unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int;
        let bus = CString::new(bus).ok()?;
        // SAFETY: the prototype is the manual's (nvml.h).
        let call = unsafe { self.call::<ByBus>("nvmlDeviceGetHandleByPciBusId_v2") }?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: a string that ends in a 0, and one handle, which the call writes.
        (unsafe { call(bus.as_ptr(), &mut handle) } == 0).then_some(Device { nvml: self, handle })
    }
}

impl Device<'_> {
    /// Bytes of memory that nobody uses.
    pub(super) fn free(&self) -> Option<u64> {
        type Call = unsafe extern "C" fn(Handle, *mut Memory) -> c_int;
        // SAFETY: the prototype is the manual's (nvml.h).
        let call = unsafe { self.nvml.call::<Call>("nvmlDeviceGetMemoryInfo") }?;
        let mut memory = Memory::default();
        // SAFETY: a handle of the library's, and one struct, which the call writes.
        (unsafe { call(self.handle, &mut memory) } == 0).then_some(memory.free)
    }

    /// NVLinks that are up.
    pub(super) fn links(&self) -> Option<u32> {
        type Call = unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int;
        // SAFETY: the prototype is the manual's (nvml.h).
        let call = unsafe { self.nvml.call::<Call>("nvmlDeviceGetNvLinkState") }?;
        let is_up = |link: &c_uint| {
            let mut state = 0;
            // SAFETY: a handle of the library's, and one int, which the call writes. A GPU without the link is an error.
            (unsafe { call(self.handle, *link, &mut state) }) == 0 && state != 0
        };
        Some((0..MOST_LINKS).filter(is_up).count() as u32)
    }

    /// Whether it reaches the other one over NVLink.
    pub(super) fn nvlink_to(&self, other: &Self) -> Option<bool> {
        type Call = unsafe extern "C" fn(Handle, Handle, c_int, *mut c_int) -> c_int;
        // SAFETY: the prototype is the manual's (nvml.h).
        let call = unsafe { self.nvml.call::<Call>("nvmlDeviceGetP2PStatus") }?;
        let mut status = 0;
        // SAFETY: handles of the library's, and one int, which the call writes: 0 is NVML_P2P_STATUS_OK.
        (unsafe { call(self.handle, other.handle, NVLINK, &mut status) } == 0).then_some(status == 0)
    }
}
