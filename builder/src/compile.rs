//! One kernels crate to PTX for one architecture, by a nested cargo of the device toolchain.
//!
//! The crate is compiled as a `cdylib` with fat LTO and `--emit=link,asm` (with `asm` alone LTO is silently skipped and
//! `core` stays undefined); the linker is `true`, so that no linker is needed. Three flags keep barriers where they
//! were written. The crate attributes that device code needs are given here: kernels are plain Rust on the host.

use std::ffi::OsString;
use std::fs;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Instant;

use crate::arch::Arch;
use crate::error::{Dependency, Error};
use crate::kept::Kept;
use crate::manifest::Manifest;
use crate::place::Outer;
use crate::process;
use crate::toolchain::{TARGET, Toolchain};

/// Unstable features that device code may use without saying so.
const FEATURES: &str =
    "abi_ptx,asm_experimental_arch,link_llvm_intrinsics,stdarch_nvptx,f16,core_float_math,float_algebraic";

const FLAGS: &[&str] = &[
    // Each of these three moves or copies barriers and asm between the arms of a divergent branch (tried, LLVM 22).
    "-Zmir-enable-passes=-JumpThreading",
    "-Cllvm-args=-simplifycfg-max-small-block-size=0",
    "-Cllvm-args=-simplifycfg-hoist-common=false",
    "-Clinker=true",
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Zcrate-attr=no_std",
    // What follows from the attributes and the entries' ABI, and is no fault of the kernels' author.
    "-Ainternal_features",
    "-Aunused_features",
    "-Astable_features",
    "-Aduplicate_features",
    "-Aunused_attributes",
    "-Aimproper_ctypes_definitions",
];

const PROFILE: &[&str] = &[
    "profile.release.opt-level=3",
    "profile.release.lto=\"fat\"",
    "profile.release.codegen-units=1",
    "profile.release.panic=\"abort\"",
    "profile.release.debug=false",
    "profile.release.strip=\"none\"",
    "profile.release.incremental=false",
];

/// A device build of one package.
pub(crate) struct Nested<'a> {
    pub toolchain: &'a Toolchain,
    pub manifest: &'a Manifest,
    /// The workspace in whose graph to build it, if that is not its own.
    pub outer: Option<&'a Outer>,
    /// The target folder of device builds; not the outer build's, whose lock is held. PTX is kept in its `asm`.
    pub target: &'a Path,
    /// The package's features; `None` for its defaults.
    pub features: Option<&'a [String]>,
    pub debug: bool,
    pub flags: Vec<String>,
}

/// What it brought.
pub(crate) struct Compiled {
    pub ptx: String,
    /// The local source files that went into it.
    pub inputs: Vec<PathBuf>,
    pub seconds: f64,
}

impl Nested<'_> {
    /// Compiles for one architecture.
    ///
    /// # Errors
    /// [`Error::Compile`] with the compiler's output; [`Error::Ptx`] if it wrote none.
    pub(crate) fn compile(&self, sysroot: &Path, arch: &Arch) -> Result<Compiled, Error> {
        self.toolchain.check_arch(arch)?;
        let start = Instant::now();
        let identity = self.identity(sysroot, arch);
        let kept = Kept::open(&self.target.join("asm"), &self.manifest.library, &identity)?;
        if let Some((ptx, inputs)) = kept.get() {
            return Ok(Compiled { ptx, inputs, seconds: start.elapsed().as_secs_f64() });
        }
        let path = kept.draft();
        let output = self.cargo_with_what_is_there(sysroot, arch, &path)?;
        if !output.status.success() {
            let _ = fs::remove_file(&path);
            return Err(self.failed(arch, &output));
        }
        let ptx = fs::read_to_string(&path).map_err(|e| Error::io("read the PTX", &path, e))?;
        if !ptx.contains(".target sm_") || ptx.contains('\0') {
            return Err(Error::Ptx { path, why: "the compiler wrote something that is no PTX".into() });
        }
        let inputs = self.inputs();
        kept.put(&inputs);
        Ok(Compiled { ptx, inputs, seconds: start.elapsed().as_secs_f64() })
    }

    /// What distinguishes builds of one library in one target folder, sources apart.
    fn identity(&self, sysroot: &Path, arch: &Arch) -> impl Hash {
        // The workspace says which features there are.
        let features = if self.outer.is_some() { None } else { self.features.map(<[String]>::to_vec) };
        (
            self.manifest.folder.clone(),
            self.outer.map(|outer| (outer.manifest.clone(), outer.spec.clone())),
            features,
            (self.toolchain.rustc.clone(), self.toolchain.version.clone()),
            self.encoded_flags(sysroot, arch),
            PROFILE,
        )
    }

    /// What the outer build fetched and locked should do; if it does not, cargo says so and is asked once more.
    fn cargo_with_what_is_there(&self, sysroot: &Path, arch: &Arch, ptx: &Path) -> Result<Output, Error> {
        let mut outer = self.outer;
        let mut frozen = self.has_lock(outer);
        loop {
            let output = self.cargo(sysroot, arch, ptx, outer, frozen)?;
            let said = process::stderr(&output);
            if output.status.success() {
                return Ok(output);
            } else if outer.is_some() && said.contains("did not match any packages") {
                outer = None;
                frozen = self.has_lock(outer);
            } else if frozen && wants_network(&said) {
                frozen = false;
            } else {
                return Ok(output);
            }
        }
    }

    fn has_lock(&self, outer: Option<&Outer>) -> bool {
        self.lock_file(outer).is_some()
    }

    fn lock_file(&self, outer: Option<&Outer>) -> Option<PathBuf> {
        let manifest = outer.map_or(self.manifest.folder.as_path(), |outer| &outer.manifest);
        manifest.ancestors().map(|folder| folder.join("Cargo.lock")).find(|file| file.is_file())
    }

    fn cargo(
        &self,
        sysroot: &Path,
        arch: &Arch,
        ptx: &Path,
        outer: Option<&Outer>,
        frozen: bool,
    ) -> Result<Output, Error> {
        let mut cargo = process::command(&self.toolchain.cargo);
        cargo
            .current_dir(&self.manifest.folder)
            .env("RUSTC", &self.toolchain.rustc)
            .env("OXSHMEM_DEVICE_BUILD", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", self.encoded_flags(sysroot, arch))
            .env("CARGO_TERM_COLOR", "never")
            .args(["rustc", "--lib", "--crate-type", "cdylib", "--release", "--target", TARGET])
            .arg("--target-dir")
            .arg(self.target);
        for setting in PROFILE {
            cargo.args(["--config", setting]);
        }
        match (outer, self.features) {
            // The workspace that uses the package says which features it has.
            (Some(outer), _) => {
                cargo.arg("--manifest-path").arg(&outer.manifest).args(["--package", &outer.spec]);
            }
            (None, features) => {
                cargo.arg("--manifest-path").arg(self.manifest.folder.join("Cargo.toml"));
                if let Some(features) = features {
                    cargo.arg("--no-default-features");
                    if !features.is_empty() {
                        cargo.arg("--features").arg(features.join(","));
                    }
                }
            }
        }
        if frozen {
            cargo.arg("--frozen");
        }
        let mut emit = OsString::from("--emit=link,asm=");
        emit.push(ptx);
        cargo.arg("--").arg(emit);
        process::run(&mut cargo)
    }

    /// With `--target` these reach device crates only, not proc macros and build scripts.
    fn encoded_flags(&self, sysroot: &Path, arch: &Arch) -> OsString {
        let mut all = OsString::from("--sysroot\x1f");
        all.push(sysroot);
        let mut add = |flag: &str| {
            all.push("\x1f");
            all.push(flag);
        };
        add(&format!("-Ctarget-cpu={arch}"));
        add(&format!("-Ctarget-feature={}", arch.ptx_feature()));
        add(&format!("-Zcrate-attr=feature({FEATURES})"));
        FLAGS.iter().for_each(|flag| add(flag));
        if self.debug {
            add("-Cdebuginfo=line-directives-only");
        }
        self.flags.iter().for_each(|flag| add(flag));
        all
    }

    fn failed(&self, arch: &Arch, output: &Output) -> Error {
        let said = without_noise(&process::stderr(output));
        let dependency = culprit(&said, &self.manifest.package).map(|name| {
            let used_by = self.used_by(&name);
            Dependency { name, used_by }
        });
        Error::Compile {
            package: self.manifest.package.clone(),
            arch: arch.name().to_owned(),
            dependency,
            output: said,
        }
    }

    fn used_by(&self, dependency: &str) -> String {
        let mut cargo = process::command(&self.toolchain.cargo);
        cargo.current_dir(&self.manifest.folder).env("RUSTC", &self.toolchain.rustc).args([
            "tree",
            "--offline",
            "--edges",
            "normal",
            "--target",
            TARGET,
            "--invert",
            dependency,
        ]);
        match process::run(&mut cargo) {
            Ok(output) if output.status.success() => process::stdout(&output),
            _ => String::new(),
        }
    }

    /// From cargo's dep-info: sources of this package and of those it uses by path; and what says which others it uses.
    fn inputs(&self) -> Vec<PathBuf> {
        let file = self.target.join(TARGET).join("release").join(format!("{}.d", self.manifest.library));
        let mut all = dep_info(&fs::read_to_string(file).unwrap_or_default());
        if all.is_empty() {
            all.push(self.manifest.folder.join("src"));
        }
        let mut manifests = Vec::new();
        for source in &all {
            let owner =
                source.ancestors().map(|folder| folder.join("Cargo.toml")).find(|file| file.is_file());
            manifests.extend(owner);
        }
        all.extend(manifests);
        all.push(self.manifest.folder.join("Cargo.toml"));
        all.extend(self.lock_file(self.outer));
        all.extend(self.outer.map(|outer| outer.manifest.clone()));
        all.sort();
        all.dedup();
        all
    }
}

/// Whether cargo failed only because it was told to stay offline and keep the lock file.
fn wants_network(said: &str) -> bool {
    ["--frozen", "--locked", "--offline"].iter().any(|flag| said.contains(flag))
}

/// A package other than ours that did not compile.
fn culprit(said: &str, package: &str) -> Option<String> {
    let quoted =
        |line: &str| line.split('`').nth(1).and_then(|name| name.split(' ').next()).map(str::to_owned);
    said.lines()
        .filter(|line| {
            line.contains("could not compile `") || line.contains("failed to run custom build command for `")
        })
        .filter_map(quoted)
        .find(|name| name != package)
}

/// The output without the note on target features, which rustc prints for every crate: a paragraph of its own.
fn without_noise(said: &str) -> String {
    let mut kept = String::with_capacity(said.len());
    let mut inside = false;
    for line in said.lines() {
        if line.starts_with("warning: unstable feature specified for `-Ctarget-feature`") {
            inside = true;
        } else if inside {
            inside = !line.trim().is_empty();
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The prerequisites of a make rule; a space in a name is written `\ `.
fn dep_info(text: &str) -> Vec<PathBuf> {
    let Some((_, sources)) = text.lines().next().and_then(|line| line.split_once(": ")) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut name = String::new();
    let mut characters = sources.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&' ') => name.extend(characters.next()),
            ' ' if name.is_empty() => {}
            ' ' => all.push(PathBuf::from(std::mem::take(&mut name))),
            c => name.push(c),
        }
    }
    if !name.is_empty() {
        all.push(PathBuf::from(name));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dependency_to_blame_is_named() {
        let said = "error[E0463]: can't find crate for `std`\n\nerror: could not compile `libc` (lib) due to 1 error\n";
        assert_eq!(culprit(said, "ring").as_deref(), Some("libc"));
        let script = "error: failed to run custom build command for `mpi-sys v0.2.3`\n";
        assert_eq!(culprit(script, "ring").as_deref(), Some("mpi-sys"));
        assert_eq!(culprit("error: could not compile `ring` (lib) due to 1 error\n", "ring"), None);
    }

    #[test]
    fn dep_info_is_split_at_plain_spaces() {
        let text = "/t/kern.ptx: /a/src/lib.rs /b\\ c/src/lib.rs\n\n";
        assert_eq!(dep_info(text), [PathBuf::from("/a/src/lib.rs"), PathBuf::from("/b c/src/lib.rs")]);
        assert!(dep_info("").is_empty());
    }

    #[test]
    fn the_feature_note_is_not_shown() {
        let said = "   Compiling a\nwarning: unstable feature specified for `-Ctarget-feature`: `ptx84`\n  |\n  \
                    = note: n\n\nerror: e\n";
        assert_eq!(without_noise(said), "   Compiling a\nerror: e\n");
    }
}
