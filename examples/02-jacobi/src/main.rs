//! The 2-D Jacobi iteration with its rows split over PEs, all iterations in one kernel launch. The grid and
//! every residual must have the same bits as on one PE.
//!
//! `jacobi [WIDTH [HEIGHT [ITERATIONS [CHECK_EVERY]]]]`; `OXSHMEM_PES=4` makes four PEs of this process,
//! `oxshmem-run -n 4 jacobi` four processes.

mod reference;

use ::jacobi::{BLOCK, jacobi};
use oxshmem::{Config, Shmem};
use oxshmem_device::LaunchConfig;
use oxshmem_kernels::halo::HaloPlan;
use oxshmem_kernels::ordered_sum::OrderedSumPlan;
use oxshmem_kernels::split::{most_rows, share};
use reference::Solution;
use std::process::ExitCode;
use std::time::Instant;

/// What to solve. The outermost rows and columns are fixed.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    width: u32,
    height: u32,
    iterations: u32,
    check_every: u32,
}

impl Problem {
    /// The starting value: a hot, uneven top edge over a cold plate.
    pub fn initial(&self, row: usize, column: usize) -> f32 {
        if row == 0 { 1.0 + (column % 17) as f32 / 16.0 } else { 0.0 }
    }

    fn interior(&self) -> u32 {
        self.height - 2
    }

    fn from_args() -> Result<Self, String> {
        let mut numbers = [256u32, 256, 100, 50];
        for (number, text) in numbers.iter_mut().zip(std::env::args().skip(1)) {
            *number = text.parse().map_err(|error| format!("{text:?} is not a whole number: {error}"))?;
        }
        let [width, height, iterations, check_every] = numbers;
        if width < 3 || height < 3 || check_every == 0 {
            return Err(format!(
                "a grid needs at least 3 x 3 points and checks every step or more, got {numbers:?}"
            ));
        }
        Ok(Self { width, height, iterations, check_every })
    }
}

/// What one PE brings home: its rows, the residuals, what all PEs have in short, its device and the seconds that the
/// kernel took.
struct Part {
    pe: u32,
    rows: Vec<f32>,
    residuals: Vec<f64>,
    digests: Vec<[u64; 2]>,
    device: String,
    seconds: f64,
}

/// The bits of a PE's rows and of its residuals in short (FNV-1a), by which the PE that checks knows them: the others may
/// be processes of their own.
fn digest(rows: &[f32], residuals: &[f64]) -> [u64; 2] {
    let mix = |hash: u64, bits: u64| (hash ^ bits).wrapping_mul(0x0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325;
    [
        rows.iter().fold(start, |hash, value| mix(hash, value.to_bits().into())),
        residuals.iter().fold(start, |hash, value| mix(hash, value.to_bits())),
    ]
}

fn solve_part(shmem: &Shmem, problem: Problem) -> oxshmem::Result<Part> {
    let width = problem.width as usize;
    let own = share(problem.interior(), shmem.my_pe(), shmem.n_pes());
    let rows = most_rows(problem.interior(), shmem.n_pes()) as usize + 2;
    let start = |i: usize| problem.initial(own.first as usize + i / width, i % width);
    let a = shmem.alloc_from_fn(rows * width, start)?;
    let b = shmem.alloc_from_fn(rows * width, start)?;
    let halo = HaloPlan::new(shmem)?;
    let sums = OrderedSumPlan::new(shmem, problem.interior() as usize)?;
    let residuals = shmem.device_zeroed::<f64>((problem.iterations / problem.check_every) as usize)?;
    let blocks = shmem.resident_blocks::<jacobi>(BLOCK)?.min(own.rows);
    let config = LaunchConfig::blocks(blocks).threads(BLOCK);
    shmem.barrier_all()?;

    let time = Instant::now();
    jacobi::launch(
        shmem,
        config,
        &a,
        &b,
        &halo.signals,
        &sums.summands,
        &residuals,
        problem.width,
        problem.interior(),
        problem.iterations,
        problem.check_every,
        0,
        0,
    )?;
    shmem.barrier_all()?;
    let seconds = time.elapsed().as_secs_f64();

    let last = if problem.iterations.is_multiple_of(2) { &a } else { &b };
    let rows = last.read()?[width..][..own.rows as usize * width].to_vec();
    let residuals = residuals.read()?;
    let digests = shmem.all_gather(&digest(&rows, &residuals))?;
    Ok(Part { pe: shmem.my_pe(), rows, residuals, digests, device: shmem.device_name().to_string(), seconds })
}

/// Solves on one PE.
fn solve_alone(config: Config, problem: Problem) -> oxshmem::Result<Solution> {
    let part = config.pes(1).run(|shmem| solve_part(&shmem, problem))?.swap_remove(0);
    let edge = |row: usize| (0..problem.width as usize).map(move |column| problem.initial(row, column));
    let grid = edge(0).chain(part.rows).chain(edge(problem.height as usize - 1)).collect();
    Ok(Solution { grid, residuals: part.residuals })
}

/// Points times steps up to which the host checks too.
const HOST_LIMIT: u64 = 200_000_000;

fn jacobi_example(problem: Problem) -> oxshmem::Result<bool> {
    let config = Config::from_env()?;
    let n = config.n_pes();
    if problem.interior() < n {
        eprintln!(
            "jacobi: {} rows between the edges cannot be split over {n} PEs: use a higher grid",
            problem.interior()
        );
        return Ok(false);
    }
    let part = config.clone().run(|shmem| solve_part(&shmem, problem))?.swap_remove(0);
    if part.pe != 0 {
        // The process of PE 0 checks for all.
        return Ok(true);
    }
    let alone = solve_alone(config, problem)?;
    let width = problem.width as usize;
    let mut verified = (0..n).zip(&part.digests).all(|(pe, digest_of_pe)| {
        let own = share(problem.interior(), pe, n);
        let rows = &alone.grid[(own.first as usize + 1) * width..][..own.rows as usize * width];
        digest(rows, &alone.residuals) == *digest_of_pe
    });
    let work = u64::from(problem.width) * u64::from(problem.height) * u64::from(problem.iterations);
    if work <= HOST_LIMIT {
        verified &= alone.same_bits(&reference::solve(problem, BLOCK as usize));
    }
    let Problem { width, height, iterations, .. } = problem;
    println!(
        "02-jacobi  {}  {n} PEs  {width} x {height}, {iterations} iterations, residual {:.6e}  verified {}  {:.6} s",
        part.device,
        part.residuals.last().copied().unwrap_or(f64::NAN).sqrt(),
        if verified { "yes" } else { "no" },
        part.seconds
    );
    Ok(verified)
}

fn main() -> ExitCode {
    let problem = match Problem::from_args() {
        Ok(problem) => problem,
        Err(message) => {
            eprintln!("jacobi: {message}");
            return ExitCode::from(2);
        }
    };
    match jacobi_example(problem) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // In one piece: other PEs may write at the same time.
            let said = format!("jacobi: {error}");
            eprintln!("{said}");
            ExitCode::FAILURE
        }
    }
}
