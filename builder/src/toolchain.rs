//! Finding a compiler for the device: a rustc that knows `nvptx64-nvidia-cuda`, its cargo, and the source of its library.
//!
//! Looked at in this order: `OXSHMEM_RUSTC`; the toolchains of rustup that have the component `rust-src`; the system's
//! `/usr/bin/rustc`. A version that this crate was tried with goes before one that it was not. [`Toolchain::probe`]
//! tells about every candidate, for a doctor.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::error::Error;
use crate::process;
pub use crate::versions::{HOW_TO_GET_ONE, TRIED, Tried};
use crate::versions::{too_old, tried_versions};

/// The target that kernels are compiled for.
pub const TARGET: &str = "nvptx64-nvidia-cuda";

/// Where a candidate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `OXSHMEM_RUSTC` names it.
    Variable,
    /// A toolchain of rustup, by name.
    Rustup(String),
    /// The system's package manager.
    System,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable => f.write_str("OXSHMEM_RUSTC"),
            Self::Rustup(name) => write!(f, "rustup toolchain {name}"),
            Self::System => f.write_str("system"),
        }
    }
}

/// A compiler that can build for the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Where it was found.
    pub origin: Origin,
    /// Its rustc.
    pub rustc: PathBuf,
    /// Its cargo.
    pub cargo: PathBuf,
    /// The folder `library` of its source.
    pub library: PathBuf,
    /// The first line of `rustc -vV`, as in `rustc 1.96.0 (ac68faa20 2026-05-25)`.
    pub version: String,
    /// As in `1.96.0`.
    pub release: String,
    /// As in `22.1.8`.
    pub llvm: String,
    /// All of `rustc -vV`.
    pub(crate) verbose: String,
    /// The architectures that its LLVM knows.
    pub(crate) cpus: Vec<String>,
}

/// One compiler that was looked at.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Where it comes from.
    pub origin: Origin,
    /// Its rustc.
    pub rustc: PathBuf,
    /// The toolchain, or why it cannot be used.
    pub verdict: Result<Toolchain, String>,
}

impl Toolchain {
    /// The toolchain to use on this machine.
    ///
    /// # Errors
    /// [`Error::ToolchainUnusable`] if `OXSHMEM_RUSTC` is set to one that cannot be used; [`Error::NoToolchain`] if
    /// there is none.
    pub fn find() -> Result<Self, Error> {
        if let Some(rustc) = named() {
            return examine(Origin::Variable, &rustc)
                .map_err(|why| Error::ToolchainUnusable { rustc: rustc.clone(), why });
        }
        let usable: Vec<Self> = searched().into_iter().filter_map(|c| c.verdict.ok()).collect();
        usable.iter().find(|t| t.is_tried()).or(usable.first()).cloned().ok_or(Error::NoToolchain)
    }

    /// Looks at every candidate and says why it can or cannot be used.
    pub fn probe() -> Vec<Candidate> {
        let mut all = Vec::new();
        if let Some(rustc) = named() {
            all.push(candidate(Origin::Variable, rustc));
        }
        all.extend(searched());
        all
    }

    /// Whether this crate was tried with this version.
    pub fn is_tried(&self) -> bool {
        TRIED.iter().any(|t| t.release == self.release && t.llvm == self.llvm)
    }

    /// The warning for a version that was not tried.
    pub fn warning(&self) -> Option<String> {
        (!self.is_tried()).then(|| {
            format!(
                "{} (LLVM {}) from {} was not tried with oxshmem (tried: {}); the lint checks its output, but look at the \
                 kernels' results with care",
                self.version,
                self.llvm,
                self.origin,
                tried_versions()
            )
        })
    }

    /// # Errors
    /// [`Error::Arch`] if LLVM does not know the architecture.
    pub(crate) fn check_arch(&self, arch: &Arch) -> Result<(), Error> {
        if self.cpus.iter().any(|cpu| cpu == arch.name()) {
            return Ok(());
        }
        let why = format!("{} does not know it; it knows {}", self.version, self.cpus.join(", "));
        Err(Error::Arch { name: arch.name().to_owned(), why })
    }
}

fn named() -> Option<PathBuf> {
    env::var_os("OXSHMEM_RUSTC").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn candidate(origin: Origin, rustc: PathBuf) -> Candidate {
    Candidate { verdict: examine(origin.clone(), &rustc), origin, rustc }
}

fn searched() -> Vec<Candidate> {
    let mut all = Vec::new();
    if let Some(home) = rustup_home() {
        let folders = fs::read_dir(home.join("toolchains")).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
        folders.sort();
        for folder in folders {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            all.push(candidate(Origin::Rustup(name), folder.join("bin/rustc")));
        }
    }
    all.push(candidate(Origin::System, PathBuf::from("/usr/bin/rustc")));
    all
}

/// Where rustup keeps its toolchains.
pub(crate) fn rustup_home() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("RUSTUP_HOME").or_else(|| set("HOME").map(|home| home.join(".rustup")))
}

fn examine(origin: Origin, rustc: &Path) -> Result<Toolchain, String> {
    if !rustc.is_file() {
        return Err("there is no such file".to_owned());
    }
    let ask = |arguments: &[&str]| {
        let output = process::run(process::command(rustc).args(arguments)).map_err(|e| e.to_string())?;
        if output.status.success() {
            return Ok(process::stdout(&output));
        }
        let said = process::stderr(&output);
        Err(format!("`rustc {}` fails: {}", arguments.join(" "), said.lines().next().unwrap_or("no message")))
    };
    let verbose = ask(&["-vV"])?;
    let field =
        |name: &str| verbose.lines().find_map(|line| line.strip_prefix(name)).map(|v| v.trim().to_owned());
    let version = verbose.lines().next().unwrap_or_default().to_owned();
    let release = field("release:").ok_or("`rustc -vV` names no release")?;
    let llvm = field("LLVM version:").ok_or("it has no LLVM")?;
    if let Some(why) = too_old(&release) {
        return Err(why);
    }

    let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
    let source = sysroot.join("lib/rustlib/src/rust");
    let library = source.join("library");
    if !library.join("core/src/lib.rs").is_file() {
        let remedy = match &origin {
            Origin::Rustup(name) => format!("run `rustup component add rust-src --toolchain {name}`"),
            Origin::Variable | Origin::System => {
                "install its source (Debian: `apt-get install --no-remove rust-web-src`)".to_owned()
            }
        };
        return Err(format!("the source of its library is not at {}; {remedy}", library.display()));
    }
    // Distributions ship the source as a package of its own, which may be of another version.
    if let Ok(of_source) = fs::read_to_string(source.join("src/version"))
        && of_source.trim() != release.split('-').next().unwrap_or_default()
    {
        return Err(format!(
            "it is {release}, but the source at {} is {}",
            source.display(),
            of_source.trim()
        ));
    }

    let cpus = ask(&["--print", "target-cpus", "--target", TARGET])?;
    let cpus: Vec<String> = cpus
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.starts_with("sm_"))
        .map(str::to_owned)
        .collect();
    if cpus.is_empty() {
        return Err(format!("its LLVM has no code generator for {TARGET}"));
    }
    let cargo = cargo_of(rustc)?;
    Ok(Toolchain { origin, rustc: rustc.to_owned(), cargo, library, version, release, llvm, verbose, cpus })
}

fn cargo_of(rustc: &Path) -> Result<PathBuf, String> {
    if let Some(cargo) = env::var_os("OXSHMEM_CARGO").filter(|path| !path.is_empty()) {
        let cargo = PathBuf::from(cargo);
        let found = cargo.is_file();
        return if found {
            Ok(cargo)
        } else {
            Err(format!("OXSHMEM_CARGO is {}: no such file", cargo.display()))
        };
    }
    let beside = rustc.with_file_name("cargo");
    let found = beside.is_file();
    let missing = || format!("there is no cargo beside it ({}); set OXSHMEM_CARGO", beside.display());
    if found { Ok(beside.clone()) } else { Err(missing()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_compiler_is_refused_with_the_reason() {
        let why = examine(Origin::System, Path::new("/nonexistent/rustc")).expect_err("no such file");
        assert!(why.contains("no such file"), "{why}");
    }

    #[test]
    fn a_program_that_is_no_compiler_is_refused() {
        assert!(examine(Origin::System, Path::new("/bin/false")).is_err());
        assert!(examine(Origin::System, Path::new("/bin/true")).is_err());
    }

    #[test]
    fn the_sentence_names_both_ways() {
        assert!(HOW_TO_GET_ONE.contains("apt-get install --no-remove"));
        assert!(HOW_TO_GET_ONE.contains("rustup toolchain install"));
        assert!(!HOW_TO_GET_ONE.contains('\n') && !HOW_TO_GET_ONE.contains("  "));
    }
}
