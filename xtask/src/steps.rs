//! The tables: which program runs with which arguments on how many PEs, for a demo, a test of a bundle and a benchmark.

use std::time::Duration;

use crate::machine::{Device, Machine};

/// Programs of a bundle that launch kernels, in the order in which they are listed.
pub const PROGRAMS: &[&str] = &[
    "ring-shift",
    "jacobi",
    "conformance",
    "collectives",
    "litmus",
    "bounded-wait",
    "streams",
    "teams",
    "memory",
    "team-memory",
    "faults",
    "launch-overhead",
    PERF,
];

/// The benchmark suite.
pub const PERF: &str = "oxshmem-perf";

/// Programs of a bundle without kernels.
pub const PLAIN_PROGRAMS: &[&str] = &[LAUNCHER, "startup", INTERFACE];

/// Jobs over virtual interfaces.
pub const INTERFACE: &str = "interface";

/// A library that a script of Python's loads, where cargo puts it, and the script.
pub const LIBRARY: &str = "examples/libdlpack.so";
/// See [`LIBRARY`].
pub const SCRIPT: &str = "tests/programs/dlpack.py";

/// The launcher.
pub const LAUNCHER: &str = "oxshmem-run";

/// The packages that all of them come from, and the runner.
pub const PACKAGES: &[&str] = &[
    "ring-shift",
    "jacobi",
    "oxshmem-tests",
    "oxshmem-collective-tests",
    "oxshmem-programs",
    "oxshmem-litmus",
    "oxshmem-perf",
    LAUNCHER,
    "xtask",
];

/// What is read off a step's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Nothing: the exit code decides.
    Nothing,
    /// Each line must say `verified yes`.
    Verified,
    /// As `Verified`; the last column is seconds in which each PE sent this many bytes.
    Sent {
        /// Bytes.
        bytes: u64,
    },
    /// As `Verified`; the last column is the seconds of this many iterations.
    Iterations(u32),
    /// Each line is a row: program, device, row, value and unit, two spaces between.
    Rows,
    /// As `Rows`, and the time that the whole step took is a row too.
    Startup,
    /// Each line is a JSON object with a `case`, its `value` and `unit`.
    Objects,
}

/// How a step's PEs are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As threads of one process.
    Threads,
    /// As processes, by the launcher with these options.
    Launcher(&'static [&'static str]),
    /// As processes, with the variables that torchrun sets.
    Torchrun,
    /// The program starts what it needs.
    Itself,
}

/// One run of one program.
#[derive(Clone, Debug)]
pub struct Step {
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How many PEs.
    pub pes: u32,
    /// How they are started.
    pub start: Start,
    /// How many GPUs it needs where it runs on GPUs.
    pub gpus: usize,
    /// When it is ended.
    pub limit: Duration,
    /// What its output means.
    pub reads: Reads,
}

impl Step {
    fn new(program: &'static str, arguments: &[u64], pes: u32, reads: Reads) -> Self {
        let arguments = arguments.iter().map(u64::to_string).collect();
        let (start, gpus, limit) = (Start::Threads, 1, Duration::from_secs(300));
        Self { program, arguments, pes, start, gpus, limit, reads }
    }

    fn by(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// As one would type it, without the device.
    pub fn shown(&self) -> String {
        let pes = self.pes.to_string();
        let mut words = match self.start {
            Start::Threads => vec![format!("OXSHMEM_PES={pes}")],
            Start::Launcher(options) => {
                [&[LAUNCHER, "-n", &pes], options].concat().iter().map(|word| (*word).to_owned()).collect()
            }
            Start::Torchrun => {
                vec!["torchrun".to_owned(), format!("--nproc-per-node={pes}"), "--no-python".to_owned()]
            }
            Start::Itself => Vec::new(),
        };
        words.push(self.program.to_owned());
        words.extend(self.arguments.iter().cloned());
        words.join(" ")
    }
}

/// Both examples with their demo sizes, and as processes.
pub fn demo(machine: &Machine) -> Vec<Step> {
    let (pes, ring, jacobi): (&[u32], u64, [u64; 4]) = match machine.device {
        Device::Cuda => (&[1, 2, 4, 8], 1 << 24, [4096, 4096, 1000, 100]),
        Device::Emulated => (&[1, 2, 4], 1 << 16, [128, 128, 20, 10]),
    };
    let ring = pes.iter().map(|&pes| Step::new("ring-shift", &[ring], pes, Reads::Verified));
    let jacobi = pes.iter().map(|&pes| Step::new("jacobi", &jacobi, pes, Reads::Verified));
    ring.chain(jacobi).chain(processes(machine)).collect()
}

/// Both examples as processes, of moderate size: without MPS, processes that share a GPU take turns on it.
fn processes(machine: &Machine) -> Vec<Step> {
    let mut steps = Vec::new();
    for pes in [2, 4] {
        let enough = machine.device == Device::Emulated || machine.gpus.gpus.len() >= pes as usize;
        let examples = examples_of(machine.device, pes);
        // Two take turns well enough.
        let gpus = if pes == 2 { 1 } else { pes as usize };
        steps.extend(examples.clone().map(|step| Step { gpus, ..step.by(Start::Launcher(&[])) }));
        if !enough && machine.mps {
            steps.extend(examples.map(|step| step.by(Start::Launcher(&["--mps"]))));
        }
    }
    steps
}

/// Both examples, of moderate size.
fn examples_of(device: Device, pes: u32) -> std::array::IntoIter<Step, 2> {
    let (ring, jacobi) = match device {
        Device::Cuda => (1 << 22, [1024, 1024, 100, 10]),
        Device::Emulated => (1 << 12, [64, 64, 10, 5]),
    };
    let ring = Step::new("ring-shift", &[ring], pes, Reads::Verified);
    [ring, Step::new("jacobi", &jacobi, pes, Reads::Verified)].into_iter()
}

/// Every way to start PEs, emulated.
pub fn ways() -> Vec<Step> {
    let examples = |pes| examples_of(Device::Emulated, pes);
    let ring = |pes| Step::new("ring-shift", &[1003], pes, Reads::Verified);
    let mut steps = Vec::new();
    for pes in [2, 4, 8] {
        for start in [Start::Launcher(&[]), Start::Torchrun] {
            steps.extend(examples(pes).map(|step| step.by(start)));
        }
    }
    steps.push(ring(16).by(Start::Launcher(&["--prefix"])));
    steps.extend(examples(4).map(|step| step.by(Start::Launcher(&["--rendezvous", "tcp"]))));
    let teams = |pes| Step::new("teams", &[], pes, Reads::Verified);
    steps.extend([teams(4), teams(3).by(Start::Launcher(&[])), teams(6).by(Start::Torchrun)]);
    steps.extend(team_memory());
    let streams = |pes| Step::new("streams", &[20, 2], pes, Reads::Verified);
    steps.extend([
        streams(1),
        streams(4),
        streams(2).by(Start::Launcher(&[])),
        streams(3).by(Start::Torchrun),
    ]);
    let memory = |pes| Step::new("memory", &[20_011], pes, Reads::Verified);
    steps.extend([memory(1), memory(4), memory(3).by(Start::Launcher(&[]))]);
    steps.push(ring(1).by(Start::Torchrun));
    // Of so many PEs each emulated GPU has room for one warp.
    steps.push(Step::new("ring-shift", &[1003, 32], 256, Reads::Verified));
    steps
}

/// What the teams of 8 PEs take of memory, as threads and as processes.
fn team_memory() -> [Step; 2] {
    let threads = Step::new("team-memory", &[], 8, Reads::Verified);
    [threads.clone(), threads.by(Start::Launcher(&[]))]
}

/// What every PE learns when another one dies.
pub fn faults() -> Step {
    let limit = Duration::from_secs(600);
    Step { limit, ..Step::new("faults", &[], 3, Reads::Verified).by(Start::Itself) }
}

/// Sizes of the examples that fit no power of two; the first of each is the smallest that there is.
fn odd_sizes(device: Device, pes: u32) -> (Vec<u64>, Vec<[u64; 4]>) {
    let smallest = u64::from(pes) + 2;
    match device {
        Device::Cuda => {
            (vec![1, 1_000_003, 1 << 22], vec![[3, smallest, 5, 1], [129, 67, 51, 7], [1023, 1025, 100, 10]])
        }
        Device::Emulated => (vec![1, 1003], vec![[3, smallest, 3, 1], [67, 19, 7, 2]]),
    }
}

/// The examples with odd sizes.
pub fn examples(device: Device, pes: &[u32]) -> Vec<Step> {
    let mut steps = Vec::new();
    for &pes in pes {
        let (rings, grids) = odd_sizes(device, pes);
        steps.extend(rings.iter().map(|&n| Step::new("ring-shift", &[n], pes, Reads::Verified)));
        steps.extend(grids.iter().map(|grid| Step::new("jacobi", grid, pes, Reads::Verified)));
    }
    steps
}

/// The suite of collective operations. Emulated it is a suite of its own.
fn collectives(device: Device) -> Vec<Step> {
    let step = |pes: u32, gpus| Step {
        gpus,
        limit: Duration::from_secs(900),
        ..Step::new("collectives", &[u64::from(pes)], pes, Reads::Nothing)
    };
    match device {
        // Each PE has up to nine streams, and a GPU 32 hardware queues.
        Device::Cuda => vec![step(1, 1), step(2, 1), step(3, 1), step(4, 2), step(5, 2), step(8, 4)],
        Device::Emulated => Vec::new(),
    }
}

/// The test of a bundle.
pub fn test(machine: &Machine) -> Vec<Step> {
    let conformance = [1, 2, 3, 4, 8].map(|pes| Step {
        limit: Duration::from_secs(900),
        ..Step::new("conformance", &[u64::from(pes)], pes, Reads::Nothing)
    });
    let rounds = match machine.device {
        Device::Cuda => 20_000,
        Device::Emulated => 10,
    };
    let litmus = [2, 3, 4, 8].map(|pes| Step {
        limit: Duration::from_secs(900),
        ..Step::new("litmus", &[rounds, u64::from(pes)], pes, Reads::Nothing)
    });
    let waits = [1, 2, 8].map(|pes| Step::new("bounded-wait", &[2], pes, Reads::Nothing));
    let mut steps: Vec<Step> = conformance.into_iter().chain(litmus).chain(waits).collect();
    steps.extend(collectives(machine.device));
    steps.extend(examples(machine.device, &[1, 2, 4, 8]));
    let replays = match machine.device {
        Device::Cuda => 1000,
        Device::Emulated => 100,
    };
    let streams = |pes| Step::new("streams", &[replays, 5], pes, Reads::Verified);
    steps.extend([1, 2, 4].map(streams));
    let memory = |pes| Step::new("memory", &[1_000_003], pes, Reads::Verified);
    steps.extend([memory(1), memory(2), memory(2).by(Start::Launcher(&[]))]);
    // More streams on one GPU than it has hardware queues hold each other back.
    steps.push(Step { gpus: 4, ..streams(8) });
    // Two that share a GPU take turns well enough.
    steps.push(Step::new("streams", &[100, 5], 2, Reads::Verified).by(Start::Launcher(&[])));
    steps.push(Step { gpus: 4, ..streams(4).by(Start::Launcher(&[])) });
    steps.push(Step::new("teams", &[], 4, Reads::Verified));
    steps.extend(team_memory());
    steps.push(Step { gpus: 4, ..Step::new("teams", &[], 4, Reads::Verified).by(Start::Launcher(&[])) });
    steps.extend(processes(machine));
    steps.push(faults());
    steps
}

/// The benchmarks.
pub fn bench(device: Device) -> Vec<Step> {
    let (elements, grid, iterations) = match device {
        Device::Cuda => (268_435_456, 8192, 1000),
        Device::Emulated => (4096, 64, 10),
    };
    let mut steps = vec![Step::new("launch-overhead", &[], 1, Reads::Rows)];
    for pes in [2, 8] {
        let startup = Step::new("startup", &[], pes, Reads::Startup);
        steps.extend([startup.clone(), startup.by(Start::Launcher(&[]))]);
    }
    for pes in [1, 2, 4] {
        let jacobi = [grid, grid, iterations, iterations / 10];
        let reads = Reads::Iterations(iterations as u32);
        steps.push(Step::new("jacobi", &jacobi, pes, reads));
    }
    for pes in [1, 2, 4] {
        let reads = Reads::Sent { bytes: elements * 4 };
        steps.push(Step::new("ring-shift", &[elements], pes, reads));
    }
    steps.extend(perf(device));
    steps
}

/// Each test of the benchmark suite, at two or three sizes.
fn perf(device: Device) -> impl Iterator<Item = Step> {
    const TRANSFERS: &str = "-b 64K -e 16M -f 16 -c 16";
    const LATENCIES: &str = "-b 8 -e 64K -f 128";
    let tests = [
        ("put-bw", TRANSFERS),
        ("get-bw", TRANSFERS),
        ("p-bw", "-b 4M -e 4M"),
        ("st-bw", "-b 4M -e 4M"),
        ("g-bw", "-b 8M -e 8M"),
        ("gather-bw", "-b 8M -e 8M"),
        ("put-lat", LATENCIES),
        ("get-lat", LATENCIES),
        ("p-lat", ""),
        ("g-lat", ""),
        ("signal-pingpong", ""),
        ("put-signal-pingpong", LATENCIES),
        ("mailbox-pingpong", "-b 8 -e 512 -f 8"),
        ("atomic-bw", ""),
        ("atomic-lat", ""),
        ("barrier", ""),
        ("sync", ""),
        ("gups", ""),
    ];
    tests.into_iter().map(move |(test, sizes)| {
        // The emulator has small sizes of its own.
        let sizes = if device == Device::Cuda { sizes } else { "" };
        let words = [test].into_iter().chain(sizes.split_whitespace()).chain(["--json", "-"]);
        Step { arguments: words.map(str::to_owned).collect(), ..Step::new(PERF, &[], 2, Reads::Objects) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Gpu, Gpus};

    fn gpus(count: usize, mps: bool) -> Machine {
        let gpu = Gpu { name: "G".into(), capability: (9, 0), memory: 1, ..Gpu::default() };
        let gpus = Gpus { gpus: vec![gpu; count], ..Gpus::default() };
        Machine { device: Device::Cuda, gpus, mps }
    }

    #[test]
    fn every_step_runs_a_program_of_the_bundle() {
        for machine in [Machine::emulated(), gpus(1, true), gpus(8, false)] {
            for step in [demo(&machine), test(&machine), bench(machine.device), ways()].concat() {
                let known = PROGRAMS.contains(&step.program) || PLAIN_PROGRAMS.contains(&step.program);
                assert!(known, "{}", step.shown());
                assert!(step.gpus >= 1 && step.pes >= 1);
            }
        }
    }

    #[test]
    fn processes_share_a_gpu_by_mps_where_there_is_mps_and_a_gpu_to_share() {
        let shown = |machine: &Machine| -> Vec<String> {
            let run = |step: &&Step| step.gpus <= machine.gpus.gpus.len() && step.program == "jacobi";
            processes(machine)
                .iter()
                .filter(run)
                .map(|step| step.shown().replace(" jacobi 1024 1024 100 10", ""))
                .collect()
        };
        let (two, four) = ("oxshmem-run -n 2", "oxshmem-run -n 4");
        let by_mps = [two, four].map(|launch| format!("{launch} --mps"));
        assert_eq!(shown(&gpus(1, true)), [two, &by_mps[0], &by_mps[1]]);
        assert_eq!(shown(&gpus(1, false)), [two]);
        assert_eq!(shown(&gpus(2, true)), [two, &by_mps[1]]);
        assert_eq!(shown(&gpus(4, true)), [two, four]);
    }

    #[test]
    fn every_grid_has_a_row_for_each_pe() {
        for step in examples(Device::Emulated, &[1, 2, 3, 5, 8]).iter().filter(|s| s.program == "jacobi") {
            let height: u32 = step.arguments[1].parse().expect("a number");
            assert!(height >= step.pes + 2, "{}", step.shown());
        }
    }
}
