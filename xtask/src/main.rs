//! `cargo xtask`: the project's own commands.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use xtask::checkout::Checkout;
use xtask::ptx::Shown;
use xtask::runner::Part;
use xtask::suites::{self, Options};
use xtask::timeline::{self, Window};
use xtask::{bundle, cost, demo, doctor, gpu, new, ptx, setup, speed};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Sets up what is missing, builds both examples and runs them on 1, 2, 4 (and on GPUs 8) PEs and as processes.
    Demo {
        /// Install nothing: without a device toolchain, run on the emulator.
        #[arg(long)]
        no_install: bool,
    },
    /// Runs the project's tests, suite by suite.
    Test {
        /// Build a bundle and run its tests on GPUs instead.
        #[arg(long)]
        gpu: bool,
        /// More seeds and sizes.
        #[arg(long)]
        full: bool,
        /// Run this suite only; may be given several times.
        #[arg(long, value_name = "SUITE", value_parser = suites::names())]
        only: Vec<String>,
        /// Install nothing.
        #[arg(long)]
        no_install: bool,
    },
    /// Builds a bundle and runs its benchmarks.
    Bench {
        /// Measure how fast the emulator and the checker run kernels instead.
        #[arg(long, conflicts_with_all = ["part", "suite"])]
        emulator: bool,
        /// Only every n-th step, from the k-th on.
        #[arg(long, value_name = "K/N", default_value = "1/1")]
        part: Part,
        /// Add the rows to this file instead of printing them.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Hold this suite of rows against the peers' programs instead.
        #[arg(long, value_parser = ["p2p"], requires = "peers")]
        suite: Option<String>,
        /// The folder of these programs, made by perf/peers/build.sh.
        #[arg(long, value_name = "DIR", requires = "suite")]
        peers: Option<PathBuf>,
    },
    /// Makes a package with one kernel and the program that runs it.
    New {
        /// The package's name.
        name: String,
        /// Its folder, instead of one of that name here.
        #[arg(long, value_name = "DIR")]
        path: Option<PathBuf>,
    },
    /// Compiles, checks and assembles kernels and prints what each costs.
    Ptx {
        /// The packages; all with kernels if none is named.
        packages: Vec<String>,
        /// Count machine instructions too.
        #[arg(long)]
        sass: bool,
        /// In the traced flavour instead.
        #[arg(long)]
        trace: bool,
    },
    /// Compares the instructions and registers of each operation with CUDA C++ written by hand.
    Cost {
        /// The CUDA compiler, instead of `NVCC`, one on the PATH or in the toolkit's usual place.
        #[arg(long, value_name = "PATH")]
        nvcc: Option<PathBuf>,
        /// Write the table to this file instead of printing it.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Draws a timeline that a run with `OXSHMEM_TRACE` has left, as SVG.
    Timeline {
        /// The timeline.
        file: PathBuf,
        /// The picture.
        out: PathBuf,
        /// From how many microseconds after its first event.
        #[arg(long, value_name = "MICROSECONDS", default_value_t = 0.0)]
        from: f64,
        /// To how many, instead of its end.
        #[arg(long, value_name = "MICROSECONDS")]
        to: Option<f64>,
        /// At most so many rows of blocks for each PE.
        #[arg(long, default_value_t = 8)]
        rows: usize,
        /// Which run, if the program has several.
        #[arg(long, default_value_t = 1)]
        run: u64,
    },
    /// Tells what this machine can do, what is missing and how to get it.
    Doctor {
        /// Fail if something needed is missing.
        #[arg(long)]
        strict: bool,
    },
    /// Makes a folder that runs where there is a driver and no Rust.
    Bundle {
        /// The folder, instead of `bundle` in the workspace.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Prints what the NVIDIA driver says.
    #[command(name = gpu::PROBE, hide = true)]
    ProbeGpus,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Task) -> Result<()> {
    match command {
        Task::Demo { no_install } => demo::demo(!no_install),
        Task::Test { gpu, full, only, no_install } => {
            suites::test(&Options { gpu, full, only, install: !no_install })
        }
        Task::Bench { emulator: true, out, .. } => speed::emulator(&Checkout::find()?, out.as_deref()),
        Task::Bench { part, out, suite, peers, .. } => {
            let suite = suite.as_deref().zip(peers.as_deref());
            bundle::bench(&Checkout::find()?, part, out.as_deref(), suite)
        }
        Task::New { name, path } => {
            let folder = new::new(&Checkout::find()?, &name, path.as_deref())?;
            println!("made {}; run it: cd {} && OXSHMEM_PES=4 cargo run", name, folder.display());
            Ok(())
        }
        Task::Ptx { packages, sass, trace } => {
            let checkout = Checkout::find()?;
            if setup::device_toolchain(&checkout, false)?.is_none() {
                bail!("there is no device toolchain");
            }
            ptx::ptx(&checkout, &packages, Shown { sass, trace }).map(|_| ())
        }
        Task::Cost { nvcc, out } => {
            let checkout = Checkout::find()?;
            if setup::device_toolchain(&checkout, false)?.is_none() {
                bail!("there is no device toolchain");
            }
            cost::cost(&checkout, nvcc.as_deref(), out.as_deref())
        }
        Task::Timeline { file, out, from, to, rows, run } => {
            timeline::timeline(&file, &out, Window { from, to, rows, run })
        }
        Task::Doctor { strict } => {
            if !doctor::doctor()? && strict {
                bail!("something is missing");
            }
            Ok(())
        }
        Task::Bundle { out } => bundle::bundle(&Checkout::find()?, out.as_deref()).map(|_| ()),
        Task::ProbeGpus => gpu::probe_here(),
    }
}
