//! The kernel of the Jacobi solver: one persistent launch computes all iterations.

use oxshmem_device::prelude::*;
use oxshmem_kernels::halo::{Halo, Side};
use oxshmem_kernels::ordered_sum::{OrderedSum, STAGE};
use oxshmem_kernels::split::share;

oxshmem_device::kernels!();

/// Threads per block. The order of additions within a row depends on it, so it is fixed.
pub const BLOCK: u32 = 256;

shared! {
    /// What a block keeps.
    pub struct Layout {
        /// One partial residual per warp.
        warps: [f64; 8],
        /// The ordered sum's stage.
        stage: [f64; STAGE as usize],
    }
}

/// `iterations` steps of the 5-point Jacobi iteration on a grid of `width` columns and `interior` rows between
/// fixed boundaries, the rows split over PEs. `a` and `b` are used in turn, starting from `a`; each has this
/// PE's rows between two halo rows.
///
/// Every `check_every` steps the squared residual of the whole grid goes to `residuals`. `base` and `sums_before`
/// are how many steps and residuals earlier launches have done: signals and buffers go on from there.
#[nvshmem_kernel(block = 256, min_blocks = 2, shared = Layout)]
pub fn jacobi(
    shmem: Collective,
    a: Sym<[f32]>,
    b: Sym<[f32]>,
    halo_signals: Sym<[Signal]>,
    summands: Sym<[f64]>,
    residuals: Global<[f64]>,
    width: u32,
    interior: u32,
    iterations: u32,
    check_every: u32,
    base: u64,
    sums_before: u64,
) {
    let layout = Layout::of(shmem);
    let halo = Halo::new(shmem, halo_signals);
    let sums = OrderedSum::new(shmem, summands, layout.stage);
    let (block, grid) = (shmem.block(), shmem.grid());
    let own = share(interior, shmem.my_pe(), shmem.n_pes());
    let row =
        |buffer: Sym<[f32]>, index: u32| buffer.slice(u64::from(index) * u64::from(width), u64::from(width));

    let mut step = 1;
    while step <= iterations {
        let (from, to) = if step & 1 == 1 { (a, b) } else { (b, a) };
        let (check, number) = (step % check_every == 0, step / check_every - u32::from(step >= check_every));
        let sum = sums_before + u64::from(number);
        let partials = shmem.local(sums.buffer(sum));
        // The boundary rows come first, so that their way to the neighbours is hidden behind the others.
        let mut task = thread::block();
        while task < own.rows {
            let index = match task {
                0 => 1,
                1 => own.rows,
                other => other,
            };
            let (first, last) = (index == 1, index == own.rows);
            if first {
                halo.wait_row(Side::Up, base + u64::from(step - 1));
            }
            if last {
                halo.wait_row(Side::Down, base + u64::from(step - 1));
            }
            let residual = relax(shmem, from, to, width, index);
            if check {
                let total = sum_of_block(shmem, &layout.warps, residual);
                if block.is_leader() {
                    partials.set(u64::from(own.first + index - 1), total);
                }
            }
            if first && let Some(pe) = halo.neighbour(Side::Up) {
                let theirs = share(interior, pe, shmem.n_pes()).rows + 1;
                halo.send_row(Side::Up, row(to, theirs), row(to, 1), base + u64::from(step));
            }
            if last {
                halo.send_row(Side::Down, row(to, 0), row(to, own.rows), base + u64::from(step));
            }
            task += thread::blocks();
        }
        grid.sync();
        if check && thread::block() == 0 {
            let residual = sums.sum(sum, own.first, own.rows);
            if block.is_leader() {
                shmem.local(residuals).set(u64::from(number), residual);
            }
        }
        step += 1;
    }
}

/// Computes row `index` of `to` from `from`; returns the calling thread's share of its squared residual.
#[inline(always)]
fn relax(shmem: Collective, from: Sym<[f32]>, to: Sym<[f32]>, width: u32, index: u32) -> f64 {
    let row = |buffer: Sym<[f32]>, index: u32| {
        shmem.local(buffer.slice(u64::from(index) * u64::from(width), u64::from(width)))
    };
    let (above, here, below, out) =
        (row(from, index - 1), row(from, index), row(from, index + 1), row(to, index));
    let new = |x: u64| {
        let centre = here.get(x);
        let new = 0.25 * ((above.get(x) + below.get(x)) + (here.get(x - 1) + here.get(x + 1)));
        (new, f64::from(new) - f64::from(centre))
    };
    let (step, end) = (u64::from(BLOCK), u64::from(width) - 1);
    let mut residual = 0.0f64;
    let mut x = 1 + u64::from(thread::in_block());
    // Four columns at a time keep enough loads in flight; the order of the additions is that of the columns.
    while x + 3 * step < end {
        let columns = [new(x), new(x + step), new(x + 2 * step), new(x + 3 * step)];
        out.set(x, columns[0].0);
        out.set(x + step, columns[1].0);
        out.set(x + 2 * step, columns[2].0);
        out.set(x + 3 * step, columns[3].0);
        residual += columns[0].1 * columns[0].1;
        residual += columns[1].1 * columns[1].1;
        residual += columns[2].1 * columns[2].1;
        residual += columns[3].1 * columns[3].1;
        x += 4 * step;
    }
    while x < end {
        let (value, change) = new(x);
        out.set(x, value);
        residual += change * change;
        x += step;
    }
    residual
}

/// The sum of one value per thread, in an order fixed by the thread numbers; the leader gets it.
#[inline(always)]
fn sum_of_block(shmem: Collective, warps: &SharedSlice<f64>, value: f64) -> f64 {
    let mut sum = value;
    let mut distance = 16;
    while distance > 0 {
        sum += warp::shuffle_xor(sum, distance);
        distance /= 2;
    }
    if warp::lane() == 0 {
        warps.set(thread::in_block() / 32, sum);
    }
    shmem.block().sync();
    let mut total = 0.0;
    if thread::in_block() == 0 {
        let mut warp = 0;
        while warp < BLOCK / 32 {
            total += warps.get(warp);
            warp += 1;
        }
    }
    shmem.block().sync();
    total
}
