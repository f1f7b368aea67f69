//! Setting up what is missing: the device toolchain and its compiled library.
//!
//! Packages are only added, never removed, and only by root on a Debian with apt; everybody else is told the command. A
//! machine without a device toolchain still runs everything on the emulator.

use std::cell::RefCell;
use std::env;
use std::process::Command;

use anyhow::{Result, bail};
use oxshmem_builder::{Arch, Error, Toolchain, sysroot};

use crate::checkout::Checkout;
use crate::process::{self, Stream};
use crate::say::Task;

/// Debian's packages that make a device toolchain.
pub const PACKAGES: &[&str] = &["rustc-web", "cargo-web", "rust-web-src"];

/// The first minor version of rustc that builds kernels as this project needs them.
const FIRST_MINOR: u32 = 96;

/// The architectures whose library every kernels crate needs.
const ARCHS: &[&str] = &["sm_80", "sm_90"];

/// How to get a device toolchain by hand.
pub const BY_HAND: &str = "as root on Debian 12: apt-get update && apt-get install -y --no-install-recommends --no-remove \
    rustc-web cargo-web rust-web-src; elsewhere: rustup toolchain install nightly --component rust-src";

/// The device toolchain with its library ready, installed if need be; `None` if there is none to be had, after saying
/// what to do.
///
/// # Errors
/// If a toolchain that is there cannot be used.
pub fn device_toolchain(checkout: &Checkout, install: bool) -> Result<Option<Toolchain>> {
    if env::var("OXSHMEM_PTX").is_ok_and(|value| value == "off") {
        eprintln!("OXSHMEM_PTX=off: kernels are built for the emulator only");
        return Ok(None);
    }
    let toolchain = match Toolchain::find() {
        Ok(toolchain) => toolchain,
        Err(Error::NoToolchain) => {
            eprintln!("there is no device toolchain (a Rust compiler that makes PTX) on this machine");
            let installed =
                if install { install_packages() } else { Err("asked not to install it".to_owned()) };
            if let Err(why) = installed {
                eprintln!("it was not installed: {why}");
                eprintln!("to get it, {BY_HAND}");
                eprintln!(
                    "going on without it: everything runs on the emulator, and no kernel runs on a GPU"
                );
                return Ok(None);
            }
            Toolchain::find()?
        }
        Err(error) => bail!(error.to_string()),
    };
    if let Some(warning) = toolchain.warning() {
        eprintln!("{warning}");
    }
    device_library(checkout, &toolchain)?;
    Ok(Some(toolchain))
}

/// Builds the device's `core` library unless it is in the cache. A cargo build would do it too, but silently.
fn device_library(checkout: &Checkout, toolchain: &Toolchain) -> Result<()> {
    let task: RefCell<Option<Task>> = RefCell::new(None);
    let progress = |line: &str| {
        let mut task = task.borrow_mut();
        match task.as_mut() {
            Some(task) => task.now(line),
            None => *task = Some(Task::start("building the device library, once per compiler")),
        }
    };
    let fallback = checkout.target.join("oxshmem-device/cache");
    for arch in ARCHS {
        let built =
            Arch::parse(arch).and_then(|arch| sysroot::ensure(toolchain, &arch, &fallback, &progress));
        if let Err(error) = built {
            if let Some(task) = task.take() {
                task.failed();
            }
            bail!(error.to_string());
        }
    }
    if let Some(task) = task.take() {
        task.done();
    }
    Ok(())
}

/// Installs the device toolchain by apt. The error is why it did not.
fn install_packages() -> Result<(), String> {
    if !is_root() {
        return Err("only root can install packages".to_owned());
    }
    if process::on_path("apt-get").is_none() {
        return Err("there is no apt-get".to_owned());
    }
    apt("reading the list of packages", &["update"])?;
    let candidate = candidate_of(PACKAGES[0]).ok_or("apt knows no package rustc-web")?;
    if minor_of(&candidate).is_none_or(|minor| minor < FIRST_MINOR) {
        return Err(format!("apt has only rustc-web {candidate}, and 1.{FIRST_MINOR} or newer is needed"));
    }
    let mut install = vec!["install", "--no-install-recommends", "--no-remove"];
    install.extend(PACKAGES);
    for line in what_apt_would_do(&install) {
        eprintln!("apt: {line}");
    }
    install.push("-y");
    apt(&format!("installing {} (apt)", PACKAGES.join(", ")), &install)
}

/// Installs packages by apt, as root, and says what that adds; the error says what to do.
///
/// # Errors
/// If this is not root, there is no apt, or apt fails.
pub fn apt_install(packages: &[&str], why: &str) -> Result<()> {
    let names = packages.join(" ");
    if !is_root() || process::on_path("apt-get").is_none() {
        bail!("{why}: install it with `apt-get install {names}` or your system's own way");
    }
    let mut install = vec!["install", "--no-install-recommends", "--no-remove"];
    install.extend(packages);
    let done = apt("reading the list of packages", &["update"]).and_then(|()| {
        for line in what_apt_would_do(&install) {
            eprintln!("apt: {line}");
        }
        install.push("-y");
        apt(&format!("installing {names} (apt)"), &install)
    });
    done.map_err(|error| anyhow::anyhow!("{why}, and it cannot be installed: {error}"))
}

/// Debian's packages of both MPIs, and what the crate `mpi` needs to read their headers.
pub const MPI_PACKAGES: &[&str] = &["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "libclang-dev"];

/// The programs of theirs that are used.
const MPI_PROGRAMS: &[&str] = &["mpirun.openmpi", "mpicc.openmpi", "mpiexec.hydra", "mpicc.mpich"];

/// Open MPI and MPICH side by side, installed if need be; else why they are not here, and what to do.
///
/// # Errors
/// If they cannot be installed though they may.
pub fn mpi(install: bool) -> Result<Option<String>> {
    let missing: Vec<&str> =
        MPI_PROGRAMS.iter().copied().filter(|program| process::on_path(program).is_none()).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let why = format!("there is no {}", missing.join(", no "));
    add(MPI_PACKAGES, &why, install)
}

/// Installs packages if that may and can be done; else why they are missing, and what to do.
fn add(packages: &[&str], why: &str, install: bool) -> Result<Option<String>> {
    if !install || !is_root() || process::on_path("apt-get").is_none() {
        return Ok(Some(format!("{why}: as root on Debian, apt-get install {}", packages.join(" "))));
    }
    apt_install(packages, why)?;
    Ok(None)
}

/// A Python with NumPy, Debian's if need be and installed then; else why there is none, and what to do.
///
/// # Errors
/// If it cannot be installed though it may.
pub fn numpy(install: bool) -> Result<Result<&'static str, String>> {
    const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];
    let has_numpy =
        |python: &&str| process::output(Command::new(python).args(["-c", "import numpy"])).is_ok();
    if let Some(python) = PYTHONS.into_iter().find(has_numpy) {
        return Ok(Ok(python));
    }
    let why = "there is no Python with NumPy";
    if let Some(missing) = add(&["python3-numpy"], why, install)? {
        return Ok(Err(missing));
    }
    match PYTHONS.into_iter().find(has_numpy) {
        Some(python) => Ok(Ok(python)),
        None => bail!("{why}, though python3-numpy is installed"),
    }
}

/// Debian's packages of the user-space driver of mlx5 NICs, and its programs.
const VERBS_PACKAGES: &[&str] = &["libibverbs1", "ibverbs-providers", "ibverbs-utils"];

/// libibverbs, libmlx5 and `ibv_devinfo`, installed if need be; else what is not here, and what to do.
///
/// # Errors
/// If they cannot be installed though they may.
pub fn verbs(install: bool) -> Result<Option<String>> {
    let known = ["ldconfig", "/sbin/ldconfig"]
        .iter()
        .find_map(|ldconfig| process::output(Command::new(ldconfig).arg("-p")).ok())
        .unwrap_or_default();
    let mut missing: Vec<&str> =
        ["libibverbs.so.1", "libmlx5.so.1"].into_iter().filter(|library| !known.contains(library)).collect();
    if process::on_path("ibv_devinfo").is_none() {
        missing.push("ibv_devinfo");
    }
    if missing.is_empty() {
        return Ok(None);
    }
    let why = format!("there is no {}", missing.join(", no "));
    add(VERBS_PACKAGES, &why, install)
}

/// Makes sure that `python3 -m pip` works.
///
/// # Errors
/// If it is missing and cannot be installed.
pub fn pip() -> Result<()> {
    if has_pip() {
        return Ok(());
    }
    apt_install(&["python3-pip"], "`python3 -m pip` is missing")
}

/// Whether `python3 -m pip` works.
pub fn has_pip() -> bool {
    process::output(Command::new("python3").args(["-m", "pip", "--version"])).is_ok()
}

/// Whether this program runs as root.
pub fn is_root() -> bool {
    // SAFETY: the call has no argument and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
    command
}

fn apt(what: &str, arguments: &[&str]) -> Result<(), String> {
    let mut task = Task::start(what);
    let ran = process::run(&mut apt_get(arguments), None, &mut |stream, line| {
        if stream == Stream::Out {
            task.now(line);
        }
    });
    match ran {
        Ok(finished) if finished.ok() => {
            task.done();
            Ok(())
        }
        Ok(finished) => {
            task.failed();
            let said: Vec<&str> = finished.stderr.lines().filter(|line| line.starts_with("E:")).collect();
            Err(format!("`apt-get {}` {}: {}", arguments.join(" "), finished.verdict(), said.join(" ")))
        }
        Err(error) => {
            task.failed();
            Err(error.to_string())
        }
    }
}

/// What apt says that the command would add and fetch.
fn what_apt_would_do(install: &[&str]) -> Vec<String> {
    // With --assume-no apt answers its own question and ends with a status that means nothing here.
    let asked = process::run(apt_get(install).arg("--assume-no"), None, &mut |_, _| {});
    additions(&asked.map(|finished| finished.stdout).unwrap_or_default())
}

/// The list of new packages and the sizes, out of what apt prints.
fn additions(text: &str) -> Vec<String> {
    let mut in_list = false;
    let told = |line: &&str| {
        in_list = line.starts_with("The following NEW") || (in_list && line.starts_with("  "));
        in_list || ["Need to get", "After this operation"].iter().any(|start| line.starts_with(start))
    };
    text.lines().filter(told).map(str::to_owned).collect()
}

/// The version that apt would install.
pub fn candidate_of(package: &str) -> Option<String> {
    let text =
        process::output(Command::new("apt-cache").env("LC_ALL", "C").args(["policy", package])).ok()?;
    let version = text.lines().find_map(|line| line.trim().strip_prefix("Candidate:"))?.trim().to_owned();
    (version != "(none)").then_some(version)
}

/// 96 for `1.96.0+dfsg1-1~deb12u2`; `None` if it has another form.
fn minor_of(version: &str) -> Option<u32> {
    let (_, rest) = version.split_once('.')?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minor_version_is_read_off_a_debian_version() {
        assert_eq!(minor_of("1.96.0+dfsg1-1~deb12u2"), Some(96));
        assert_eq!(minor_of("1.85.0+dfsg3-1~deb12u3"), Some(85));
        assert_eq!(minor_of("(none)"), None);
    }

    #[test]
    fn of_apts_plan_only_what_is_added_is_told() {
        let text = "The following additional packages will be installed:\n  libz\nSuggested packages:\n  doc\n\
            The following NEW packages will be installed:\n  libz\n  rustc-web\n0 upgraded\nNeed to get 1 MB.\n";
        let told =
            ["The following NEW packages will be installed:", "  libz", "  rustc-web", "Need to get 1 MB."];
        assert_eq!(additions(text), told);
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(process::on_path("sh").is_some());
        assert!(process::on_path("no-such-program-anywhere").is_none());
    }
}
