//! `./run` of a bundle: a demo, the tests, the benchmarks, on a machine with a driver and no Rust.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use xtask::machine::Machine;
use xtask::runner::{self, Part};
use xtask::{bench, bundle, gpu, steps};

/// Runs what is in this bundle. OXSHMEM_DEVICE says on what: cuda, emulated or auto (the default: GPUs if there are any).
#[derive(Parser)]
#[command(name = "run")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Runs both examples on 1, 2, 4 (and on GPUs 8) PEs, and on 2 and 4 PEs as processes.
    Demo,
    /// Runs the conformance and litmus tests, the examples with odd sizes and as processes, and the fault table.
    Test {
        /// Only every n-th step, from the k-th on.
        #[arg(long, value_name = "K/N", default_value = "1/1")]
        part: Part,
    },
    /// Measures, and writes one JSON object per row.
    Bench {
        /// Only every n-th step, from the k-th on.
        #[arg(long, value_name = "K/N", default_value = "1/1")]
        part: Part,
        /// Adds the rows to this file instead of printing them.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Hold this suite of rows against the peers' programs instead.
        #[arg(long, value_parser = ["p2p"])]
        suite: Option<String>,
        /// The folder of these programs. Default: peers, beside this program.
        #[arg(long, value_name = "DIR", requires = "suite")]
        peers: Option<PathBuf>,
    },
    /// Prints what the NVIDIA driver says.
    #[command(name = gpu::PROBE, hide = true)]
    ProbeGpus,
}

fn main() -> ExitCode {
    match run(Arguments::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(what: What) -> Result<()> {
    if matches!(what, What::ProbeGpus) {
        return gpu::probe_here();
    }
    let own = std::env::current_exe().context("this program's own file is not known")?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let programs = folder.join("bin");
    let machine = Machine::find()?;
    let run = |steps: &[steps::Step], part| {
        println!("running on: {}", machine.shown());
        runner::run(steps, &programs, &machine, part, &mut |_, _| Ok(()))
    };
    let summary = match what {
        What::Demo => run(&steps::demo(&machine), Part::WHOLE)?,
        What::Test { part } => run(&steps::test(&machine), part)?,
        What::Bench { part, out, suite, peers } => {
            if let Some(suite) = suite {
                let peers = peers.unwrap_or_else(|| folder.join("peers"));
                return bench::compare(&programs, &machine, part, out.as_deref(), (&suite, &peers));
            }
            let commit = bundle::manifest_value(folder, "commit").unwrap_or_else(|| "unknown".to_owned());
            bench::bench(&programs, &machine, &commit, part, out.as_deref())?
        }
        What::ProbeGpus => return Ok(()),
    };
    summary.print()
}
