//! Where device builds happen: one target folder per workspace, and the workspace whose lock file counts.
//!
//! A build script is told neither. Both are read off its `OUT_DIR`, which cargo lays out the same way everywhere.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::manifest::Manifest;
use crate::process;
use crate::toolchain::Toolchain;

/// `<target>/oxshmem-device` for a build script whose `OUT_DIR` is `<target>[/<triple>]/<profile>/build/<unit>/out`: one
/// folder per workspace, and not the outer build's, whose lock is held. Cargo tags the target folder and each triple's.
pub(crate) fn target_of_script(out: &Path) -> PathBuf {
    let tagged = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file();
    let Some(inner) = out.ancestors().skip(1).take(7).find(tagged) else { return out.join("oxshmem-device") };
    let outer = inner.parent().filter(tagged).unwrap_or(inner);
    outer.join("oxshmem-device")
}

pub(crate) fn target_of_workspace(toolchain: &Toolchain, manifest: &Manifest) -> Result<PathBuf, Error> {
    if let Some(folder) = env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty()) {
        let folder = PathBuf::from(folder);
        let folder = std::path::absolute(&folder).map_err(|e| Error::io("find", &folder, e))?;
        return Ok(folder.join("oxshmem-device"));
    }
    let mut cargo = process::command(&toolchain.cargo);
    cargo.current_dir(&manifest.folder).env("RUSTC", &toolchain.rustc);
    let output = process::run(cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]))?;
    let said = process::stdout(&output);
    let folder = said.split("\"target_directory\":\"").nth(1).and_then(|rest| rest.split('"').next());
    match folder {
        Some(folder) => Ok(PathBuf::from(folder.replace("\\\\", "\\")).join("oxshmem-device")),
        None => {
            let why = format!("cargo cannot read it: {}", process::stderr(&output).trim());
            Err(Error::Package { path: manifest.folder.clone(), why })
        }
    }
}

/// The workspace that is being built, seen from a package that is not a member of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outer {
    /// Its Cargo.toml.
    pub manifest: PathBuf,
    /// The package in its graph, as in `ring-shift@0.1.0`.
    pub spec: String,
}

/// For a kernels crate that cargo took from a registry or a repository: built by itself it would resolve its dependencies
/// anew, and its device half could differ from its host half. So it is built as a part of the workspace that uses it,
/// which is the folder of the target folder, or where cargo was started. `None` for a package with a workspace of its
/// own, and if the user's is not found.
pub(crate) fn outer_workspace(manifest: &Manifest, target: &Path) -> Option<Outer> {
    let folder = manifest.folder.to_string_lossy();
    if !folder.contains("/registry/src/") && !folder.contains("/git/checkouts/") {
        return None;
    }
    let spec = match env::var("CARGO_PKG_VERSION") {
        Ok(version) => format!("{}@{version}", manifest.package),
        Err(_) => manifest.package.clone(),
    };
    let of_target = target.parent().and_then(Path::parent).map(Path::to_owned);
    let started_in = env::var_os("PWD").map(PathBuf::from);
    let mut folders = of_target.into_iter().chain(started_in);
    let manifest = folders.find_map(|folder| {
        folder.ancestors().map(|folder| folder.join("Cargo.toml")).find(|file| file.is_file())
    })?;
    Some(Outer { manifest, spec })
}
