//! The few calls of the driver API that need no context (CUDA Driver API, sections 6.2 to 6.5, 6.14).

use std::ffi::{CStr, c_char, c_int, c_uint};

use anyhow::{Result, bail};
use libloading::Library;

use super::{Gpu, Mode};

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR`, `…_COMPUTE_MODE` of the driver API.
const CAPABILITY: [c_int; 2] = [75, 76];
const COMPUTE_MODE: c_int = 20;

/// `CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED`: NVLink has them, PCIe has not.
const NATIVE_ATOMICS: c_int = 3;

type Fill = unsafe extern "C" fn(*mut c_int) -> c_int;
type Device = c_int;

/// The driver, ready.
pub(super) struct Driver(Library);

impl Driver {
    pub(super) fn open() -> Result<Self> {
        // SAFETY: loading the driver library runs its constructors; this process exists for that alone.
        let library = unsafe { Library::new("libcuda.so.1") };
        let library = library.map_err(|_| anyhow::anyhow!("there is no NVIDIA driver (libcuda.so.1)"))?;
        let driver = Self(library);
        // SAFETY: the prototype is the manual's (cuda.h).
        let init = unsafe { driver.0.get::<unsafe extern "C" fn(c_uint) -> c_int>(b"cuInit\0") }?;
        // SAFETY: the flags must be 0, and are.
        check("cuInit", unsafe { init(0) })?;
        Ok(driver)
    }

    fn fill(&self, name: &str) -> Result<c_int> {
        // SAFETY: called for cuDriverGetVersion and cuDeviceGetCount only, which have this prototype.
        let call = unsafe { self.0.get::<Fill>(name.as_bytes()) }?;
        let mut value = 0;
        // SAFETY: the pointer is to one int, which the call writes.
        check(name, unsafe { call(&mut value) })?;
        Ok(value)
    }

    pub(super) fn cuda_version(&self) -> Result<String> {
        let version = self.fill("cuDriverGetVersion")?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    pub(super) fn count(&self) -> Result<c_int> {
        self.fill("cuDeviceGetCount")
    }

    pub(super) fn gpu(&self, device: Device) -> Result<Gpu> {
        type Attribute = unsafe extern "C" fn(*mut c_int, c_int, Device) -> c_int;
        type Memory = unsafe extern "C" fn(*mut usize, Device) -> c_int;
        let name = self.text("cuDeviceGetName", device)?;
        // SAFETY: the prototype is the manual's (cuda.h).
        let call = unsafe { self.0.get::<Attribute>(b"cuDeviceGetAttribute\0") }?;
        let attribute = |attribute| {
            let mut value: c_int = 0;
            // SAFETY: the pointer is to one int, which the call writes.
            check("cuDeviceGetAttribute", unsafe { call(&mut value, attribute, device) })?;
            anyhow::Ok(value.unsigned_abs())
        };
        let [major, minor] = CAPABILITY;
        let capability = (attribute(major)?, attribute(minor)?);
        let mode = match attribute(COMPUTE_MODE)? {
            2 => Mode::Prohibited,
            3 => Mode::Exclusive,
            _ => Mode::Default,
        };
        let mut memory = 0;
        // SAFETY: the prototype is the manual's (cuda.h).
        let call = unsafe { self.0.get::<Memory>(b"cuDeviceTotalMem_v2\0") }?;
        // SAFETY: the pointer is to one size_t, which the call writes.
        check("cuDeviceTotalMem", unsafe { call(&mut memory, device) })?;
        Ok(Gpu { name, capability, memory: memory as u64, mode, ..Gpu::default() })
    }

    /// Its place on the PCI bus, as in `0000:9b:00.0`.
    pub(super) fn bus(&self, device: Device) -> Result<String> {
        self.text("cuDeviceGetPCIBusId", device)
    }

    /// What cuDeviceGetName and cuDeviceGetPCIBusId say, which have this prototype.
    fn text(&self, name: &str, device: Device) -> Result<String> {
        type Text = unsafe extern "C" fn(*mut c_char, c_int, Device) -> c_int;
        let mut text = [0; 128];
        // SAFETY: the prototype is the manual's (cuda.h).
        let call = unsafe { self.0.get::<Text>(name.as_bytes()) }?;
        // SAFETY: the buffer has 128 bytes; the last stays 0.
        check(name, unsafe { call(text.as_mut_ptr(), 127, device) })?;
        // SAFETY: the buffer ends in a 0.
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    pub(super) fn reaches(&self, from: Device, to: Device) -> bool {
        type Reach = unsafe extern "C" fn(*mut c_int, Device, Device) -> c_int;
        // SAFETY: the prototype is the manual's (cuda.h).
        let Ok(call) = (unsafe { self.0.get::<Reach>(b"cuDeviceCanAccessPeer\0") }) else { return false };
        let mut reached = 0;
        // SAFETY: the pointer is to one int, which the call writes.
        let status = unsafe { call(&mut reached, from, to) };
        status == 0 && reached != 0
    }

    /// Whether atomics of one reach the other's memory as they are.
    pub(super) fn has_native_atomics(&self, from: Device, to: Device) -> bool {
        type Attribute = unsafe extern "C" fn(*mut c_int, c_int, Device, Device) -> c_int;
        // SAFETY: the prototype is the manual's (cuda.h).
        let Ok(call) = (unsafe { self.0.get::<Attribute>(b"cuDeviceGetP2PAttribute\0") }) else {
            return false;
        };
        let mut value = 0;
        // SAFETY: the pointer is to one int, which the call writes.
        let status = unsafe { call(&mut value, NATIVE_ATOMICS, from, to) };
        status == 0 && value != 0
    }
}

fn check(call: &str, status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        100 => bail!("the driver sees no GPU ({call}: CUDA_ERROR_NO_DEVICE)"),
        _ => bail!("the NVIDIA driver refuses to start ({call} returns error {status})"),
    }
}
