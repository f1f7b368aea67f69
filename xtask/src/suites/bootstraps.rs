//! The suite of ways by which processes come together: the launchers of two MPIs with their servers, MPI itself, srun's
//! variables, a unique id through a file, the project's launcher, and threads; and what cannot work, which is an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};

use super::programs::{LIMIT, Scratch};
use super::{Bench, Outcome};
use crate::checkout::{self, Checkout};
use crate::process::{self, Finished};
use crate::setup;
use crate::start;
use crate::steps::LAUNCHER;

/// How many PEs each way starts.
const PES: &[u32] = &[1, 2, 4, 8];

/// A launcher's command but for the program: its words, with `N` for the number of processes.
struct Launcher {
    name: &'static str,
    words: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

/// As root, and with more processes than processors.
const OPEN_MPI: &[&str] = &["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "N"];
const MPICH: &[&str] = &["mpiexec.hydra", "-n", "N"];

/// Launchers of MPI, for programs without MPI.
const LAUNCHERS: &[Launcher] = &[
    Launcher { name: "Open MPI's mpirun, PMIx", words: OPEN_MPI, variables: &[] },
    Launcher { name: "MPICH's mpiexec, PMI-1", words: MPICH, variables: &[] },
    Launcher { name: "MPICH's mpiexec, PMI-2", words: MPICH, variables: &[("OXSHMEM_BOOTSTRAP", "pmi2")] },
    Launcher {
        name: "MPICH's mpiexec, PMI-1 over a port",
        words: &["mpiexec.hydra", "-pmi-port", "-n", "N"],
        variables: &[],
    },
];

/// Arguments of the examples: a size that fits nothing, and a grid that has rows for 8 PEs.
const EXAMPLES: &[(&str, &[&str])] = &[("ring-shift", &["1003", "64"]), ("jacobi", &["34", "18", "4", "2"])];

/// What came of the runs so far.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
}

impl Tally {
    /// Notes a run under its name and prints its line.
    fn note(&mut self, name: &str, wrong: Option<String>) {
        match wrong {
            None => {
                println!("bootstraps  {name}  verified yes");
                self.passed += 1;
            }
            Some(why) => {
                println!("bootstraps  {name}  verified no");
                eprintln!("{name}: {why}");
                self.failed.push(name.to_owned());
            }
        }
    }

    /// A run that must print one line with `verified yes`, and no other verdict.
    fn verified(&mut self, name: &str, mut commands: Vec<Command>) -> Result<()> {
        let finished = together(&mut commands)?;
        let lines = |what: &str| {
            finished.iter().flat_map(|one| one.stdout.lines()).filter(|line| line.contains(what)).count()
        };
        let ok = finished.iter().all(Finished::ok) && lines("verified yes") == 1 && lines("verified") == 1;
        self.note(name, (!ok).then(|| shown(&finished)));
        Ok(())
    }

    /// A run that must end by itself, without a panic, and say all of these on its error stream.
    fn refused(&mut self, name: &str, command: Command, says: &[&str]) -> Result<()> {
        let finished = together(&mut [command])?;
        let said: String = finished.iter().map(|one| one.stderr.as_str()).collect();
        let failed = finished.iter().all(|one| !one.timed_out && !one.status.success());
        let ok = failed && !said.contains("panicked at") && says.iter().all(|part| said.contains(part));
        self.note(name, (!ok).then(|| format!("expected {says:?}\n{}", shown(&finished))));
        Ok(())
    }
}

fn shown(finished: &[Finished]) -> String {
    finished.iter().map(|one| format!("{}\n{}{}", one.verdict(), one.stdout, one.stderr)).collect()
}

/// Runs commands at the same time to their ends.
fn together(commands: &mut [Command]) -> Result<Vec<Finished>> {
    std::thread::scope(|scope| {
        let run = |command| scope.spawn(move || process::run(command, Some(LIMIT), &mut |_, _| {}));
        let running: Vec<_> = commands.iter_mut().map(run).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Finished>>| {
            thread.join().unwrap_or_else(|_| bail!("a thread of this program panicked"))
        };
        running.into_iter().map(join).collect()
    })
}

/// The suite.
pub(super) fn bootstraps(bench: &Bench) -> Result<Outcome> {
    if let Some(why) = setup::mpi(bench.install)? {
        return Ok(Outcome::Skipped(why));
    }
    let programs = bench.checkout.build_programs()?;
    let rings = [mpi_ring(&bench.checkout, "openmpi")?, mpi_ring(&bench.checkout, "mpich")?];
    let mut tally = Tally::default();
    for &pes in PES {
        without_launcher(&mut tally, &programs, pes)?;
        for launcher in LAUNCHERS {
            for (program, arguments) in EXAMPLES {
                let name = format!("{}  {program}  {pes} PEs", launcher.name);
                tally.verified(&name, vec![launcher.command(pes, &programs.join(program), arguments)])?;
            }
        }
        for (words, ring, name) in [(OPEN_MPI, &rings[0], "Open MPI"), (MPICH, &rings[1], "MPICH")] {
            let launcher = Launcher { name: "oxshmem-mpi", words, variables: &[] };
            let command = launcher.command(pes, ring, &["1003"]);
            tally.verified(&format!("oxshmem-mpi, {name}  mpi-ring  {pes} PEs"), vec![command])?;
        }
    }
    refusals(&mut tally, &programs, &rings)?;
    println!("{} passed, {} failed", tally.passed, tally.failed.len());
    if !tally.failed.is_empty() {
        bail!("{} of the runs failed: {}", tally.failed.len(), tally.failed.join("; "));
    }
    Ok(Outcome::Passed(format!("{} runs", tally.passed)))
}

/// Threads, the project's launcher, srun's variables, and a unique id through a file.
fn without_launcher(tally: &mut Tally, programs: &Path, pes: u32) -> Result<()> {
    let scratch = Scratch::new("bootstraps")?;
    for (program, arguments) in EXAMPLES {
        let path = programs.join(program);
        let mut threads = emulated(&path);
        threads.args(*arguments).env("OXSHMEM_PES", pes.to_string());
        tally.verified(&format!("threads  {program}  {pes} PEs"), vec![threads])?;
        let mut launched = emulated(&programs.join(LAUNCHER));
        launched.args(["-n", &pes.to_string()]).arg(&path).args(*arguments);
        tally.verified(&format!("oxshmem-run  {program}  {pes} PEs"), vec![launched])?;
        let tasks = |rank| {
            let mut task = srun(&path, rank, pes);
            task.args(*arguments);
            task
        };
        tally.verified(&format!("srun's variables  {program}  {pes} PEs"), (0..pes).map(tasks).collect())?;
    }
    let file = scratch.0.join("id");
    let one = |rank: u32| {
        let mut one = emulated(&programs.join("unique-id"));
        one.args([rank, pes].map(|number| number.to_string())).arg(&file);
        one
    };
    tally.verified(&format!("a unique id in a file  unique-id  {pes} PEs"), (0..pes).map(one).collect())
}

/// What cannot work says so, soon, and never is each process PE 0.
fn refusals(tally: &mut Tally, programs: &Path, rings: &[PathBuf; 2]) -> Result<()> {
    let ring = programs.join("ring-shift");
    for &(name, words, variables, says) in CASES {
        let mut command = Launcher { name, words, variables: &[] }.command(3, &ring, &["10"]);
        command.envs(variables.iter().copied());
        tally.refused(name, command, says)?;
    }
    for (launcher, words) in [("mpirun", OPEN_MPI), ("mpiexec", MPICH)] {
        for point in STARTING {
            // PE 0 makes the board, and fetches none.
            for pe in if *point == "board" { 1..3 } else { 0..3 } {
                let mut command =
                    Launcher { name: launcher, words, variables: &[] }.command(3, &ring, &["10"]);
                command.env("OXSHMEM_FAULT", format!("{point}:{pe}")).env("OXSHMEM_JOIN_DEADLINE", "3s");
                tally.refused(
                    &format!("{launcher}, PE {pe} killed at its start, point {point}"),
                    command,
                    &[],
                )?;
            }
        }
    }
    let mut none = Launcher { name: "", words: OPEN_MPI, variables: &[] }.command(2, &ring, &["10"]);
    none.env("OXSHMEM_BOOTSTRAP", "none");
    // Each is alone because it was told to be.
    let finished = together(&mut [none])?;
    let alone = finished.iter().map(|one| one.stdout.matches("1 PEs").count()).sum::<usize>();
    tally.note("mpirun and OXSHMEM_BOOTSTRAP=none", (alone != 2).then(|| shown(&finished)));
    for (words, program, name) in [(OPEN_MPI, &rings[0], "Open MPI"), (MPICH, &rings[1], "MPICH")] {
        let mut command = Launcher { name, words, variables: &[] }.command(2, program, &["10"]);
        command.env("OXSHMEM_INTERFACE", "none0");
        let says = ["the interface \"none0\"", "there are", "PE 0 failed"];
        tally.refused(&format!("oxshmem-mpi, {name}, without an interface"), command, &says)?;
    }
    Ok(())
}

/// A name, a launcher's words, variables, and what must be said.
type Case =
    (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)], &'static [&'static str]);

/// The points of the runtime's start at which a process is killed, in their order. Its launcher may tell before the others can,
/// in words of its own.
const STARTING: &[&str] =
    &["told", "fenced", "start", "connected", "board", "joined", "taken", "exchange", "mapped"];

/// Three processes each.
const CASES: &[Case] = &[
    (
        "mpirun without the PMIx library",
        OPEN_MPI,
        &[("OXSHMEM_PMIX", "/nonexistent/libpmix.so")],
        &["the PMIx library cannot be loaded", "libpmix2", "/nonexistent/libpmix.so"],
    ),
    (
        "mpirun and OXSHMEM_PES",
        OPEN_MPI,
        &[("OXSHMEM_PES", "2")],
        &["OXSHMEM_PES=2 and OMPI_COMM_WORLD_SIZE=3"],
    ),
    (
        "mpirun and torchrun's variables of another job",
        OPEN_MPI,
        &[
            ("RANK", "0"),
            ("LOCAL_RANK", "0"),
            ("WORLD_SIZE", "2"),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", "1"),
        ],
        &["WORLD_SIZE=2 and OMPI_COMM_WORLD_SIZE=3 contradict each other", "OXSHMEM_BOOTSTRAP"],
    ),
    ("mpirun, PE 2 on another host", OPEN_MPI, &[("OXSHMEM_FAULT", "elsewhere:2")], HOSTS),
    ("mpiexec, PE 2 on another host", MPICH, &[("OXSHMEM_FAULT", "elsewhere:2")], HOSTS),
    (
        "mpiexec and PMIx forced",
        MPICH,
        &[("OXSHMEM_BOOTSTRAP", "pmix")],
        &["OXSHMEM_BOOTSTRAP=pmix", "PMIX_NAMESPACE"],
    ),
    (
        "mpirun and PMI forced",
        OPEN_MPI,
        &[("OXSHMEM_BOOTSTRAP", "pmi")],
        &["OXSHMEM_BOOTSTRAP=pmi", "PMI_FD"],
    ),
];

const HOSTS: &[&str] =
    &["the job has processes on other hosts (PE 2 runs on elsewhere (boot e15e", "PE 0 on "];

impl Launcher {
    /// The command that starts so many processes of a program.
    fn command(&self, pes: u32, program: &Path, arguments: &[&str]) -> Command {
        let words =
            self.words.iter().map(|word| if *word == "N" { pes.to_string() } else { (*word).to_owned() });
        let words: Vec<String> = words.collect();
        let mut command = emulated(Path::new(&words[0]));
        command.args(&words[1..]).arg(program).args(arguments).envs(self.variables.iter().copied());
        command
    }
}

fn emulated(program: &Path) -> Command {
    let mut command = start::command(program);
    command.env("OXSHMEM_DEVICE", "emulated").env("OXSHMEM_HEAP", "64M");
    command
}

/// A task as srun starts it where it offers no PMI.
fn srun(program: &Path, rank: u32, tasks: u32) -> Command {
    static STEP: AtomicU32 = AtomicU32::new(0);
    let step =
        if rank == 0 { STEP.fetch_add(1, Ordering::Relaxed) } else { STEP.load(Ordering::Relaxed) - 1 };
    let (rank, tasks) = (rank.to_string(), tasks.to_string());
    let mut command = emulated(program);
    command.env("SLURM_JOB_ID", std::process::id().to_string()).env("SLURM_STEP_ID", step.to_string());
    command.env("SLURM_PROCID", &rank).env("SLURM_LOCALID", &rank).env("SLURM_NODEID", "0");
    command.env("SLURM_STEP_NUM_TASKS", &tasks).env("SLURM_NTASKS", &tasks);
    command.env("SLURM_STEP_NUM_NODES", "1").env("SLURM_STEP_TASKS_PER_NODE", &tasks);
    command
}

/// The program of `oxshmem-mpi`, built with one MPI. Cargo does not see that it was another before.
fn mpi_ring(checkout: &Checkout, which: &str) -> Result<PathBuf> {
    let (folder, target) = (checkout.root.join("bootstrap-mpi"), checkout.target.join("bootstrap-mpi"));
    let cargo = |arguments: &[&str]| {
        let mut cargo = checkout::cargo_in(&folder);
        cargo.args(arguments).env("CARGO_TARGET_DIR", &target).env("MPICC", format!("mpicc.{which}"));
        cargo
    };
    if target.exists() {
        process::output(&mut cargo(&["clean", "--package", "mpi-sys"]))?;
    }
    checkout::build(
        &mut cargo(&["build", "--locked", "--examples"]),
        &format!("building oxshmem-mpi with {which}"),
    )?;
    process::output(&mut cargo(&["test", "--locked", "--lib"]))?;
    let own = target.join(format!("mpi-ring.{which}"));
    fs::copy(target.join("debug/examples/mpi-ring"), &own).context("cargo built no mpi-ring")?;
    Ok(own)
}
