//! The loop that takes the time: a few untimed iterations, then the timed ones, in one launch.
//!
//! | word of `times` | what it holds |
//! |---|---|
//! | 0 | nanoseconds of all timed iterations |
//! | 1 | the cycle in which they began; latency and ping-pong tests only |
//! | 2 + i | the cycle in which timed iteration i ended, as far as there is room |

use oxshmem_device::clock;
use oxshmem_device::cuda_std::thread::device_fence;
use oxshmem_device::prelude::*;

/// Words of `times` before the stamps of single iterations.
pub const HEAD: usize = 2;

/// How often a test does what it does.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// Untimed iterations, before the others.
    pub warmup: u32,
    /// Timed iterations.
    pub iters: u32,
}

/// Runs `turn` on all threads of the grid. The grid's first thread takes the time: from behind a grid barrier until
/// behind the last turn, `finish` and another grid barrier. The untimed turns are finished likewise.
#[inline(always)]
pub(crate) fn throughput(
    shmem: Collective,
    times: Global<[u64]>,
    turns: Turns,
    mut turn: impl FnMut(),
    finish: impl Fn(),
) {
    let grid = shmem.grid();
    let (mut start, mut phase) = (0, 0);
    // The same code twice: first untimed. Nothing but turns stands in the inner loop.
    while phase < 2 {
        let count = if phase == 0 { turns.warmup } else { turns.iters };
        start = clock::nanoseconds();
        let mut i = 0;
        while i < count {
            turn();
            i += 1;
        }
        finish();
        grid.sync();
        phase += 1;
    }
    if thread::in_grid() == 0 {
        shmem.local(times).set(0, clock::nanoseconds() - start);
    }
}

/// Lets no later turn be served by what the L1 of an earlier one holds. A grid barrier of several blocks does so by its
/// acquire; one block has none in it.
#[inline(always)]
pub(crate) fn forget(shmem: Collective) {
    if thread::blocks() == 1 {
        if thread::in_block() == 0 {
            device_fence();
        }
        shmem.block().sync();
    }
}

/// Runs `turn`, which is given its number from 0 on, on the calling threads, of which one is `timer`: it takes the time
/// and a stamp after each turn.
#[inline(always)]
pub(crate) fn latency(
    shmem: Collective,
    times: Global<[u64]>,
    turns: Turns,
    timer: bool,
    turn: impl FnMut(u32),
) {
    latency_together(shmem, times, turns, timer, || {}, turn);
}

/// As [`latency`], after `meet` has let the PEs come together.
#[inline(always)]
pub(crate) fn latency_together(
    shmem: Collective,
    times: Global<[u64]>,
    turns: Turns,
    timer: bool,
    meet: impl Fn(),
    mut turn: impl FnMut(u32),
) {
    let times = shmem.local(times);
    let stamps = if timer { times.len() } else { 0 };
    let (mut start, mut number, mut phase) = (0, 0, 0);
    // The same code twice: the second time writes over what the untimed turns have written.
    while phase < 2 {
        let count = if phase == 0 { turns.warmup } else { turns.iters };
        meet();
        start = clock::nanoseconds();
        if timer {
            times.set(1, clock::cycles());
        }
        let mut i = 0;
        while i < count {
            turn(number);
            let stamp = HEAD as u64 + u64::from(i);
            if stamp < stamps {
                times.set(stamp, clock::cycles());
            }
            (i, number) = (i + 1, number + 1);
        }
        phase += 1;
    }
    if timer {
        times.set(0, clock::nanoseconds() - start);
    }
}
