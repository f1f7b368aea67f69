//! The same iteration on the host, without oxshmem, with the same order of additions: what the kernel must
//! reproduce bit for bit.

use crate::Problem;

/// The final grid and the squared residual at each check.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Solution {
    /// `height` rows of `width`.
    pub(crate) grid: Vec<f32>,
    /// One per check.
    pub(crate) residuals: Vec<f64>,
}

impl Solution {
    /// Whether both have the same bits.
    pub(crate) fn same_bits(&self, other: &Self) -> bool {
        let bits = |grid: &[f32]| grid.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let wide = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        self.grid.len() == other.grid.len()
            && bits(&self.grid) == bits(&other.grid)
            && wide(&self.residuals) == wide(&other.residuals)
    }
}

/// Solves `problem` with `threads` threads per block as the kernel counts them.
pub(crate) fn solve(problem: Problem, threads: usize) -> Solution {
    let (width, height) = (problem.width as usize, problem.height as usize);
    let mut from: Vec<f32> = (0..width * height).map(|i| problem.initial(i / width, i % width)).collect();
    let mut to = from.clone();
    let mut residuals = Vec::new();
    for step in 1..=problem.iterations {
        let mut total = 0.0;
        for y in 1..height - 1 {
            let mut per_thread = vec![0.0f64; threads];
            for x in 1..width - 1 {
                let at = y * width + x;
                let new = 0.25 * ((from[at - width] + from[at + width]) + (from[at - 1] + from[at + 1]));
                let change = f64::from(new) - f64::from(from[at]);
                per_thread[(x - 1) % threads] += change * change;
                to[at] = new;
            }
            total += sum_of_block(&per_thread);
        }
        if step % problem.check_every == 0 {
            residuals.push(total);
        }
        std::mem::swap(&mut from, &mut to);
    }
    Solution { grid: from, residuals }
}

/// The kernel's order: a butterfly in each warp of 32, then the warps in order.
fn sum_of_block(values: &[f64]) -> f64 {
    values
        .chunks(32)
        .map(|warp| {
            let mut sums = warp.to_vec();
            for distance in [16, 8, 4, 2, 1] {
                sums = (0..sums.len()).map(|lane| sums[lane] + sums[lane ^ distance]).collect();
            }
            sums[0]
        })
        .sum()
}
