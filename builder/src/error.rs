//! Every way in which turning kernels into PTX can fail.
//!
//! Each message says what was asked for, what was found, and what to do. The output of a failed compiler is kept
//! whole, because it is what the author of a kernel has to read.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process;

use crate::finding::Finding;

/// Why a device build failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// `build()` was called outside a build script: cargo sets this variable for build scripts only.
    NotABuildScript {
        /// The variable that is missing.
        variable: &'static str,
    },
    /// A variable of the environment has a value that means nothing here. The user's fault.
    Variable {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// The manifest of the kernels crate could not be used.
    Package {
        /// The folder or manifest that was asked for.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The architecture's name is not of the form `sm_<number>[a|f]`, or the device toolchain does not know it.
    Arch {
        /// The name that was asked for.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The toolchain that `OXSHMEM_RUSTC` names cannot be used.
    ToolchainUnusable {
        /// The path in `OXSHMEM_RUSTC`.
        rustc: PathBuf,
        /// Why not.
        why: String,
    },
    /// There is no device toolchain on this machine.
    NoToolchain,
    /// A program could not be started.
    Spawn {
        /// The program.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file or folder could not be read or written.
    Io {
        /// What was being done, as in "write".
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The device's `core`, `alloc` or `compiler_builtins` did not compile.
    Sysroot {
        /// Which of them.
        library: &'static str,
        /// The compiler that was used.
        toolchain: String,
        /// What it printed.
        output: String,
    },
    /// The kernels crate, or a crate that it uses, did not compile for the device.
    Compile {
        /// The kernels crate.
        package: String,
        /// The architecture that was being built.
        arch: String,
        /// A dependency that is to blame, and the path by which it is reached.
        dependency: Option<Dependency>,
        /// What cargo and rustc printed.
        output: String,
    },
    /// The compiler succeeded and wrote no PTX, or PTX that cannot be read.
    Ptx {
        /// Where the PTX should be.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A marker comment of a kernel is wrong: the fault of the macro or of hand-written assembly.
    Marker {
        /// The kernel that the marker names, or the marker itself where it names none.
        kernel: String,
        /// What is wrong with it.
        why: String,
    },
    /// The PTX breaks rules for device code.
    Lint {
        /// The kernels crate.
        package: String,
        /// The architecture.
        arch: String,
        /// The PTX in question.
        ptx: PathBuf,
        /// Each breach.
        findings: Vec<Finding>,
    },
    /// `ptxas` rejects the PTX.
    Assemble {
        /// The assembler.
        ptxas: PathBuf,
        /// The PTX in question.
        ptx: PathBuf,
        /// What it printed.
        output: String,
    },
}

/// A dependency that does not build for the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Its package name.
    pub name: String,
    /// `cargo tree`'s account of who uses it; empty if cargo could not say.
    pub used_by: String,
}

impl Error {
    /// Prints the error on the standard error stream and ends the process with status 1, for the end of a
    /// build script's `main`.
    pub fn exit(&self) -> ! {
        eprintln!("{self}");
        process::exit(1)
    }

    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { doing, path: path.into(), source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABuildScript { variable } => write!(
                f,
                "oxshmem-builder: {variable} is not set. `Builder::new().build()` belongs into the build.rs of a \
                 kernels crate; elsewhere use `Builder::for_package(path).compile()`."
            ),
            Self::Variable { name, value, expected } => {
                write!(f, "oxshmem-builder: {name} is `{value}`; it may be {expected}.")
            }
            Self::Package { path, why } => {
                write!(f, "oxshmem-builder: the package at {} cannot be built: {why}.", path.display())
            }
            Self::Arch { name, why } => {
                write!(f, "oxshmem-builder: the architecture `{name}` cannot be built: {why}.")
            }
            Self::ToolchainUnusable { rustc, why } => write!(
                f,
                "oxshmem-builder: OXSHMEM_RUSTC is {}, which cannot be used: {why}. Point it at a rustc that has its \
                 library source, or unset it to search for one.",
                rustc.display()
            ),
            Self::NoToolchain => write!(f, "oxshmem-builder: {}", crate::versions::HOW_TO_GET_ONE),
            Self::Spawn { program, source } => {
                write!(f, "oxshmem-builder: cannot start {}: {source}.", program.display())
            }
            Self::Io { doing, path, source } => {
                write!(f, "oxshmem-builder: cannot {doing} {}: {source}.", path.display())
            }
            Self::Sysroot { library, toolchain, output } => write!(
                f,
                "{output}\noxshmem-builder: `{library}` of {toolchain} does not compile for nvptx64-nvidia-cuda (output \
                 above). Tried versions: {}. Choose another toolchain with OXSHMEM_RUSTC.",
                crate::versions::tried_versions()
            ),
            Self::Compile { package, arch, dependency, output } => {
                writeln!(f, "{}\n", output.trim_end())?;
                write!(
                    f,
                    "oxshmem-builder: `{package}` does not compile for the device ({arch}); output above."
                )?;
                if let Some(Dependency { name, used_by }) = dependency {
                    write!(
                        f,
                        " The dependency `{name}` does not build for nvptx64-nvidia-cuda. If only host code uses it, move \
                         it (or the dependency that brings it) to the table `[target.'cfg(not(target_arch = \
                         \"nvptx64\"))'.dependencies]` of {package}'s Cargo.toml."
                    )?;
                    if !used_by.is_empty() {
                        write!(f, " It is used by:\n{}", used_by.trim_end())?;
                    }
                }
                Ok(())
            }
            Self::Ptx { path, why } => write!(f, "oxshmem-builder: {}: {why}.", path.display()),
            Self::Marker { kernel, why } => write!(f, "oxshmem-builder: marker of kernel `{kernel}`: {why}."),
            Self::Lint { package, arch, ptx, findings } => {
                // Each rule once, with all its places.
                let mut rules: Vec<_> = Vec::new();
                for finding in findings {
                    if !rules.contains(&finding.rule) {
                        rules.push(finding.rule);
                    }
                }
                for rule in rules {
                    writeln!(f, "error: {}.", rule.advice())?;
                    for finding in findings.iter().filter(|finding| finding.rule == rule) {
                        writeln!(f, "  in {}\n    --> {}:{}", finding.place(), ptx.display(), finding.line)?;
                    }
                    writeln!(f)?;
                }
                write!(
                    f,
                    "oxshmem-builder: the PTX of `{package}` for {arch} breaks rules for device code at {} place{}.",
                    findings.len(),
                    if findings.len() == 1 { "" } else { "s" }
                )
            }
            Self::Assemble { ptxas, ptx, output } => write!(
                f,
                "{output}\noxshmem-builder: {} rejects {} (output above).",
                ptxas.display(),
                ptx.display()
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Spawn { source, .. } | Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
