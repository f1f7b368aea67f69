//! The 2-D Jacobi iteration with its rows split over PEs, all iterations in one kernel launch. The grid and
//! every residual must have the same bits as on one PE.
//!
//! `jacobi [WIDTH [HEIGHT [ITERATIONS [CHECK_EVERY]]]]`; `OXSHMEM_PES=4` makes four PEs.

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

/// What one PE brings home: its rows, the residuals, its device and the seconds that the kernel took.
struct Part {
    rows: Vec<f32>,
    residuals: Vec<f64>,
    device: String,
    seconds: f64,
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
    Ok(Part { rows, residuals: residuals.read()?, device: shmem.device_name().to_string(), seconds })
}

/// Solves on all PEs of `config` and puts the parts together.
fn solve(config: Config, problem: Problem) -> oxshmem::Result<(Solution, Part)> {
    let mut parts = config.run(|shmem| solve_part(&shmem, problem))?;
    let width = problem.width as usize;
    let edge = |row: usize| (0..width).map(move |column| problem.initial(row, column));
    let grid = edge(0)
        .chain(parts.iter().flat_map(|part| part.rows.iter().copied()))
        .chain(edge(problem.height as usize - 1))
        .collect();
    let first = parts.swap_remove(0);
    let agree = parts.iter().all(|part| part.residuals == first.residuals);
    let residuals = if agree { first.residuals.clone() } else { Vec::new() };
    Ok((Solution { grid, residuals }, first))
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
    let (solution, part) = solve(config.clone(), problem)?;
    let work = u64::from(problem.width) * u64::from(problem.height) * u64::from(problem.iterations);
    let mut verified = n == 1 || solution.same_bits(&solve(config.pes(1), problem)?.0);
    if work <= HOST_LIMIT {
        verified &= solution.same_bits(&reference::solve(problem, BLOCK as usize));
    }
    let Problem { width, height, iterations, .. } = problem;
    println!(
        "02-jacobi  {}  {n} PEs  {width} x {height}, {iterations} iterations, residual {:.6e}  verified {}  {:.6} s",
        part.device,
        solution.residuals.last().copied().unwrap_or(f64::NAN).sqrt(),
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
            eprintln!("jacobi: {error}");
            ExitCode::FAILURE
        }
    }
}
