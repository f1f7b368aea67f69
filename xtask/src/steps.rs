//! The tables: which program runs with which arguments on how many PEs, for a demo, a test of a bundle and a benchmark.

use std::time::Duration;

/// Programs of a bundle, in the order in which they are listed.
pub const PROGRAMS: &[&str] = &["ring-shift", "jacobi", "conformance", "bounded-wait", "launch-overhead"];

/// The packages that they come from.
pub const PACKAGES: &[&str] = &["ring-shift", "jacobi", "oxshmem-tests", "oxshmem-perf"];

/// What kernels run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// NVIDIA GPUs.
    Cuda,
    /// The emulator.
    Emulated,
}

impl Device {
    /// Its value of `OXSHMEM_DEVICE`.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Emulated => "emulated",
        }
    }
}

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
        Self { program, arguments, pes, gpus: 1, limit: Duration::from_secs(300), reads }
    }

    /// As one would type it, without the device.
    pub fn shown(&self) -> String {
        let mut words = vec![format!("OXSHMEM_PES={}", self.pes), self.program.to_owned()];
        words.extend(self.arguments.iter().cloned());
        words.join(" ")
    }
}

/// Both examples with their demo sizes.
pub fn demo(device: Device) -> Vec<Step> {
    let (pes, ring, jacobi): (&[u32], u64, [u64; 4]) = match device {
        Device::Cuda => (&[1, 2, 4, 8], 1 << 24, [4096, 4096, 1000, 100]),
        Device::Emulated => (&[1, 2, 4], 1 << 16, [128, 128, 20, 10]),
    };
    let ring = pes.iter().map(|&pes| Step::new("ring-shift", &[ring], pes, Reads::Verified));
    let jacobi = pes.iter().map(|&pes| Step::new("jacobi", &jacobi, pes, Reads::Verified));
    ring.chain(jacobi).collect()
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

/// The test of a bundle.
pub fn test(device: Device) -> Vec<Step> {
    let conformance = [1, 2, 3, 4, 8].map(|pes| Step {
        limit: Duration::from_secs(900),
        ..Step::new("conformance", &[u64::from(pes)], pes, Reads::Nothing)
    });
    let waits = [1, 2, 8].map(|pes| Step::new("bounded-wait", &[2], pes, Reads::Nothing));
    conformance.into_iter().chain(waits).chain(examples(device, &[1, 2, 4, 8])).collect()
}

/// The benchmarks.
pub fn bench(device: Device) -> Vec<Step> {
    let (elements, grid, iterations) = match device {
        Device::Cuda => (268_435_456, 8192, 1000),
        Device::Emulated => (4096, 64, 10),
    };
    let mut steps = vec![Step::new("launch-overhead", &[], 1, Reads::Rows)];
    for pes in [1, 2, 4] {
        let jacobi = [grid, grid, iterations, iterations / 10];
        let reads = Reads::Iterations(iterations as u32);
        steps.push(Step::new("jacobi", &jacobi, pes, reads));
    }
    for pes in [1, 2, 4] {
        let reads = Reads::Sent { bytes: elements * 4 };
        steps.push(Step::new("ring-shift", &[elements], pes, reads));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_runs_a_program_of_the_bundle() {
        for device in [Device::Cuda, Device::Emulated] {
            for step in [demo(device), test(device), bench(device)].concat() {
                assert!(PROGRAMS.contains(&step.program), "{}", step.shown());
                assert!(step.gpus >= 1 && step.pes >= 1);
            }
        }
    }

    #[test]
    fn every_grid_has_a_row_for_each_pe() {
        for step in examples(Device::Emulated, &[1, 2, 3, 5, 8]).iter().filter(|s| s.program == "jacobi") {
            let height: u32 = step.arguments[1].parse().expect("a number");
            assert!(height >= step.pes + 2, "{}", step.shown());
        }
    }
}
