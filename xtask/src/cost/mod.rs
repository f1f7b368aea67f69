//! `cargo xtask cost`: what an operation of the library costs in machine instructions and registers, beside the same written
//! by hand in CUDA C++ on peer pointers.
//!
//! Ours are the probe kernels (`tests/probes`), one call each; the others the kernels of `perf/peers/cost.cu`. Both become
//! PTX by their own compiler and machine code by one assembler.

mod sass;

use std::collections::HashMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail, ensure};
use oxshmem_builder::ptxas::{self, Resources};
use oxshmem_builder::{Arch, Builder};

use crate::checkout::Checkout;
use crate::process;
use crate::say::{self, Task};
use crate::tools::Tool;

pub use sass::Count;

const ARCH: &str = "sm_90";
const PROBES: &str = "oxshmem-probes";

/// A primitive, our probe of it, and the kernel of `cost.cu`.
const ROWS: &[(&str, &str, &str)] = &[
    ("p, 4 bytes", "p__u32", "cost_p"),
    ("g, 8 bytes", "g__u64", "cost_g"),
    ("put, thread, 4-byte elements", "put_thread__u32", "cost_put_thread_u32"),
    ("put, warp, 4-byte elements", "put_warp__u32", "cost_put_warp_u32"),
    ("put, block, 4-byte elements", "put_block__u32", "cost_put_block_u32"),
    ("put, thread, 16-byte elements", "put_thread__u128", "cost_put_thread_u128"),
    ("put, warp, 16-byte elements", "put_warp__u128", "cost_put_warp_u128"),
    ("put, block, 16-byte elements", "put_block__u128", "cost_put_block_u128"),
    ("get, block, 4-byte elements", "get_block__u32", "cost_get_block_u32"),
    ("get, block, 16-byte elements", "get_block__u128", "cost_get_block_u128"),
    ("put_nbi and quiet, block, 4-byte elements", "put_nbi_quiet_block", "cost_put_nbi_quiet_block"),
    ("put_signal, block, 4-byte elements", "put_signal_set", "cost_put_signal_block"),
    ("weak signal, thread", "signal_weak_set", "cost_signal_weak_thread"),
    ("signal, block", "signal_set", "cost_signal_strong_block"),
    ("wait_until, thread", "wait_until_thread", "cost_wait_until_thread"),
    ("wait_until, block", "wait_until_block", "cost_wait_until_block"),
    ("fence, thread", "fence_thread", "cost_fence_thread"),
    ("fence, block", "fence_block", "cost_fence_block"),
    ("quiet, thread", "quiet_thread", "cost_quiet_thread"),
    ("quiet, block", "quiet_block", "cost_quiet_block"),
    ("atomic add, 8 bytes", "atomic_add__u64", "cost_atomic_add"),
    ("atomic fetch_add, 8 bytes", "atomic_fetch_add__u64", "cost_atomic_fetch_add"),
    ("atomic compare_swap, 8 bytes", "atomic_compare_swap__u64", "cost_atomic_compare_swap"),
];

const EXPLANATION: &str = "\
Instructions are those in the kernel, whether or not executed, without the padding at its end. On failure: only a thread
that fails executes them (bounds, lengths, no such PE, time-out): the record, its claim, the alarm. Hot: the others.
CUDA C++ checks nothing, and its waits have no deadline. Ranges of 4-byte elements: where the two ends lie differently to
the 16-byte grid, ours shifts 16-byte accesses into place; CUDA C++ takes 4-byte accesses there.

";

/// What the kernels of one file take, by symbol.
struct Measured {
    counts: HashMap<String, Count>,
    resources: HashMap<String, Resources>,
}

impl Measured {
    fn of(&self, symbol: &str) -> Result<(Count, u32)> {
        match (self.counts.get(symbol), self.resources.get(symbol)) {
            (Some(count), Some(resources)) => Ok((*count, resources.registers)),
            _ => bail!("there is no kernel {symbol}"),
        }
    }
}

/// Compiles both sides for one architecture and prints the table, or writes it to `out`.
///
/// # Errors
/// If a compiler, the assembler or the disassembler is missing or fails, or a kernel of the table is not there.
pub fn cost(checkout: &Checkout, nvcc: Option<&Path>, out: Option<&Path>) -> Result<()> {
    let nvcc = match nvcc {
        Some(named) => named.to_owned(),
        None => find_nvcc().context("no nvcc: install CUDA's toolkit, or name one by --nvcc")?,
    };
    let tools = (Tool::Ptxas.get(&checkout.target)?, Tool::Nvdisasm.get(&checkout.target)?);
    let folder = checkout.target.join("cost");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;

    let packages = checkout.kernels_packages(&[PROBES.to_owned()])?;
    let package = packages.first().with_context(|| format!("there is no package {PROBES}"))?;
    let task = Task::start("compiling the probes");
    let built = Builder::for_package(&package.folder).progress(|_| {}).arch(ARCH).ptxas(None).compile();
    let built = built.map_err(|error| anyhow!(error.to_string()))?;
    task.done();
    let image = built.images.first().context("no image was built")?;
    let ours = measure(&tools, &image.path, &folder.join("probes.cubin"))?;

    let source = checkout.root.join("perf/peers/cost.cu");
    let ptx = folder.join("cost.ptx");
    let task = Task::start("compiling perf/peers/cost.cu");
    let mut command = Command::new(&nvcc);
    command.args(["-std=c++17", "-O3", "-ptx", &format!("-arch={ARCH}"), "-o"]).arg(&ptx).arg(&source);
    process::output(&mut command)?;
    task.done();
    let theirs = measure(&tools, &ptx, &folder.join("cost.cubin"))?;

    let mut text = heading(&built.toolchain, &nvcc, &tools.0, &checkout.commit())?;
    text += &say::table(&rows(&ours, &theirs)?);
    match out {
        Some(file) => fs::write(file, text).with_context(|| format!("cannot write {}", file.display())),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

/// Assembles and disassembles one file of PTX.
fn measure((ptxas, nvdisasm): &(PathBuf, PathBuf), ptx: &Path, cubin: &Path) -> Result<Measured> {
    let failure = |error: oxshmem_builder::Error| anyhow!(error.to_string());
    let arch = Arch::parse(ARCH).map_err(failure)?;
    let resources = ptxas::assemble(ptxas, ptx, &arch, Some(cubin)).map_err(failure)?;
    let text = process::output(Command::new(nvdisasm).arg("-c").arg(cubin))?;
    Ok(Measured { counts: sass::count(&text)?, resources })
}

fn rows(ours: &Measured, theirs: &Measured) -> Result<Vec<Vec<String>>> {
    let mut rows = vec![
        [
            "primitive",
            "ours: instructions",
            "of them on failure",
            "hot",
            "registers",
            "CUDA C++: instructions",
            "registers",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let prefix = PROBES.replace('-', "_");
    for (primitive, probe, kernel) in ROWS {
        let (own, own_registers) = ours.of(&format!("{prefix}__{probe}"))?;
        let (hand, hand_registers) = theirs.of(kernel)?;
        ensure!(hand.cold == 0, "{kernel} has instructions that no thread reaches an end by");
        let numbers = [
            own.all,
            own.cold,
            own.all - own.cold,
            own_registers as usize,
            hand.all,
            hand_registers as usize,
        ];
        let mut row = vec![(*primitive).to_owned()];
        row.extend(numbers.iter().map(usize::to_string));
        rows.push(row);
    }
    Ok(rows)
}

/// What was compared, by which programs.
fn heading(toolchain: &str, nvcc: &Path, ptxas: &Path, commit: &str) -> Result<String> {
    let version = |program: &Path| -> Result<String> {
        let said = process::output(Command::new(program).arg("--version"))?;
        let release = said.lines().find(|line| line.contains("release")).unwrap_or("of unknown version");
        Ok(release.trim().to_owned())
    };
    let mut text = String::new();
    writeln!(text, "cargo xtask cost, commit {commit}, for {ARCH}")?;
    writeln!(text, "ours: tests/probes by {toolchain}")?;
    writeln!(text, "CUDA C++: perf/peers/cost.cu by nvcc: {}", version(nvcc)?)?;
    writeln!(text, "both assembled by ptxas: {}", version(ptxas)?)?;
    text += EXPLANATION;
    Ok(text)
}

fn find_nvcc() -> Option<PathBuf> {
    let named = env::var_os("NVCC").filter(|path| !path.is_empty()).map(PathBuf::from);
    let usual = || Some(PathBuf::from("/usr/local/cuda/bin/nvcc")).filter(|file| file.is_file());
    named.or_else(|| process::on_path("nvcc")).or_else(usual)
}
