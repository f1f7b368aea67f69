//! What the NVIDIA driver says of this machine's GPUs.
//!
//! The driver library is opened in a process of its own (this program, started again), because a driver that is half
//! installed may crash or hang whoever loads it.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use libloading::Library;

use crate::process;

/// The hidden argument that makes a program of this crate the probe.
pub const PROBE: &str = "probe-gpus";

/// A driver that says nothing for this long is broken. The first start after a boot may take half a minute with 8 GPUs.
const LIMIT: Duration = Duration::from_secs(120);

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR` of the driver API.
const CAPABILITY: [c_int; 2] = [75, 76];

/// The driver and its GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpus {
    /// The CUDA version that the driver serves, as in `12.8`.
    pub cuda: String,
    /// The driver's own version, as in `570.86.15`, or `unknown`.
    pub driver: String,
    /// The GPUs.
    pub gpus: Vec<Gpu>,
    /// `peers[i]` tells for each GPU whether GPU `i` reaches its memory.
    pub peers: Vec<Vec<bool>>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// As in `NVIDIA H200`.
    pub name: String,
    /// Major and minor compute capability.
    pub capability: (u32, u32),
    /// Bytes of memory.
    pub memory: u64,
}

/// Asks the driver, in another process.
///
/// # Errors
/// If there is no driver or no GPU, or the driver is broken: the reason is a sentence.
pub fn probe() -> Result<Gpus> {
    let program = env::current_exe().context("this program's own file is not known")?;
    let finished = process::run(Command::new(program).arg(PROBE), Some(LIMIT), &mut |_, _| {})?;
    if !finished.ok() {
        let said = finished.stderr.trim().trim_start_matches("Error: ");
        match said.is_empty() {
            true => bail!("the driver's probe {}", finished.verdict()),
            false => bail!("{said}"),
        }
    }
    parse(&finished.stdout)
}

/// The probe itself: prints what [`probe`] reads.
///
/// # Errors
/// As [`probe`].
pub fn probe_here() -> Result<()> {
    let driver = Driver::open()?;
    println!("cuda\t{}", driver.cuda_version()?);
    let count = driver.count()?;
    if count == 0 {
        bail!("the driver sees no GPU");
    }
    for gpu in 0..count {
        let Gpu { name, capability: (major, minor), memory } = driver.gpu(gpu)?;
        println!("gpu\t{name}\t{major}\t{minor}\t{memory}");
    }
    for from in 0..count {
        let row = (0..count).map(|to| from == to || driver.reaches(from, to));
        let row: Vec<&str> = row.map(|reached| if reached { "1" } else { "0" }).collect();
        println!("peers\t{}", row.join("\t"));
    }
    Ok(())
}

fn parse(text: &str) -> Result<Gpus> {
    let mut found = Gpus { driver: driver_version(), ..Gpus::default() };
    for line in text.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["cuda", version] => found.cuda = version.to_owned(),
            ["gpu", name, major, minor, memory] => found.gpus.push(Gpu {
                name: name.to_owned(),
                capability: (major.parse()?, minor.parse()?),
                memory: memory.parse()?,
            }),
            ["peers", ref row @ ..] => found.peers.push(row.iter().map(|cell| *cell == "1").collect()),
            _ => bail!("the driver's probe printed {line:?}"),
        }
    }
    Ok(found)
}

/// The version in the kernel module's file: the first word that looks like `570.86.15`.
fn driver_version() -> String {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.split_whitespace().find(version).unwrap_or("unknown").to_owned()
}

type Fill = unsafe extern "C" fn(*mut c_int) -> c_int;
type Device = c_int;

/// The few calls of the driver API that need no context (CUDA Driver API, sections 6.2 to 6.5).
struct Driver(Library);

impl Driver {
    fn open() -> Result<Self> {
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

    fn cuda_version(&self) -> Result<String> {
        let version = self.fill("cuDriverGetVersion")?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    fn count(&self) -> Result<c_int> {
        self.fill("cuDeviceGetCount")
    }

    fn gpu(&self, device: Device) -> Result<Gpu> {
        type Name = unsafe extern "C" fn(*mut c_char, c_int, Device) -> c_int;
        type Attribute = unsafe extern "C" fn(*mut c_int, c_int, Device) -> c_int;
        type Memory = unsafe extern "C" fn(*mut usize, Device) -> c_int;
        let mut name = [0; 128];
        // SAFETY: the prototype is the manual's (cuda.h).
        let call = unsafe { self.0.get::<Name>(b"cuDeviceGetName\0") }?;
        // SAFETY: the buffer has 128 bytes; the last stays 0.
        check("cuDeviceGetName", unsafe { call(name.as_mut_ptr(), 127, device) })?;
        // SAFETY: the buffer ends in a 0.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();

        // SAFETY: the prototype is the manual's (cuda.h).
        let call = unsafe { self.0.get::<Attribute>(b"cuDeviceGetAttribute\0") }?;
        let mut capability = [0; 2];
        for (value, attribute) in capability.iter_mut().zip(CAPABILITY) {
            // SAFETY: the pointer is to one int, which the call writes.
            check("cuDeviceGetAttribute", unsafe { call(value, attribute, device) })?;
        }
        let mut memory = 0;
        // SAFETY: the prototype is the manual's (cuda.h).
        let call = unsafe { self.0.get::<Memory>(b"cuDeviceTotalMem_v2\0") }?;
        // SAFETY: the pointer is to one size_t, which the call writes.
        check("cuDeviceTotalMem", unsafe { call(&mut memory, device) })?;
        let [major, minor] = capability.map(|value: c_int| value.unsigned_abs());
        Ok(Gpu { name, capability: (major, minor), memory: memory as u64 })
    }

    fn reaches(&self, from: Device, to: Device) -> bool {
        type Reach = unsafe extern "C" fn(*mut c_int, Device, Device) -> c_int;
        // SAFETY: the prototype is the manual's (cuda.h).
        let Ok(call) = (unsafe { self.0.get::<Reach>(b"cuDeviceCanAccessPeer\0") }) else { return false };
        let mut reached = 0;
        // SAFETY: the pointer is to one int, which the call writes.
        let status = unsafe { call(&mut reached, from, to) };
        status == 0 && reached != 0
    }
}

fn check(call: &str, status: c_int) -> Result<()> {
    match status {
        0 => Ok(()),
        100 => bail!("the driver sees no GPU ({call}: CUDA_ERROR_NO_DEVICE)"),
        _ => bail!("the NVIDIA driver refuses to start ({call} returns error {status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_probe_prints_is_read_back() {
        let found = parse("cuda\t12.8\ngpu\tNVIDIA H200\t9\t0\t150754820096\npeers\t1\n").expect("valid");
        assert_eq!(found.cuda, "12.8");
        let h200 = Gpu { name: "NVIDIA H200".into(), capability: (9, 0), memory: 150_754_820_096 };
        assert_eq!(found.gpus, [h200]);
        assert_eq!(found.peers, [[true]]);
        assert!(parse("nonsense").is_err());
    }
}
