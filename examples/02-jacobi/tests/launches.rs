//! The kernel goes on where an earlier launch ended: several launches in a row, with no host barrier between
//! them, give the bits of one, on any number of PEs.

use ::jacobi::{BLOCK, jacobi};
use oxshmem::{Config, DeviceChoice, Shmem};
use oxshmem_device::LaunchConfig;
use oxshmem_kernels::halo::HaloPlan;
use oxshmem_kernels::ordered_sum::OrderedSumPlan;
use oxshmem_kernels::split::{most_rows, share};

const WIDTH: u32 = 37;
const INTERIOR: u32 = 11;
const CHECK_EVERY: u32 = 3;

/// This PE's rows, and the residuals of all launches.
fn solve(shmem: &Shmem, launches: &[u32]) -> oxshmem::Result<(Vec<u32>, Vec<u64>)> {
    let own = share(INTERIOR, shmem.my_pe(), shmem.n_pes());
    let (width, rows) = (WIDTH as usize, most_rows(INTERIOR, shmem.n_pes()) as usize + 2);
    let start = |i: usize| {
        let (row, column) = (own.first as usize + i / width, i % width);
        (row * 31 % 7) as f32 + (column * 17 % 5) as f32 / 4.0
    };
    let (a, b) = (shmem.alloc_from_fn(rows * width, start)?, shmem.alloc_from_fn(rows * width, start)?);
    let (halo, sums) = (HaloPlan::new(shmem)?, OrderedSumPlan::new(shmem, INTERIOR as usize)?);
    let blocks = LaunchConfig::blocks(2).threads(BLOCK);
    let (mut steps, mut done, mut residuals) = (0, 0, Vec::new());
    for &count in launches {
        let (from, to) = if steps % 2 == 0 { (&a, &b) } else { (&b, &a) };
        let out = shmem.device_zeroed::<f64>((count / CHECK_EVERY) as usize)?;
        jacobi::launch(
            shmem,
            blocks,
            from,
            to,
            &halo.signals,
            &sums.summands,
            &out,
            WIDTH,
            INTERIOR,
            count,
            CHECK_EVERY,
            steps,
            done,
        )?;
        steps += u64::from(count);
        done += u64::from(count / CHECK_EVERY);
        residuals.push(out);
    }
    shmem.barrier_all()?;
    let last = if steps % 2 == 0 { &a } else { &b };
    let rows = last.read()?[width..][..own.rows as usize * width].iter().map(|x| x.to_bits()).collect();
    let mut bits = Vec::new();
    for out in residuals {
        bits.extend(out.read()?.iter().map(|x| x.to_bits()));
    }
    Ok((rows, bits))
}

/// The whole grid, and the residuals, on which all PEs must agree.
fn solve_on(pes: u32, seed: Option<u64>, launches: &[u32]) -> (Vec<u32>, Vec<u64>) {
    let config = Config::default().device(DeviceChoice::Emulated).pes(pes);
    let config = seed.map_or(config.clone(), |seed| config.emulated_seed(seed));
    let parts = config.run(|shmem| solve(&shmem, launches)).expect("the kernels run");
    let residuals = parts[0].1.clone();
    assert!(parts.iter().all(|part| part.1 == residuals), "{pes} PEs do not agree on the residuals");
    (parts.into_iter().flat_map(|part| part.0).collect(), residuals)
}

#[test]
fn launches_in_a_row_give_the_bits_of_one() {
    // Odd numbers of steps and of sums, so that the next launch starts with the other buffers.
    let launches = [7, 3, 4, 1, 9];
    let alone = solve_on(1, None, &launches);
    assert_eq!(solve_on(1, None, &[24]).0, alone.0);
    for pes in [2, 3, 5] {
        for seed in [None, Some(1), Some(2), Some(3)] {
            assert_eq!(solve_on(pes, seed, &launches), alone, "{pes} PEs, seed {seed:?}");
        }
    }
}
