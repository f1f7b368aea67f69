//! `cargo xtask bundle`: one folder that runs where there is a driver and no Rust.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use oxshmem_builder::{Toolchain, pack};

use crate::bench;
use crate::checkout::Checkout;
use crate::process;
use crate::runner::Part;
use crate::setup;
use crate::steps::{LIBRARY, PLAIN_PROGRAMS, PROGRAMS, SCRIPT};

/// What a bundle may weigh at most. Most of it is the host's half of each program; the kernels are compressed PTX for two
/// architectures. A program that carries kernels which it does not run shows here.
pub const MOST_BYTES: u64 = 112 << 20;

/// A line of every MANIFEST, by which a folder is known as a bundle.
const FIRST_LINE: &str = "oxshmem bundle";

/// Makes a bundle in `out` (default: `bundle` in the workspace) and returns its folder.
///
/// # Errors
/// If a build fails, or `out` holds something that is no bundle.
pub fn bundle(checkout: &Checkout, out: Option<&Path>) -> Result<PathBuf> {
    let out = out.map_or_else(|| checkout.root.join("bundle"), Path::to_owned);
    let (parent, out) = place(&out)?;
    check_place(&out)?;
    checkout.build_programs()?;

    // A folder of this process alone, made here and nowhere before.
    let unfinished = parent.join(format!(".bundle.unfinished-{}", std::process::id()));
    fs::create_dir(&unfinished).with_context(|| format!("cannot make {}", unfinished.display()))?;
    let made = fill(checkout, &unfinished).and_then(|()| {
        // The build took a while: look again before anything is replaced.
        check_place(&out)?;
        remove(&out)?;
        fs::rename(&unfinished, &out).with_context(|| format!("cannot make {}", out.display()))
    });
    if let Err(error) = made {
        remove(&unfinished)?;
        return Err(error);
    }

    let bytes = size(&out)?;
    let kib = bytes.div_ceil(1024);
    println!("{}: {}.{} MiB", out.display(), kib / 1024, kib % 1024 * 10 / 1024);
    if bytes > MOST_BYTES {
        bail!("the bundle weighs {bytes} bytes, and {MOST_BYTES} are allowed");
    }
    Ok(out)
}

/// The folder that `out` is in, which must exist, and `out` in it, with no `..` or link on the way.
fn place(out: &Path) -> Result<(PathBuf, PathBuf)> {
    let absolute = std::path::absolute(out).with_context(|| format!("cannot find {}", out.display()))?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        bail!("{} does not end in a folder's name: name the bundle's folder itself", out.display());
    };
    let parent =
        parent.canonicalize().with_context(|| format!("the bundle cannot go into {}", parent.display()))?;
    let out = parent.join(name);
    Ok((parent, out))
}

/// Copies everything into an empty folder.
fn fill(checkout: &Checkout, unfinished: &Path) -> Result<()> {
    let programs = unfinished.join("bin");
    fs::create_dir(&programs).with_context(|| format!("cannot make {}", programs.display()))?;
    let strip = process::on_path("strip");
    take(&checkout.programs().join("run"), &unfinished.join("run"), strip.as_deref())?;
    for program in PROGRAMS.iter().chain(PLAIN_PROGRAMS) {
        take(&checkout.programs().join(program), &programs.join(program), strip.as_deref())?;
    }
    let library = programs.join("libdlpack.so");
    take(&checkout.programs().join(LIBRARY), &library, strip.as_deref())?;
    copy(&checkout.root.join(SCRIPT), &programs.join("dlpack.py"))?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&checkout.root.join(licence), &unfinished.join(licence))?;
    }
    fs::write(unfinished.join("MANIFEST"), manifest(checkout, &programs)?)?;
    Ok(())
}

/// Makes the bundle in the workspace and calls its runner; `device` overrides `OXSHMEM_DEVICE`.
///
/// # Errors
/// If it cannot be made, or its runner fails.
pub fn run(checkout: &Checkout, arguments: &[&str], device: Option<&str>) -> Result<()> {
    let folder = bundle(checkout, None)?;
    let mut runner = Command::new(folder.join("run"));
    runner.args(arguments);
    if let Some(device) = device {
        runner.env("OXSHMEM_DEVICE", device);
    }
    process::pass_through(&mut runner)
}

/// `cargo xtask bench`: makes the bundle and runs its benchmarks, or a suite of them against the peers in a folder.
///
/// # Errors
/// As [`run`].
pub fn bench(
    checkout: &Checkout,
    part: Part,
    out: Option<&Path>,
    suite: Option<(&str, &Path)>,
) -> Result<()> {
    setup::device_toolchain(checkout, true)?;
    let part = format!("{}/{}", part.index, part.of);
    let mut arguments = vec!["bench", "--part", &part];
    let out = out.map(|path| path.display().to_string());
    if let Some(out) = &out {
        arguments.extend(["--out", out]);
    }
    let suite = suite.map(|(suite, peers)| (suite, peers.display().to_string()));
    if let Some((suite, peers)) = &suite {
        arguments.extend(["--suite", suite, "--peers", peers]);
    }
    run(checkout, &arguments, None)
}

/// The value of a line `key: value` in a bundle's MANIFEST.
pub fn manifest_value(bundle: &Path, key: &str) -> Option<String> {
    let text = fs::read_to_string(bundle.join("MANIFEST")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    value.map(str::to_owned)
}

/// Refuses a folder with anything in it that is not an older bundle: it will be replaced.
fn check_place(out: &Path) -> Result<()> {
    let is_bundle = fs::read_to_string(out.join("MANIFEST")).is_ok_and(|text| text.starts_with(FIRST_LINE));
    let is_empty = match fs::read_dir(out) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !out.exists(),
    };
    if !is_bundle && !is_empty {
        bail!(
            "{} is neither empty nor an older bundle, so it is left alone: name another with --out",
            out.display()
        );
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display())),
        false => Ok(()),
    }
}

/// Copies a program, without symbols where there is a `strip`.
fn take(from: &Path, to: &Path, strip: Option<&Path>) -> Result<()> {
    copy(from, to)?;
    if let Some(strip) = strip {
        process::output(Command::new(strip).arg(to))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Commit, date, compilers, and for each program the architectures of the PTX that is really in it.
fn manifest(checkout: &Checkout, programs: &Path) -> Result<String> {
    let rustc = process::output(Command::new("rustc").arg("--version"))?;
    let device = Toolchain::find().map_or_else(|_| "none".to_owned(), |toolchain| toolchain.version);
    let mut text = format!(
        "{FIRST_LINE}\ncommit: {}\ndate: {}\nrustc: {}\ndevice toolchain: {device}\nneeds: x86-64 Linux with glibc {} or newer; \
         for a GPU an NVIDIA driver\n",
        checkout.commit(),
        bench::date(),
        rustc.trim(),
        glibc().unwrap_or_else(|| "2.36".to_owned()),
    );
    text.push_str("kernels:\n");
    for program in PROGRAMS {
        let bytes = fs::read(programs.join(program))?;
        let archs = pack::archs_in(&bytes);
        let shown =
            if archs.is_empty() { "no PTX: runs on the emulator only".to_owned() } else { archs.join(" ") };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {program}: {shown}");
    }
    Ok(text)
}

/// The C library of this machine, which the programs are linked against.
fn glibc() -> Option<String> {
    let text = process::output(Command::new("ldd").arg("--version")).ok()?;
    text.lines().next()?.split_whitespace().next_back().map(str::to_owned)
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        bytes += if data.is_dir() { size(&entry.path())? } else { data.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_goes_to_a_named_folder_in_one_that_exists() {
        let temp = std::env::temp_dir().canonicalize().expect("there is a temporary folder");
        assert_eq!(place(&temp.join("b.v1")).expect("a place"), (temp.clone(), temp.join("b.v1")));
        let missing = temp.join("no such folder");
        for wrong in [missing.join(".."), missing.join("b"), PathBuf::from("/"), temp.join("..")] {
            assert!(place(&wrong).is_err(), "{}", wrong.display());
        }
    }

    #[test]
    fn a_folder_with_something_else_in_it_is_left_alone() {
        let error = check_place(Path::new("/usr")).expect_err("not a bundle");
        assert!(error.to_string().contains("left alone"));
        assert!(check_place(Path::new("/nonexistent/folder")).is_ok());
    }
}
