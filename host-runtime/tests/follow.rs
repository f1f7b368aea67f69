//! A kernel follows a schedule with memory that the host has taken for it, and is told what is wrong with other memory.

use oxshmem::{LaunchConfig, Result, Shmem};
use oxshmem_device::collective::Course;
use oxshmem_device::collective::schedule::{Grid, Pipeline, Ring, Schedule, Shape};
use oxshmem_device::prelude::*;

const PIPELINE: Pipeline = Pipeline { rounds: 2, depth: 2, lag: 0, slots: 4 };

fn ring(pes: u32, pe: u32, lane: u32, scatters: bool) -> Option<Ring> {
    let pes = Grid::new(1, pes)?;
    Some(if scatters {
        Ring::reduce_scatter(pes, pe, lane, PIPELINE)
    } else {
        Ring::all_reduce(pes, pe, lane, PIPELINE)
    })
}

#[nvshmem_kernel]
fn follows(
    shmem: Collective,
    scatters: u32,
    target: Sym<[f32]>,
    source: Sym<[f32]>,
    signals: Sym<[Signal]>,
    buffers: Sym<[f32]>,
    counters: Sym<[u64]>,
) {
    let of = |lane| ring(shmem.n_pes(), shmem.my_pe(), lane, scatters != 0).expect("a ring of some PEs");
    shmem.grid().follow(of, Sum, target, source, Course { signals, buffers, counters });
}

/// What each kind of memory lacks.
#[derive(Clone, Copy, Default)]
struct Less {
    signals: usize,
    buffers: usize,
    counters: usize,
    source: usize,
}

/// Follows a ring with `len` elements on two lanes; gives the target.
fn run(shmem: &Shmem, len: usize, scatters: bool, less: Less) -> Result<Vec<f32>> {
    const LANES: u32 = 2;
    let (n, me) = (shmem.n_pes(), shmem.my_pe());
    let shape: Shape = ring(n, me, 0, scatters).expect("a ring of some PEs").shape();
    let longest = shape.longest(len as u64, LANES, 4).next_multiple_of(4);
    let source = shmem.alloc_from_fn(len - less.source, |i| (i as u32 + me) as f32)?;
    let target = shmem.alloc_zeroed::<f32>(len)?;
    let signals = shmem.alloc_signals(shape.signals(LANES) as usize - less.signals)?;
    let buffers = shmem.alloc_zeroed::<f32>((shape.buffers(LANES) * longest) as usize - less.buffers)?;
    let counters = shmem.alloc_zeroed::<u64>(LANES as usize - less.counters)?;
    let config = LaunchConfig::blocks(LANES).threads(32);
    follows::launch(shmem, config, u32::from(scatters), &target, &source, &signals, &buffers, &counters)?;
    shmem.barrier_all()?;
    target.read()
}

/// The error of a run of three PEs.
fn refused(len: usize, scatters: bool, less: Less) -> String {
    let ran = oxshmem::run_local(3, |shmem| run(&shmem, len, scatters, less).map(drop));
    ran.expect_err("it cannot be").to_string()
}

#[test]
fn a_ring_sums_on_all_pes() {
    let sums = oxshmem::run_local(3, |shmem| run(&shmem, 1003, false, Less::default()));
    let sums = sums.expect("three emulated PEs");
    for sum in sums {
        assert!(sum.iter().enumerate().all(|(i, sum)| *sum == (3 * i + 3) as f32));
    }
}

#[test]
fn memory_that_is_too_small_ends_the_kernel() {
    // 3 PEs, 2 rounds of 2 chunks: 12 chunks of 1,200 elements on each of two lanes, an edge of 4 slots and a credit word.
    let of = |less| refused(2400, false, less);
    for (error, told) in [
        (of(Less { signals: 1, ..Less::default() }), "it has 9 elements, 10 are needed"),
        (of(Less { counters: 1, ..Less::default() }), "it has 1 elements, 2 are needed"),
        (of(Less { buffers: 1, ..Less::default() }), "it has 799 elements, 800 are needed"),
        (of(Less { source: 1, ..Less::default() }), "the destination has 2400 elements, the source 2399"),
        // A block for each PE.
        (refused(2401, true, Less::default()), "it has 2401 elements, 2403 are needed"),
    ] {
        assert!(error.contains(": follow") && error.contains(told), "{error}");
    }
}
