//! Starts a step's program as the step says: once with PEs as threads, once for each PE, or by the launcher.

use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;

use anyhow::{Context, Result};

use crate::machine::Device;
use crate::process::{self, Finished, Stream};
use crate::steps::{LAUNCHER, Start, Step};

/// Variables that would contradict those of a step.
const OTHERS: &[&str] = &[
    "OXSHMEM_PES",
    "OXSHMEM_RANK",
    "OXSHMEM_WORLD_SIZE",
    "OXSHMEM_LOCAL_RANK",
    "OXSHMEM_LOCAL_WORLD_SIZE",
    "OXSHMEM_JOB",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "OXSHMEM_BOOTSTRAP",
    "OXSHMEM_FAULT",
    "OXSHMEM_INTERFACE",
    "OXSHMEM_PMIX",
    "OXSHMEM_RENDEZVOUS",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "PMI_FD",
    "PMI_PORT",
    "PMI_RANK",
    "PMI_SIZE",
    "SLURM_PROCID",
    "SLURM_STEP_ID",
];

/// A command that no launcher's variable reaches.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for name in OTHERS {
        command.env_remove(name);
    }
    command
}

/// The variables that torchrun sets for process `rank` of `size`. Where no port is opened, the port only names the job.
pub fn torchrun(command: &mut Command, rank: u32, size: u32, job: &str) {
    let (rank, size) = (rank.to_string(), size.to_string());
    command.env("RANK", &rank).env("LOCAL_RANK", &rank);
    command.env("WORLD_SIZE", &size).env("LOCAL_WORLD_SIZE", &size);
    command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", "29500").env("TORCHELASTIC_RUN_ID", job);
}

/// Runs the step's program to its end, or to the step's time limit.
///
/// # Errors
/// If it cannot be started.
pub fn run(
    step: &Step,
    programs: &Path,
    device: Device,
    line: &mut dyn FnMut(Stream, &str),
) -> Result<Finished> {
    let program = programs.join(step.program);
    let mut command = match step.start {
        Start::Torchrun => return run_each(step, &program, device, line),
        Start::Threads => {
            let mut command = command(&program);
            command.env("OXSHMEM_PES", step.pes.to_string());
            command
        }
        Start::Itself => command(&program),
        Start::Launcher(options) => {
            let mut command = command(&programs.join(LAUNCHER));
            command.arg("-n").arg(step.pes.to_string()).args(options).arg(&program);
            command
        }
    };
    command.args(&step.arguments).env("OXSHMEM_DEVICE", device.variable());
    process::run(&mut command, Some(step.limit), line)
}

/// Runs one process for each PE. What became of them together is what became of the first that failed.
fn run_each(
    step: &Step,
    program: &Path,
    device: Device,
    line: &mut dyn FnMut(Stream, &str),
) -> Result<Finished> {
    let job = format!("xtask-{}-{}", std::process::id(), step.shown());
    let (lines, come) = channel();
    let finished: Vec<Result<Finished>> = thread::scope(|scope| {
        let mut running = Vec::new();
        for rank in 0..step.pes {
            let (lines, job) = (lines.clone(), &job);
            // The thread that starts a process lives as long as that, which ends with it.
            running.push(scope.spawn(move || {
                let mut command = command(program);
                torchrun(&mut command, rank, step.pes, job);
                command.args(&step.arguments).env("OXSHMEM_DEVICE", device.variable());
                process::run(&mut command, Some(step.limit), &mut |stream, text| {
                    let _ = lines.send((stream, text.to_owned()));
                })
            }));
        }
        drop(lines);
        for (stream, text) in come {
            line(stream, &text);
        }
        let join = |run: thread::ScopedJoinHandle<'_, Result<Finished>>| {
            run.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread of this program panicked")))
        };
        running.into_iter().map(join).collect()
    });
    let finished: Vec<Finished> = finished.into_iter().collect::<Result<_>>()?;
    let text = |of: fn(&Finished) -> &str| finished.iter().map(of).collect::<String>();
    let (stdout, stderr) = (text(|one| &one.stdout), text(|one| &one.stderr));
    let time = finished.iter().map(|one| one.time).max().unwrap_or_default();
    let worst = finished.into_iter().reduce(|first, next| if first.ok() { next } else { first });
    let worst = worst.context("a step has no PE")?;
    Ok(Finished { stdout, stderr, time, ..worst })
}
