//! Scopes that are not joined: one thread or warp signals for others, or waits for others, or blocks meet without the grid's
//! barrier.

use super::{Kernel, Pair};
use oxshmem_device::prelude::*;
use oxshmem_emulator::check::{Kind, World, WorldGrid};

const fn pair(
    name: &'static str,
    kind: Kind,
    pes: u32,
    grid: WorldGrid,
    mechanism: &'static str,
    make: fn(&mut World, bool) -> Kernel,
) -> Pair {
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("scopes.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "thread-signals-for-block",
        Kind::ReleaseWithoutBarrier,
        2,
        WorldGrid::of(1, 40),
        "every thread stores at the peer, and one signals without the block's barrier",
        thread_signals_for_block,
    ),
    pair(
        "lane-signals-for-warp",
        Kind::ReleaseWithoutBarrier,
        2,
        WorldGrid::of(1, 32),
        "lanes are taken to be in step: one signals for all without the warp's barrier",
        lane_signals_for_warp,
    ),
    pair(
        "warp-signals-for-block",
        Kind::ReleaseWithoutBarrier,
        2,
        WorldGrid::of(1, 96),
        "a strong signal at warp scope covers that warp, not the puts of the others",
        warp_signals_for_block,
    ),
    pair(
        "thread-waits-for-block",
        Kind::AcquireWithoutBarrier,
        2,
        WorldGrid::of(1, 40),
        "one thread waits, and the block reads without a barrier",
        thread_waits_for_block,
    ),
    pair(
        "lane-waits-for-warp",
        Kind::AcquireWithoutBarrier,
        2,
        WorldGrid::of(1, 32),
        "lane 0 waits, and the warp reads without the warp's barrier",
        lane_waits_for_warp,
    ),
    pair(
        "shuffle-for-barrier",
        Kind::AcquireWithoutBarrier,
        2,
        WorldGrid::of(1, 32),
        "lane 0 waits and tells the others by a shuffle, which joins them but orders no memory",
        shuffle_for_barrier,
    ),
    pair(
        "warp-waits-for-block",
        Kind::AcquireWithoutBarrier,
        2,
        WorldGrid::of(1, 64),
        "one warp waits, and a warp's barrier stands where the block's is needed",
        warp_waits_for_block,
    ),
    pair(
        "block-waits-for-grid",
        Kind::DataRace,
        2,
        WorldGrid::of(2, 32),
        "one block waits, and another one reads without the grid's barrier",
        block_waits_for_grid,
    ),
    pair(
        "block-barrier-between-blocks",
        Kind::DataRace,
        1,
        WorldGrid::of(3, 32),
        "blocks of one PE exchange data, and the block's barrier stands where the grid's is needed",
        block_barrier_between_blocks,
    ),
    pair(
        "one-block-at-grid-barrier",
        Kind::Deadlock,
        1,
        WorldGrid::of(2, 32),
        "the grid's barrier is called by one of its blocks",
        one_block_at_grid_barrier,
    ),
    pair(
        "weak-flag-between-blocks",
        Kind::SignalOvertakesData,
        1,
        WorldGrid::of(2, 1),
        "a flag from one block to another of the same PE does not release",
        weak_flag_between_blocks,
    ),
    pair(
        "leader-puts-for-block",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 40),
        "the leader puts what others write, at thread scope and without a barrier",
        leader_puts_for_block,
    ),
    pair(
        "leader-gets-for-block",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 40),
        "the leader gets what others read, at thread scope and without a barrier",
        leader_gets_for_block,
    ),
];

fn thread_signals_for_block(world: &mut World, broken: bool) -> Kernel {
    let (row, out) = (world.data::<u32>("row", 40), world.data::<u32>("out", 40));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let (block, thread) = (shmem.block(), shmem.thread());
        let i = block.rank();
        if shmem.my_pe() == 0 {
            thread.p(row.at(i), 7 + i as u32, 1); // thread-signals-for-block: one
            if !broken {
                block.sync();
            }
            if block.is_leader() {
                thread.signal(ready, SignalOp::Set(1), 1);
            }
        } else {
            block.wait_until(ready, Cmp::Ge, 1);
            let value = shmem.local(row).get(i); // thread-signals-for-block: two
            shmem.local(out).set(i, value);
        }
    })
}

fn lane_signals_for_warp(world: &mut World, broken: bool) -> Kernel {
    let (row, out) = (world.data::<u64>("row", 32), world.data::<u64>("out", 32));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let (warp, thread) = (shmem.warp(), shmem.thread());
        let i = warp.rank();
        if shmem.my_pe() == 0 {
            thread.p(row.at(i), i * i, 1); // lane-signals-for-warp: one
            if !broken {
                warp.sync();
            }
            if warp.is_leader() {
                thread.signal(ready, SignalOp::Add(1), 1);
            }
        } else {
            warp.wait_until(ready, Cmp::Ge, 1);
            let value = shmem.local(row).get(i); // lane-signals-for-warp: two
            shmem.local(out).set(i, value);
        }
    })
}

fn warp_signals_for_block(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u16>("inbox", 15), world.data::<u16>("row", 15));
    let out = world.data::<u16>("out", 15);
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let (block, warp) = (shmem.block(), shmem.warp());
        let i = block.rank();
        if shmem.my_pe() == 0 {
            let first = 5 * (i / 32);
            warp.put(inbox.slice(first, 5), row.slice(first, 5), 1); // warp-signals-for-block: one
            if !broken {
                block.sync();
            }
            if i < 32 {
                warp.signal(ready, SignalOp::Set(1), 1);
            }
        } else {
            block.wait_until(ready, Cmp::Ge, 1);
            if i < 15 {
                let value = shmem.local(inbox).get(i); // warp-signals-for-block: two
                shmem.local(out).set(i, value + 1);
            }
        }
    })
}

fn thread_waits_for_block(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 40), world.data::<u32>("row", 40));
    let out = world.data::<u32>("out", 40);
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let block = shmem.block();
        let i = block.rank();
        if shmem.my_pe() == 0 {
            block.put_signal(inbox, row, ready, SignalOp::Set(1), 1); // thread-waits-for-block: one
        } else {
            if block.is_leader() {
                shmem.thread().wait_until(ready, Cmp::Ge, 1);
            }
            if !broken {
                block.sync();
            }
            let value = shmem.local(inbox).get(i); // thread-waits-for-block: two
            shmem.local(out).set(i, value + 1);
        }
    })
}

fn lane_waits_for_warp(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 32), world.data::<u32>("row", 32));
    let out = world.data::<u32>("out", 32);
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let warp = shmem.warp();
        let i = warp.rank();
        if shmem.my_pe() == 0 {
            warp.put_signal(inbox, row, ready, SignalOp::Set(3), 1); // lane-waits-for-warp: one
        } else {
            if warp.is_leader() {
                shmem.thread().wait_reached(ready, 3);
            }
            if !broken {
                warp.sync();
            }
            let value = shmem.local(inbox).get(i); // lane-waits-for-warp: two
            shmem.local(out).set(i, value + 1);
        }
    })
}

fn shuffle_for_barrier(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 32), world.data::<u32>("row", 32));
    let (out, ready) = (world.data::<u32>("out", 32), world.signals("ready", 1).at(0));
    Box::new(move |shmem| {
        let (warp, thread) = (shmem.warp(), shmem.thread());
        let i = warp.rank();
        if shmem.my_pe() == 0 {
            warp.put_signal(inbox, row, ready, SignalOp::Set(32), 1); // shuffle-for-barrier: one
        } else {
            let mut count = 0;
            if warp.is_leader() {
                thread.wait_until(ready, Cmp::Ne, 0);
                count = thread.signal_fetch(ready);
            }
            let count = warp::shuffle(count, 0);
            if !broken {
                warp.sync();
            }
            if i < count {
                let value = shmem.local(inbox).get(i); // shuffle-for-barrier: two
                shmem.local(out).set(i, value + 1);
            }
        }
    })
}

fn warp_waits_for_block(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 64), world.data::<u32>("row", 64));
    let out = world.data::<u32>("out", 64);
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let (block, warp) = (shmem.block(), shmem.warp());
        let i = block.rank();
        if shmem.my_pe() == 0 {
            block.put_signal(inbox, row, ready, SignalOp::Set(1), 1); // warp-waits-for-block: one
        } else {
            if i < 32 {
                warp.wait_until(ready, Cmp::Ge, 1);
            }
            if broken {
                warp.sync();
            } else {
                block.sync();
            }
            let value = shmem.local(inbox).get(i); // warp-waits-for-block: two
            shmem.local(out).set(i, value + 1);
        }
    })
}

fn block_waits_for_grid(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 64), world.data::<u32>("row", 64));
    let out = world.data::<u32>("out", 64);
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let (block, grid) = (shmem.block(), shmem.grid());
        let first = thread::block() == 0;
        if shmem.my_pe() == 0 {
            if first {
                block.put_signal(inbox, row, ready, SignalOp::Set(1), 1); // block-waits-for-grid: one
            }
        } else {
            if first {
                block.wait_until(ready, Cmp::Ge, 1);
            }
            if broken {
                block.sync();
            } else {
                grid.sync();
            }
            let value = shmem.local(inbox).get(grid.rank()); // block-waits-for-grid: two
            shmem.local(out).set(grid.rank(), value + 1);
        }
    })
}

fn block_barrier_between_blocks(world: &mut World, broken: bool) -> Kernel {
    let (squares, sums) = (world.local::<u32>("squares", 96)[0], world.local::<u32>("sums", 96)[0]);
    Box::new(move |shmem| {
        let (block, grid) = (shmem.block(), shmem.grid());
        let i = grid.rank();
        shmem.local(squares).set(i, (i * i) as u32); // block-barrier-between-blocks: one
        if broken {
            block.sync();
        } else {
            grid.sync();
        }
        let next = shmem.local(squares).get((i + 32) % 96); // block-barrier-between-blocks: two
        shmem.local(sums).set(i, next);
    })
}

fn one_block_at_grid_barrier(world: &mut World, broken: bool) -> Kernel {
    let partials = world.local::<u32>("partials", 64)[0];
    Box::new(move |shmem| {
        let grid = shmem.grid();
        shmem.local(partials).set(grid.rank(), thread::block());
        if !broken || thread::block() == 0 {
            grid.sync(); // one-block-at-grid-barrier: one
        }
    })
}

fn weak_flag_between_blocks(world: &mut World, broken: bool) -> Kernel {
    let (stage, out) = (world.local::<u32>("stage", 3)[0], world.local::<u32>("out", 3)[0]);
    let filled = world.signals("filled", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if thread::block() == 0 {
            for i in 0..3 {
                shmem.local(stage).set(i, 5); // weak-flag-between-blocks: one
            }
            if broken {
                thread.signal_weak(filled, SignalOp::Set(1), 0);
            } else {
                thread.signal(filled, SignalOp::Set(1), 0);
            }
        } else {
            thread.wait_until(filled, Cmp::Ge, 1);
            for i in 0..3 {
                let value = shmem.local(stage).get(i); // weak-flag-between-blocks: two
                shmem.local(out).set(i, value);
            }
        }
    })
}

fn leader_puts_for_block(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u8>("inbox", 40), world.data::<u8>("row", 40));
    Box::new(move |shmem| {
        let block = shmem.block();
        let i = block.rank();
        shmem.local(row).set(i, i as u8); // leader-puts-for-block: one
        if !broken {
            block.sync();
        }
        if block.is_leader() {
            shmem.thread().put(inbox, row, shmem.next_pe()); // leader-puts-for-block: two
        }
    })
}

fn leader_gets_for_block(world: &mut World, broken: bool) -> Kernel {
    let (given, fetched) = (world.data::<u32>("given", 40), world.local::<u32>("fetched", 40));
    let out = world.data::<u32>("out", 40);
    Box::new(move |shmem| {
        let (block, fetched) = (shmem.block(), fetched[shmem.my_pe() as usize]);
        let i = block.rank();
        if block.is_leader() {
            shmem.thread().get(fetched, given, shmem.next_pe()); // leader-gets-for-block: one
        }
        if !broken {
            block.sync();
        }
        let value = shmem.local(fetched).get(i); // leader-gets-for-block: two
        shmem.local(out).set(i, value + 1);
    })
}
