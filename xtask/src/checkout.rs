//! The checkout that these commands work on: its folders, its packages, and cargo.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process::{self, Stream};
use crate::say::Task;
use crate::steps::PACKAGES;

/// Variables by which `cargo run` describes this program; a nested cargo must not take them for its own.
const OF_THIS_PROGRAM: &[&str] =
    &["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"];

/// The checkout.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// The workspace's folder.
    pub root: PathBuf,
    /// The folder of everything built.
    pub target: PathBuf,
    /// The workspace's packages.
    pub packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Whether its build script compiles kernels: it has `oxshmem-builder` as a build dependency.
    pub has_kernels: bool,
}

impl Checkout {
    /// The checkout that this program was built from.
    ///
    /// # Errors
    /// If cargo cannot read the workspace.
    pub fn find() -> Result<Self> {
        let own = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let own = own.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let root = own.parent().context("the folder of xtask has no parent")?.to_owned();
        let metadata = metadata(&root, &["--no-deps"])?;
        let target = metadata["target_directory"].as_str().context("cargo names no target folder")?.into();
        let packages = array(&metadata["packages"]).iter().map(package).collect::<Result<_>>()?;
        Ok(Self { root, target, packages })
    }

    /// Cargo, in the workspace's folder.
    pub fn cargo(&self) -> Command {
        cargo_in(&self.root)
    }

    /// Where cargo puts programs built with the release profile.
    pub fn programs(&self) -> PathBuf {
        self.target.join("release")
    }

    /// The packages that hold kernels, or those of them that are named.
    ///
    /// # Errors
    /// If a name is not that of a package with kernels.
    pub fn kernels_packages(&self, names: &[String]) -> Result<Vec<&Package>> {
        let all = self.packages.iter().filter(|package| package.has_kernels);
        if names.is_empty() {
            return Ok(all.collect());
        }
        let find = |name: &String| {
            let found = all.clone().find(|package| package.name == *name);
            found.with_context(|| {
                let known: Vec<&str> = all.clone().map(|package| package.name.as_str()).collect();
                format!("`{name}` is no package with kernels; these are: {}", known.join(", "))
            })
        };
        names.iter().map(find).collect()
    }

    /// Builds every program that suites and bundles run, with the release profile. Always all at once: another selection
    /// has other features, with which everything would be built again.
    ///
    /// # Errors
    /// As [`build_release`](Self::build_release).
    pub fn build_programs(&self) -> Result<PathBuf> {
        self.build_with("building the programs", PACKAGES, &["--example", "dlpack"])?;
        Ok(self.programs())
    }

    /// Builds programs with the release profile and shows progress.
    ///
    /// # Errors
    /// If the build fails; what cargo said is printed.
    pub fn build_release(&self, what: &str, packages: &[&str]) -> Result<()> {
        self.build_with(what, packages, &[])
    }

    fn build_with(&self, what: &str, packages: &[&str], also: &[&str]) -> Result<()> {
        let mut command = self.cargo();
        command.args(["build", "--release", "--bins"]).args(also);
        for package in packages {
            command.args(["--package", package]);
        }
        build(&mut command, what)
    }

    /// The commit, with `+changes` if the tree differs from it; `unknown` outside a repository.
    pub fn commit(&self) -> String {
        let git = |arguments: &[&str]| {
            process::output(Command::new("git").arg("-C").arg(&self.root).args(arguments)).ok()
        };
        let Some(head) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
        let changed = git(&["status", "--porcelain"]).is_none_or(|changes| !changes.trim().is_empty());
        format!("{}{}", head.trim(), if changed { "+changes" } else { "" })
    }
}

/// Runs a cargo build with its messages behind a progress display; prints them if it fails.
///
/// # Errors
/// If the build fails.
pub fn build(command: &mut Command, what: &str) -> Result<()> {
    let mut task = Task::start(what);
    let finished = process::run(command, None, &mut |stream, line| {
        if stream == Stream::Err && !line.trim().is_empty() {
            task.now(line);
        }
    })?;
    if finished.ok() {
        task.done();
        // A warning of a build script says that something is missing: it must not drown.
        let warnings: Vec<&str> = finished
            .stderr
            .lines()
            .filter(|line| line.starts_with("warning:") && line.contains('@'))
            .collect();
        for warning in warnings {
            eprintln!("{warning}");
        }
        return Ok(());
    }
    task.failed();
    eprint!("{}{}", finished.stdout, finished.stderr);
    bail!("`{}` {}", process::shown(command), finished.verdict())
}

/// Cargo, in a folder, without what `cargo run` set for this program.
pub fn cargo_in(folder: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| OF_THIS_PROGRAM.iter().any(|own| name.starts_with(own))) {
            command.env_remove(&name);
        }
    }
    command.current_dir(folder);
    command
}

/// What `cargo metadata` says with the given options.
///
/// # Errors
/// If cargo fails or says something else than JSON.
pub fn metadata(folder: &Path, options: &[&str]) -> Result<Value> {
    let mut command = cargo_in(folder);
    command.args(["metadata", "--format-version", "1"]).args(options);
    let text = process::output(&mut command)?;
    serde_json::from_str(&text).context("`cargo metadata` printed no JSON")
}

/// The elements of a JSON array; none if it is something else.
pub fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn package(value: &Value) -> Result<Package> {
    let text = |key: &str| value[key].as_str().with_context(|| format!("a package without `{key}`"));
    let manifest = Path::new(text("manifest_path")?);
    let folder = manifest.parent().context("a manifest without a folder")?.to_owned();
    let is_builder =
        |dependency: &Value| dependency["name"] == "oxshmem-builder" && dependency["kind"] == "build";
    let has_kernels = array(&value["dependencies"]).iter().any(is_builder);
    Ok(Package { name: text("name")?.to_owned(), folder, has_kernels })
}
