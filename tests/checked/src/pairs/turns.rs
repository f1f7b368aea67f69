//! Collective operations of one PE: two of one channel at once, and operations that not all threads of the scope call alike.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("turns.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "every-block-reduces",
        Kind::CollectiveOverlap,
        2,
        WorldGrid::of(2, 32),
        "two blocks of a PE reduce at once on one channel, each its part",
        every_block_reduces,
    ),
    pair(
        "every-warp-broadcasts",
        Kind::CollectiveOverlap,
        2,
        WorldGrid::of(1, 64),
        "two warps of a block broadcast at once on one channel",
        every_warp_broadcasts,
    ),
    pair(
        "turn-passed-by-weak-signal",
        Kind::CollectiveOverlap,
        2,
        WorldGrid::of(2, 1),
        "a block passes a channel on to the next by a signal that covers nothing",
        turn_passed_by_weak_signal,
    ),
    pair(
        "turn-passed-by-a-peer",
        Kind::CollectiveOverlap,
        2,
        WorldGrid::of(2, 1),
        "a block takes a channel over when a peer has ended the operation, and its own PE may not have",
        turn_passed_by_a_peer,
    ),
    pair(
        "leader-reduces-for-block",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 32),
        "a reduction of the block stands in a branch for its leader",
        leader_reduces_for_block,
    ),
    pair(
        "lanes-with-data-gather",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 32),
        "only lanes that have an element call the warp's fcollect",
        lanes_with_data_gather,
    ),
    pair(
        "root-by-thread",
        Kind::DifferentArguments,
        2,
        WorldGrid::of(1, 32),
        "threads of a block name different roots for its broadcast",
        root_by_thread,
    ),
    pair(
        "one-block-for-grid",
        Kind::Deadlock,
        2,
        WorldGrid::of(2, 32),
        "a reduction of the grid is called by its first block alone",
        one_block_for_grid,
    ),
];

fn every_block_reduces(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u32>("sums", 10);
    Box::new(move |shmem| {
        let number = thread::block_idx_x();
        let channel = if broken { 0 } else { number };
        let part = sums.slice(5 * u64::from(number), 5);
        shmem.team(Team::WORLD).channel(channel).block().reduce(Sum, part, part); // every-block-reduces: one
    })
}

fn every_warp_broadcasts(world: &mut World, broken: bool) -> Kernel {
    let table = world.data::<u32>("table", 10);
    Box::new(move |shmem| {
        let (block, number) = (shmem.block(), thread::in_block() / 32);
        let part = table.slice(5 * u64::from(number), 5);
        for turn in 0..2 {
            if turn == number {
                shmem.warp().broadcast(part, part, 0); // every-warp-broadcasts: one
            }
            if !broken {
                block.sync();
            }
        }
    })
}

fn turn_passed_by_weak_signal(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u32>("sums", 2);
    let turn = world.signals("turn", 1).at(0);
    Box::new(move |shmem| {
        let (thread, me) = (shmem.thread(), shmem.my_pe());
        if thread::block_idx_x() == 0 {
            thread.reduce(Sum, sums.slice(0, 1), sums.slice(0, 1)); // turn-passed-by-weak-signal: one
            if broken {
                thread.signal_weak(turn, SignalOp::Set(1), me);
            } else {
                thread.signal(turn, SignalOp::Set(1), me);
            }
        } else {
            thread.wait_until(turn, Cmp::Eq, 1);
            thread.reduce(Sum, sums.slice(1, 1), sums.slice(1, 1)); // turn-passed-by-weak-signal: two
        }
    })
}

fn turn_passed_by_a_peer(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u32>("sums", 2);
    let turn = world.signals("turn", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if thread::block_idx_x() == 0 {
            thread.reduce(Sum, sums.slice(0, 1), sums.slice(0, 1)); // turn-passed-by-a-peer: one
            let next = if broken { shmem.next_pe() } else { shmem.my_pe() };
            thread.signal(turn, SignalOp::Set(1), next);
        } else {
            thread.wait_until(turn, Cmp::Eq, 1);
            thread.reduce(Sum, sums.slice(1, 1), sums.slice(1, 1)); // turn-passed-by-a-peer: two
        }
    })
}

fn leader_reduces_for_block(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u32>("sums", 4);
    Box::new(move |shmem| {
        let block = shmem.block();
        if !broken || block.is_leader() {
            block.reduce(Sum, sums, sums); // leader-reduces-for-block: one
        }
        block.sync();
    })
}

fn lanes_with_data_gather(world: &mut World, broken: bool) -> Kernel {
    let (all, part) = (world.data::<u32>("all", 40), world.data::<u32>("part", 20));
    Box::new(move |shmem| {
        let warp = shmem.warp();
        if !broken || warp.rank() < part.len() {
            warp.fcollect(all, part); // lanes-with-data-gather: one
        }
        warp.sync();
    })
}

fn root_by_thread(world: &mut World, broken: bool) -> Kernel {
    let table = world.data::<u32>("table", 4);
    Box::new(move |shmem| {
        let root = if broken { thread::in_block() % 2 } else { 1 };
        shmem.block().broadcast(table, table, root); // root-by-thread: one
    })
}

fn one_block_for_grid(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u64>("sums", 600);
    Box::new(move |shmem| {
        if !broken || thread::block() == 0 {
            shmem.grid().reduce(Sum, sums, sums); // one-block-for-grid: one
        }
    })
}
