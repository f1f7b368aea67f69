//! [`Builder`]: what a build script or a tool asks for, and what it gets back.
//!
//! It puts the other rooms together: find a toolchain, build its sysroot once, compile for each architecture, apply the
//! pass, lint, assemble if there is an assembler, embed.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::compile::{Compiled, Nested};
use crate::embed;
use crate::error::Error;
use crate::lint;
use crate::manifest::Manifest;
use crate::marker::Marker;
use crate::pass;
use crate::place;
use crate::ptx::Module;
use crate::ptxas::{self, Resources};
use crate::sysroot;
use crate::toolchain::{self, HOW_TO_GET_ONE, Toolchain};

/// The architectures that are built when none is named: newer GPUs run the newest of them too.
const DEFAULT_ARCHS: &[&str] = &["sm_80", "sm_90"];

/// What tells device-std and the kernels that they are compiled in the traced flavour.
const TRACED: &str = "--cfg=oxshmem_trace";

/// The variables that change what a build does.
const VARIABLES: &[&str] =
    &["OXSHMEM_RUSTC", "OXSHMEM_CARGO", "OXSHMEM_PTX", "OXSHMEM_PTXAS", "OXSHMEM_CACHE", "DOCS_RS"];

/// A device build of one kernels crate.
///
/// Defaults: images for `sm_80` (PTX 8.4) and `sm_90` (PTX 8.6), and for each further architecture that a kernel asks for
/// by its marker; no line information; `ptxas` if one is found.
#[derive(Clone, Debug)]
pub struct Builder {
    package: Option<PathBuf>,
    archs: Vec<String>,
    debug: bool,
    trace: bool,
    on_demand: bool,
    copy_to: Option<PathBuf>,
    flags: Vec<String>,
    features: Option<Vec<String>>,
    ptxas: Option<Option<PathBuf>>,
    nvdisasm: Option<PathBuf>,
    progress: fn(&str),
}

/// A finished device build.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Built {
    /// The package.
    pub package: String,
    /// The compiler, as in `rustc 1.96.0 (ac68faa20 2026-05-25)`.
    pub toolchain: String,
    /// One per architecture, in the order in which they were built.
    pub images: Vec<Image>,
    /// The same in the traced flavour, if that was asked for.
    pub traced: Vec<Image>,
    /// The local files on which the result depends.
    pub inputs: Vec<PathBuf>,
    /// What the user should know, one sentence each.
    pub warnings: Vec<String>,
}

/// The PTX of one architecture.
#[derive(Clone, Debug)]
pub struct Image {
    /// The architecture.
    pub arch: Arch,
    /// Where the PTX lies.
    pub path: PathBuf,
    /// The PTX, after the pass.
    pub ptx: String,
    /// Its kernels, in the order of the text.
    pub kernels: Vec<KernelReport>,
    /// What the nested build took.
    pub seconds: f64,
}

/// What is known of one kernel in one image.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// The entry's symbol.
    pub symbol: String,
    /// What its marker asked for; `None` for an entry without a marker.
    pub marker: Option<Marker>,
    /// PTX instructions in its own body.
    pub instructions: usize,
    /// Machine instructions, where a disassembler was given.
    pub sass_instructions: Option<usize>,
    /// What it takes, where an assembler was there.
    pub resources: Option<Resources>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// For the build script of a kernels crate: the package is the one being built (`CARGO_MANIFEST_DIR`).
    pub fn new() -> Self {
        Self {
            package: None,
            archs: Vec::new(),
            debug: false,
            trace: false,
            on_demand: false,
            copy_to: None,
            flags: Vec::new(),
            features: None,
            ptxas: None,
            nvdisasm: None,
            progress: |line| eprintln!("oxshmem-builder: {line}"),
        }
    }

    /// For a tool: the package whose folder or Cargo.toml is `path`.
    pub fn for_package(path: impl Into<PathBuf>) -> Self {
        Self { package: Some(path.into()), ..Self::new() }
    }

    /// Adds an architecture, as in `sm_90`; the first one named replaces the defaults.
    pub fn arch(mut self, name: impl Into<String>) -> Self {
        self.archs.push(name.into());
        self
    }

    /// Adds several architectures; the first one named replaces the defaults.
    pub fn archs<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.archs.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether the PTX names source lines, for profilers and `ptxas --generate-line-info`. Code stays the same.
    pub fn debug(mut self, lines: bool) -> Self {
        self.debug = lines;
        self
    }

    /// Also builds the traced flavour, whose kernels record their operations when a run has `OXSHMEM_TRACE`: for each
    /// architecture a second image, which takes as long to build and as much room again. The plain images stay as they
    /// are.
    pub fn trace(mut self) -> Self {
        self.trace = true;
        self
    }

    /// Has the package's kernels loaded when the first of them is launched, all at once, instead of at a job's start: a program
    /// that launches none does not pay for them. That launch then takes what the driver needs to compile them, seconds where
    /// it has not done so before, and may wait until the kernels that its GPU runs are over (CUDA Programming Guide, Lazy
    /// Loading, Potential Hazards): a kernel that runs must not wait for the first launch of these. `OXSHMEM_LOADING=at-start`
    /// loads them at the start all the same.
    pub fn on_demand(mut self) -> Self {
        self.on_demand = true;
        self
    }

    /// Also writes the PTX to `path`; with several images each gets its architecture before the extension
    /// (`kernels.ptx` becomes `kernels.sm_80.ptx`).
    pub fn copy_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.copy_to = Some(path.into());
        self
    }

    pub(crate) fn copy_goes_to(&self) -> Option<&Path> {
        self.copy_to.as_deref()
    }

    /// Adds a flag for the device's rustc.
    pub fn rustc_flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Builds with exactly these features of the package; without this, those that cargo chose (in a build script) or
    /// the default ones.
    pub fn features<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.features = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The assembler to use, or `None` for none; without this, [`ptxas::find`] decides.
    pub fn ptxas(mut self, path: Option<PathBuf>) -> Self {
        self.ptxas = Some(path);
        self
    }

    /// A disassembler, to count machine instructions.
    pub fn nvdisasm(mut self, path: impl Into<PathBuf>) -> Self {
        self.nvdisasm = Some(path.into());
        self
    }

    /// Who is told what takes long; without this, the standard error stream (which cargo shows only for a build script that
    /// fails).
    pub fn progress(mut self, tell: fn(&str)) -> Self {
        self.progress = tell;
        self
    }

    /// In a build script: compiles, checks and embeds the kernels, and tells cargo what the result depends on.
    ///
    /// Returns at once inside a device build (`OXSHMEM_DEVICE_BUILD`). With `OXSHMEM_PTX=off` or without a device
    /// toolchain it embeds no PTX, and the reason for it.
    ///
    /// # Errors
    /// Any [`Error`] but [`Error::NoToolchain`]; end the build with [`Error::exit`].
    pub fn build(&self) -> Result<(), Error> {
        self.build_script().map(drop)
    }

    /// [`build`](Self::build), and what it built; `None` if it built nothing.
    pub(crate) fn build_script(&self) -> Result<Option<Built>, Error> {
        if env::var_os("OXSHMEM_DEVICE_BUILD").is_some_and(|v| v == "1") {
            return Ok(None);
        }
        let out = script_path("OUT_DIR")?;
        for variable in VARIABLES {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let manifest = self.manifest()?;
        if let Some(why) = switched_off()? {
            return embed::write_missing(&out, &manifest.package, why).map(|()| None);
        }
        let target = place::target_of_script(&out);
        // Those of the script's package say nothing about another one.
        let own = || if self.package.is_none() { script_features() } else { None };
        let features: Option<Vec<String>> = self.features.clone().or_else(own);
        match self.compile_into(&manifest, &out, &target, features.as_deref()) {
            Ok(built) => {
                for input in &built.inputs {
                    println!("cargo::rerun-if-changed={}", input.display());
                }
                for warning in &built.warnings {
                    println!("cargo::warning={warning}");
                }
                embed::write(&out, &built, self.on_demand)?;
                Ok(Some(built))
            }
            Err(Error::NoToolchain) => {
                println!("cargo::warning={}: {HOW_TO_GET_ONE}", manifest.package);
                watch_for_a_toolchain();
                println!("cargo::rerun-if-changed=build.rs");
                embed::write_missing(&out, &manifest.package, HOW_TO_GET_ONE).map(|()| None)
            }
            Err(error) => Err(error),
        }
    }

    /// For a tool: compiles and checks the kernels and returns all that is known about them. Writes below the workspace's
    /// target folder.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn compile(&self) -> Result<Built, Error> {
        let manifest = self.manifest()?;
        let toolchain = Toolchain::find()?;
        let target = place::target_of_workspace(&toolchain, &manifest)?;
        let out = target.join("ptx").join(&manifest.package);
        fs::create_dir_all(&out).map_err(|e| Error::io("create", &out, e))?;
        self.compile_with(&toolchain, &manifest, &out, &target, self.features.as_deref())
    }

    fn manifest(&self) -> Result<Manifest, Error> {
        match &self.package {
            Some(path) => Manifest::read(path),
            None => Manifest::read(&script_path("CARGO_MANIFEST_DIR")?),
        }
    }

    fn compile_into(
        &self,
        manifest: &Manifest,
        out: &Path,
        target: &Path,
        features: Option<&[String]>,
    ) -> Result<Built, Error> {
        let toolchain = Toolchain::find()?;
        self.compile_with(&toolchain, manifest, out, target, features)
    }

    fn compile_with(
        &self,
        toolchain: &Toolchain,
        manifest: &Manifest,
        out: &Path,
        target: &Path,
        features: Option<&[String]>,
    ) -> Result<Built, Error> {
        let mut archs = Vec::new();
        let names: Vec<&str> = self.archs.iter().map(String::as_str).collect();
        for name in if names.is_empty() { DEFAULT_ARCHS } else { &names } {
            let arch = Arch::parse(name)?;
            toolchain.check_arch(&arch)?;
            if !archs.contains(&arch) {
                archs.push(arch);
            }
        }
        let outer = place::outer_workspace(manifest, target);
        let mut nested = Nested {
            toolchain,
            manifest,
            outer: outer.as_ref(),
            target,
            features,
            debug: self.debug,
            flags: self.flags.clone(),
        };
        let mut built = Built {
            package: manifest.package.clone(),
            toolchain: toolchain.version.clone(),
            images: Vec::new(),
            traced: Vec::new(),
            inputs: vec![toolchain.rustc.clone()],
            warnings: toolchain.warning().into_iter().collect(),
        };
        let mut next = 0;
        while let Some(arch) = archs.get(next).cloned() {
            next += 1;
            let sysroot = sysroot::ensure(toolchain, &arch, &target.join("cache"), &self.progress)?;
            (self.progress)(&format!("compiling `{}` for {arch}", manifest.package));
            let compiled = nested.compile(&sysroot, &arch)?;
            for needed in Marker::parse_all(&compiled.ptx)?.into_iter().filter_map(|marker| marker.arch) {
                if !archs.iter().any(|have| have.serves(&needed)) {
                    archs.push(needed);
                }
            }
            let path = out.join(format!("{}.{arch}.ptx", manifest.library));
            built.images.push(self.finish(manifest, path, &arch, &compiled, &mut built.warnings)?);
            built.inputs.extend(compiled.inputs);
        }
        if self.trace {
            nested.flags.push(TRACED.into());
            for arch in &archs {
                let sysroot = sysroot::ensure(toolchain, arch, &target.join("cache"), &self.progress)?;
                (self.progress)(&format!("compiling `{}` for {arch}, traced", manifest.package));
                let compiled = nested.compile(&sysroot, arch)?;
                let path = out.join(format!("{}.{arch}.traced.ptx", manifest.library));
                built.traced.push(self.finish(manifest, path, arch, &compiled, &mut built.warnings)?);
            }
        }
        built.inputs.sort();
        built.inputs.dedup();
        self.copy(&built.images)?;
        Ok(built)
    }

    /// Pass, lint, assembler.
    fn finish(
        &self,
        manifest: &Manifest,
        path: PathBuf,
        arch: &Arch,
        compiled: &Compiled,
        warnings: &mut Vec<String>,
    ) -> Result<Image, Error> {
        let (ptx, markers) = pass::apply(&compiled.ptx, arch)?;
        fs::write(&path, &ptx).map_err(|e| Error::io("write", &path, e))?;
        let findings = lint::check(&ptx, &markers);
        if !findings.is_empty() {
            let (package, arch) = (manifest.package.clone(), arch.name().to_owned());
            return Err(Error::Lint { package, arch, ptx: path, findings });
        }
        let (resources, sass) = self.assemble(&path, arch, warnings)?;
        let mut instructions = ptxas::ptx_instructions(&ptx);
        let kernels = Module::parse(&ptx)
            .entries()
            .map(|entry| KernelReport {
                marker: markers.iter().find(|m| m.kernel == entry.name).cloned(),
                instructions: instructions.remove(&entry.name).unwrap_or(0),
                sass_instructions: sass.get(&entry.name).copied(),
                resources: resources.get(&entry.name).copied(),
                symbol: entry.name.clone(),
            })
            .collect();
        Ok(Image { arch: arch.clone(), path, ptx, kernels, seconds: compiled.seconds })
    }

    #[expect(clippy::type_complexity, reason = "two maps by kernel, used once")]
    fn assemble(
        &self,
        ptx: &Path,
        arch: &Arch,
        warnings: &mut Vec<String>,
    ) -> Result<(HashMap<String, Resources>, HashMap<String, usize>), Error> {
        let Some(program) = self.ptxas.clone().unwrap_or_else(ptxas::find) else {
            return Ok(Default::default());
        };
        let cubin = self.nvdisasm.as_ref().map(|_| ptx.with_extension("cubin"));
        let resources = match ptxas::assemble(&program, ptx, arch, cubin.as_deref()) {
            Ok(resources) => resources,
            Err(error) if ptxas::is_too_old(&error) => {
                warnings
                    .push(format!("{} is too old for {arch}: registers are not known", program.display()));
                return Ok(Default::default());
            }
            Err(error) => return Err(error),
        };
        let sass = match (&self.nvdisasm, &cubin) {
            (Some(nvdisasm), Some(cubin)) => {
                let counts = ptxas::sass_instructions(nvdisasm, cubin);
                ptxas::discard(cubin);
                counts?
            }
            _ => HashMap::new(),
        };
        Ok((resources, sass))
    }

    fn copy(&self, images: &[Image]) -> Result<(), Error> {
        let Some(path) = &self.copy_to else { return Ok(()) };
        for image in images {
            let to = copied(path, image, images.len());
            fs::write(&to, &image.ptx).map_err(|e| Error::io("write", to, e))?;
        }
        Ok(())
    }
}

/// Where the copy of one of `count` images goes.
pub(crate) fn copied(path: &Path, image: &Image, count: usize) -> PathBuf {
    if count == 1 {
        return path.to_owned();
    }
    let extension = path.extension().map_or("ptx".into(), |e| e.to_string_lossy().into_owned());
    path.with_extension(format!("{}.{extension}", image.arch))
}

fn script_path(variable: &'static str) -> Result<PathBuf, Error> {
    env::var_os(variable).map(PathBuf::from).ok_or(Error::NotABuildScript { variable })
}

/// Why no PTX is wanted, if none is.
fn switched_off() -> Result<Option<&'static str>, Error> {
    if env::var_os("DOCS_RS").is_some() {
        return Ok(Some("docs.rs builds no PTX"));
    }
    match env::var("OXSHMEM_PTX").unwrap_or_default().as_str() {
        "" | "on" => Ok(None),
        "off" => Ok(Some("OXSHMEM_PTX=off")),
        other => {
            let expected = "`on` (the default) or `off`";
            Err(Error::Variable { name: "OXSHMEM_PTX", value: other.to_owned(), expected })
        }
    }
}

/// The features that cargo chose for the package whose build script this is.
fn script_features() -> Option<Vec<String>> {
    let chosen = env::var("CARGO_CFG_FEATURE").ok()?;
    Some(chosen.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Makes cargo run the script again after something was installed: these files change then, and seldom otherwise.
fn watch_for_a_toolchain() {
    let rustup = toolchain::rustup_home().map(|home| home.join("update-hashes"));
    for path in rustup.into_iter().chain([PathBuf::from("/var/lib/dpkg/status")]).filter(|path| path.exists())
    {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
