//! What the NVIDIA driver says of this machine's GPUs.
//!
//! The driver library is opened in a process of its own (this program, started again), because a driver that is half
//! installed may crash or hang whoever loads it.

mod driver;
mod nvml;

use std::env;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process;
use driver::Driver;
use nvml::Nvml;

/// The hidden argument that makes a program that uses this crate the probe.
pub const PROBE: &str = "probe-gpus";

/// A driver that says nothing for this long is broken. The first start after a boot may take half a minute with 8 GPUs.
const LIMIT: Duration = Duration::from_secs(120);

/// The driver and its GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpus {
    /// The CUDA version that the driver serves, as in `12.8`.
    pub cuda: String,
    /// The driver's own version, as in `570.86.15`, or `unknown`.
    pub driver: String,
    /// The GPUs.
    pub gpus: Vec<Gpu>,
    /// `peers[i]` tells for each GPU how GPU `i` reaches its memory.
    pub peers: Vec<Vec<Link>>,
}

/// One GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpu {
    /// As in `NVIDIA H200`.
    pub name: String,
    /// Major and minor compute capability.
    pub capability: (u32, u32),
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of it that nobody uses, where NVML tells.
    pub free: Option<u64>,
    /// Which processes may use it.
    pub mode: Mode,
    /// NVLinks that are up, where NVML tells.
    pub links: Option<u32>,
}

/// Which processes may use a GPU (`CUcomputemode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As many as like.
    #[default]
    Default,
    /// None.
    Prohibited,
    /// One at a time.
    Exclusive,
}

/// How a GPU reaches the memory of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// It is its own.
    Own,
    /// Over NVLink.
    NvLink,
    /// Over PCIe.
    Pcie,
    /// Not at all.
    None,
}

impl Mode {
    const NAMES: [(Self, &str); 3] =
        [(Self::Default, "default"), (Self::Prohibited, "prohibited"), (Self::Exclusive, "exclusive")];

    /// Its name in what the probe prints.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(mode, _)| *mode == self).map_or("", |(_, name)| name)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, of)| *of == name).map(|(mode, _)| *mode)
    }
}

impl Link {
    const NAMES: [(Self, &str); 4] =
        [(Self::Own, "own"), (Self::NvLink, "NVLink"), (Self::Pcie, "PCIe"), (Self::None, "none")];

    /// In a word.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(link, _)| *link == self).map_or("", |(_, name)| name)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, of)| *of == name).map(|(link, _)| *link)
    }
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
    let nvml = Nvml::open();
    let mut seen = Vec::new();
    for gpu in 0..count {
        let (gpu, bus) = (driver.gpu(gpu)?, driver.bus(gpu)?);
        let device = nvml.as_ref().and_then(|nvml| nvml.device(&bus));
        let (free, links) = device.as_ref().map_or((None, None), |device| (device.free(), device.links()));
        let Gpu { name, capability: (major, minor), memory, mode, .. } = gpu;
        let told = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
        let (free, links) = (told(free), told(links.map(u64::from)));
        println!("gpu\t{name}\t{major}\t{minor}\t{memory}\t{free}\t{}\t{links}", mode.name());
        seen.push(device);
    }
    for (from, own) in (0..count).zip(&seen) {
        let link = |(to, other): (i32, &Option<nvml::Device<'_>>)| {
            if from == to {
                return Link::Own;
            }
            let told = own.as_ref().zip(other.as_ref()).and_then(|(own, other)| own.nvlink_to(other));
            match (driver.reaches(from, to), told.unwrap_or_else(|| driver.has_native_atomics(from, to))) {
                (false, _) => Link::None,
                (true, true) => Link::NvLink,
                (true, false) => Link::Pcie,
            }
        };
        let row: Vec<&str> = (0..count).zip(&seen).map(|pair| link(pair).name()).collect();
        println!("peers\t{}", row.join("\t"));
    }
    Ok(())
}

fn parse(text: &str) -> Result<Gpus> {
    let mut found = Gpus { driver: driver_version(), ..Gpus::default() };
    for line in text.lines() {
        parse_line(line, &mut found).with_context(|| format!("the driver's probe printed {line:?}"))?;
    }
    Ok(found)
}

fn parse_line(line: &str, found: &mut Gpus) -> Result<()> {
    fn told<T: std::str::FromStr>(word: &str) -> Result<Option<T>, T::Err> {
        if word == "-" { Ok(None) } else { word.parse().map(Some) }
    }
    match line.split('\t').collect::<Vec<_>>()[..] {
        ["cuda", version] => found.cuda = version.to_owned(),
        ["gpu", name, major, minor, memory, free, mode, links] => found.gpus.push(Gpu {
            name: name.to_owned(),
            capability: (major.parse()?, minor.parse()?),
            memory: memory.parse()?,
            free: told(free)?,
            mode: Mode::from_name(mode).context("this is no compute mode")?,
            links: told(links)?,
        }),
        ["peers", ref row @ ..] => {
            let links: Option<Vec<Link>> = row.iter().map(|cell| Link::from_name(cell)).collect();
            found.peers.push(links.context("this is no link")?);
        }
        _ => bail!("this is no line of it"),
    }
    Ok(())
}

/// The version in the kernel module's file: the first word that looks like `570.86.15`.
fn driver_version() -> String {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.split_whitespace().find(version).unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_probe_prints_is_read_back() {
        let text = "cuda\t12.8\ngpu\tNVIDIA H200\t9\t0\t150754820096\t7\texclusive\t18\ngpu\tG\t8\t0\t1\t-\tdefault\t-\n\
            peers\town\tNVLink\npeers\tPCIe\town\n";
        let found = parse(text).expect("valid");
        assert_eq!(found.cuda, "12.8");
        let h200 = Gpu {
            name: "NVIDIA H200".into(),
            capability: (9, 0),
            memory: 150_754_820_096,
            free: Some(7),
            mode: Mode::Exclusive,
            links: Some(18),
        };
        let other = Gpu { name: "G".into(), capability: (8, 0), memory: 1, ..Gpu::default() };
        assert_eq!(found.gpus, [h200, other]);
        assert_eq!(found.peers, [[Link::Own, Link::NvLink], [Link::Pcie, Link::Own]]);
        for wrong in ["nonsense", "peers\tair", "gpu\tG\t8\t0\t1\t-\tshared\t-"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
