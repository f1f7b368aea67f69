//! `cargo xtask ptx`: compiles, checks and assembles every kernel, and tells what each one costs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use oxshmem_builder::{Builder, Built, Error, Image, KernelReport};

use crate::checkout::Checkout;
use crate::new;
use crate::say::{self, Task, seconds};
use crate::tools::Tool;

/// What was found.
#[derive(Debug)]
pub struct Report {
    /// Kernels, counted once per architecture.
    pub kernels: usize,
    /// From a change in one kernel to the PTX of both architectures.
    pub rebuild: Duration,
}

/// What the table shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Machine instructions, too.
    pub sass: bool,
    /// The traced flavour, and not the plain one.
    pub trace: bool,
}

/// Compiles the packages' kernels (all packages with kernels, if none is named) and prints a table.
///
/// # Errors
/// If a kernel does not compile, is refused by the lint, or does not assemble; the other packages are still tried.
pub fn ptx(checkout: &Checkout, names: &[String], Shown { sass, trace }: Shown) -> Result<Report> {
    let ptxas = Tool::Ptxas.get(&checkout.target)?;
    let nvdisasm = if sass { Some(Tool::Nvdisasm.get(&checkout.target)?) } else { None };
    println!("assembler: {}", ptxas.display());
    let mut rows = vec![header(sass)];
    let mut times = Vec::new();
    let mut failed = Vec::new();
    for package in checkout.kernels_packages(names)? {
        let mut builder = quiet(&package.folder).ptxas(Some(ptxas.clone()));
        if trace {
            builder = builder.trace();
        }
        if let Some(nvdisasm) = &nvdisasm {
            builder = builder.nvdisasm(nvdisasm);
        }
        let task = Task::start(format!("compiling the kernels of {}", package.name));
        match builder.compile().map_err(failure).and_then(assembled) {
            Ok(built) => {
                task.done();
                for warning in &built.warnings {
                    eprintln!("{}: {warning}", built.package);
                }
                if built.images.iter().all(|image| image.kernels.is_empty()) {
                    println!(
                        "{}: compiles; its device functions are entered from other packages",
                        built.package
                    );
                }
                for image in if trace { &built.traced } else { &built.images } {
                    rows.extend(image.kernels.iter().map(|kernel| row(&built, image, kernel, sass)));
                    times.push(format!("{} for {}: {:.1} s", built.package, image.arch, image.seconds));
                }
            }
            Err(error) => {
                task.failed();
                eprintln!("{}: {error:#}", package.name);
                failed.push(package.name.as_str());
            }
        }
    }
    print!("{}", say::table(&rows));
    println!("build: {}", times.join("; "));
    if !failed.is_empty() {
        bail!("the kernels of {} cannot be built", failed.join(", "));
    }
    let rebuild = rebuild(checkout, &ptxas)?;
    println!("rebuild after a change in one kernel: {}", seconds(rebuild));
    Ok(Report { kernels: rows.len() - 1, rebuild })
}

fn header(sass: bool) -> Vec<String> {
    let mut names =
        vec!["package", "arch", "kernel", "registers", "spilled", "stack", "shared", "barriers", "PTX"];
    if sass {
        names.push("SASS");
    }
    names.into_iter().map(str::to_owned).collect()
}

fn row(built: &Built, image: &Image, kernel: &KernelReport, sass: bool) -> Vec<String> {
    let resources = kernel.resources.unwrap_or_default();
    let mut cells = vec![built.package.clone(), image.arch.to_string(), kernel.symbol.clone()];
    let numbers = [
        resources.registers,
        resources.spill_stores + resources.spill_loads,
        resources.stack,
        resources.shared,
        resources.barriers,
    ];
    cells.extend(numbers.iter().map(u32::to_string));
    cells.push(kernel.instructions.to_string());
    if sass {
        cells.push(kernel.sass_instructions.map_or_else(|| "?".to_owned(), |count| count.to_string()));
    }
    cells
}

/// Refuses a build of which the assembler told nothing.
fn assembled(built: Built) -> Result<Built> {
    ensure!(!built.images.is_empty(), "no image was built");
    for image in &built.images {
        let silent = image.kernels.iter().find(|kernel| kernel.resources.is_none());
        if let Some(kernel) = silent {
            bail!("{} was not assembled for {}: {}", kernel.symbol, image.arch, built.warnings.join("; "));
        }
    }
    Ok(built)
}

/// A builder that leaves the terminal to this program's own progress lines.
fn quiet(folder: &Path) -> Builder {
    Builder::for_package(folder).progress(|_| {})
}

fn failure(error: Error) -> anyhow::Error {
    anyhow!(error.to_string())
}

/// How long it takes from a changed constant in a kernel to the PTX of both architectures, in a package as `xtask new` makes
/// it. Nothing of the source tree is touched; the first build, which also compiles the device crates, is not counted.
fn rebuild(checkout: &Checkout, ptxas: &Path) -> Result<Duration> {
    let folder = checkout.target.join("rebuild");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    new::new(checkout, "rebuild", Some(&folder))?;
    let builder = quiet(&folder).ptxas(Some(ptxas.to_owned()));
    let task = Task::start("compiling a package of one kernel, then changing it");
    let before = builder.compile().map_err(failure)?;
    change_kernel(&folder)?;
    let start = Instant::now();
    let after = builder.compile().map_err(failure)?;
    let took = start.elapsed();
    task.done();
    let changed = before.images.iter().zip(&after.images).all(|(before, after)| before.ptx != after.ptx);
    ensure!(changed, "the PTX is the same after a change in the kernel");
    Ok(took)
}

/// Changes the constant in the kernel of a package made by [`new::new`].
///
/// # Errors
/// If it is not there, or the file cannot be written.
pub fn change_kernel(folder: &Path) -> Result<()> {
    let file = folder.join("src/lib.rs");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    ensure!(text.contains(new::CONSTANT), "{} has no line `{}`", file.display(), new::CONSTANT);
    fs::write(&file, text.replace(new::CONSTANT, new::CHANGED))
        .with_context(|| format!("cannot write {}", file.display()))
}
