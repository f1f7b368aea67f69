//! The device sysroot: `core`, `compiler_builtins` and `alloc` for the device, compiled once per compiler version.
//!
//! It takes about 40 seconds on two cores and 50 MB, so it is kept in a cache folder of the user, under a name made of
//! the compiler's version and the flags. A finished sysroot appears by one rename, and builders wait for each other on
//! a lock file: a half-written one is never used. Nothing is fetched.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::arch::Arch;
use crate::error::Error;
use crate::process;
use crate::toolchain::{TARGET, Toolchain};

/// Raise this when the way of building changes, so that old caches are left alone.
const FORMAT: u32 = 1;

/// Up to rustc 1.96 one sysroot serves every architecture: its libraries for this one link into images for newer ones
/// (tried).
const COMMON_CPU: &str = "sm_80";

/// From this minor version of rustc on all crates of an image must be for the same architecture.
const FIRST_STRICT_MINOR: u32 = 97;

/// Temporary folders older than this belong to builds that died.
const STALE: Duration = Duration::from_secs(24 * 3600);

const FLAGS: &[&str] = &[
    "--target",
    TARGET,
    "--edition",
    "2024",
    "--crate-type",
    "rlib",
    "-Copt-level=3",
    "-Ccodegen-units=1",
    "-Cembed-bitcode=yes",
    "-Zunstable-options",
    "-Cpanic=immediate-abort",
    "-Zmir-enable-passes=-JumpThreading",
    "-Zforce-unstable-if-unmarked",
    "-Awarnings",
];

/// A library of the sysroot, in the order in which they are built.
struct Library {
    name: &'static str,
    root: &'static str,
    cfgs: &'static [&'static str],
    uses: &'static [&'static str],
}

const LIBRARIES: &[Library] = &[
    Library { name: "core", root: "core/src/lib.rs", cfgs: &[], uses: &[] },
    Library {
        name: "compiler_builtins",
        root: "compiler-builtins/compiler-builtins/src/lib.rs",
        // What its build script sets for this target.
        cfgs: &[
            "feature=\"compiler-builtins\"",
            "feature=\"mem\"",
            "feature=\"unstable-intrinsics\"",
            "intrinsics_enabled",
            "arch_enabled",
            "optimizations_enabled",
            "f16_enabled",
        ],
        uses: &["core"],
    },
    Library { name: "alloc", root: "alloc/src/lib.rs", cfgs: &[], uses: &["core", "compiler_builtins"] },
];

/// The folder to pass as `--sysroot` when building for `arch`, built if it is not in the cache. `fallback` takes the place of a cache folder that
/// does not exist or cannot be written. `progress` is told what takes long.
///
/// # Errors
/// [`Error::Sysroot`] if a library does not compile, [`Error::Io`] if not even `fallback` can be written.
pub fn ensure(
    toolchain: &Toolchain,
    arch: &Arch,
    fallback: &Path,
    progress: &dyn Fn(&str),
) -> Result<PathBuf, Error> {
    let cpu = cpu_for(&toolchain.release, arch);
    let name = format!("sysroot-{}-{:016x}", toolchain.release, key(toolchain, cpu));
    let mut caches = cache_folder().into_iter().filter(|folder| is_writable(folder));
    let cache = caches.next().unwrap_or_else(|| fallback.to_owned());
    ensure_in(toolchain, cpu, &cache, &name, progress)
}

/// The per-user cache folder: `OXSHMEM_CACHE`, else `XDG_CACHE_HOME/oxshmem`, else `~/.cache/oxshmem`.
pub fn cache_folder() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("OXSHMEM_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("oxshmem")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/oxshmem")))
        .and_then(|folder| std::path::absolute(folder).ok())
}

fn is_writable(folder: &Path) -> bool {
    let trial = folder.join(format!(".writable-{}", std::process::id()));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&trial, b""));
    // Whether it can be removed again matters to nobody.
    let _ = fs::remove_file(&trial);
    written.is_ok()
}

/// The architecture for which the libraries of an image are built.
fn cpu_for<'a>(release: &str, arch: &'a Arch) -> &'a str {
    let minor = release.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(u32::MAX);
    if minor >= FIRST_STRICT_MINOR || arch.number() < 80 { arch.name() } else { COMMON_CPU }
}

fn key(toolchain: &Toolchain, cpu: &str) -> u64 {
    let mut text = format!("{FORMAT}\n{cpu}\n{}\n{}\n", toolchain.verbose, toolchain.library.display());
    text.extend(FLAGS.iter().map(|flag| format!("{flag}\n")));
    text.extend(LIBRARIES.iter().map(|library| format!("{}\n", library.cfgs.join(" "))));
    fnv1a(text.as_bytes())
}

/// FNV-1a, 64 bits: a stable hash without a dependency.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn libraries_of(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(TARGET).join("lib")
}

fn is_complete(sysroot: &Path) -> bool {
    let folder = libraries_of(sysroot);
    LIBRARIES.iter().all(|library| folder.join(format!("lib{}.rlib", library.name)).is_file())
}

fn ensure_in(
    toolchain: &Toolchain,
    cpu: &str,
    cache: &Path,
    name: &str,
    progress: &dyn Fn(&str),
) -> Result<PathBuf, Error> {
    let sysroot = cache.join(name);
    if is_complete(&sysroot) {
        return Ok(sysroot);
    }
    fs::create_dir_all(cache).map_err(|e| Error::io("create", cache, e))?;
    // Some file systems know no locks; then two builders may do the same work, and the rename still decides.
    let lock_path = cache.join(format!("{name}.lock"));
    let lock = File::create(&lock_path).map_err(|e| Error::io("create", &lock_path, e))?;
    let _ = lock.lock();
    if is_complete(&sysroot) {
        return Ok(sysroot);
    }
    sweep(cache);
    let building = cache.join(format!(".building-{name}-{}", std::process::id()));
    let built = build(toolchain, cpu, &building, progress).and_then(|()| publish(&building, &sysroot));
    // What is left of a failed build is of no use to anyone.
    let _ = fs::remove_dir_all(&building);
    built.map(|()| sysroot)
}

fn build(toolchain: &Toolchain, cpu: &str, sysroot: &Path, progress: &dyn Fn(&str)) -> Result<(), Error> {
    let start = Instant::now();
    let folder = libraries_of(sysroot);
    fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, e))?;
    progress(&format!(
        "building the device's core library with {} (once, about 40 seconds)",
        toolchain.version
    ));
    for library in LIBRARIES {
        let mut rustc = process::command(&toolchain.rustc);
        rustc.arg("--crate-name").arg(library.name).arg(toolchain.library.join(library.root)).args(FLAGS);
        rustc.arg(format!("-Ctarget-cpu={cpu}")).arg("--out-dir").arg(&folder).arg("-L").arg(&folder);
        for cfg in library.cfgs {
            rustc.arg("--cfg").arg(cfg);
        }
        for used in library.uses {
            let rlib = folder.join(format!("lib{used}.rlib"));
            let mut external = std::ffi::OsString::from(format!("{used}="));
            external.push(rlib);
            rustc.arg("--extern").arg(external);
        }
        let output = process::run(&mut rustc)?;
        if !output.status.success() {
            return Err(Error::Sysroot {
                library: library.name,
                toolchain: toolchain.version.clone(),
                output: process::stderr(&output),
            });
        }
        progress(&format!("{} done after {:.0} s", library.name, start.elapsed().as_secs_f32()));
    }
    Ok(())
}

/// Puts the finished folder in its place. One that is there already and complete came from another builder and is as
/// good; one that is incomplete was damaged from outside and goes.
fn publish(built: &Path, sysroot: &Path) -> Result<(), Error> {
    if fs::rename(built, sysroot).is_ok() || is_complete(sysroot) {
        return Ok(());
    }
    fs::remove_dir_all(sysroot).map_err(|e| Error::io("remove the damaged", sysroot, e))?;
    fs::rename(built, sysroot).map_err(|e| Error::io("rename a new sysroot to", sysroot, e))
}

/// Removes what dead builds left behind.
fn sweep(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let is_building = entry.file_name().to_string_lossy().starts_with(".building-");
        let modified = entry.metadata().and_then(|m| m.modified()).unwrap_or_else(|_| SystemTime::now());
        if is_building && modified.elapsed().is_ok_and(|age| age > STALE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("oxshmem-sysroot-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a scratch folder");
        folder
    }

    fn fill(sysroot: &Path, libraries: &[&str]) {
        let folder = libraries_of(sysroot);
        fs::create_dir_all(&folder).expect("folder");
        for name in libraries {
            fs::write(folder.join(format!("lib{name}.rlib")), b"").expect("rlib");
        }
    }

    #[test]
    fn newer_compilers_get_libraries_of_the_images_own_arch() {
        let arch = Arch::parse("sm_90").expect("sm_90");
        assert_eq!(cpu_for("1.96.0", &arch), "sm_80");
        assert_eq!(cpu_for("1.97.0-nightly", &arch), "sm_90");
    }

    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn a_half_written_sysroot_is_replaced_and_a_complete_one_kept() {
        let folder = scratch("publish");
        let (built, place) = (folder.join("built"), folder.join("place"));
        fill(&built, &["core", "alloc", "compiler_builtins"]);
        fill(&place, &["core"]);
        publish(&built, &place).expect("publish");
        assert!(is_complete(&place));
        fill(&built, &["core", "alloc", "compiler_builtins"]);
        publish(&built, &place).expect("publish again");
        assert!(is_complete(&place));
        fs::remove_dir_all(&folder).expect("clean up");
    }
}
