//! Operations of a whole scope that a part of it calls, or that its threads call with different arguments.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("joins.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "half-a-block-puts",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 64),
        "a put of the block in a branch that half of it takes; the others are at the barrier behind it",
        half_a_block_puts,
    ),
    pair(
        "returned-before-barrier",
        Kind::BarrierLeft,
        1,
        WorldGrid::of(1, 48),
        "threads without an element have returned when the others come to the block's barrier",
        returned_before_barrier,
    ),
    pair(
        "returned-before-put",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 48),
        "threads without an element have returned when the others put at block scope",
        returned_before_put,
    ),
    pair(
        "put-meets-get",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 64),
        "warps of different duties use block scope: one puts while the other gets",
        put_meets_get,
    ),
    pair(
        "leader-fences-for-block",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 32),
        "the leader alone calls a fence of the block, which the others meet at a barrier",
        leader_fences_for_block,
    ),
    pair(
        "loop-counts-differ",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 32),
        "a put of the block in a loop that some threads leave after one round",
        loop_counts_differ,
    ),
    pair(
        "half-a-warp-gets",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 32),
        "a get of the warp in a branch that half of its lanes take",
        half_a_warp_gets,
    ),
    pair(
        "one-warp-of-a-group",
        Kind::PartialScope,
        2,
        WorldGrid::of(1, 64),
        "an operation of a group of two warps that one of them calls",
        one_warp_of_a_group,
    ),
    pair(
        "own-slices-at-block-scope",
        Kind::DifferentArguments,
        2,
        WorldGrid::of(1, 16),
        "each thread names its own slice in a put of the block",
        own_slices_at_block_scope,
    ),
    pair(
        "own-peer-at-block-scope",
        Kind::DifferentArguments,
        3,
        WorldGrid::of(1, 64),
        "each warp names its own PE in a put of the block",
        own_peer_at_block_scope,
    ),
    pair(
        "own-length-at-warp-scope",
        Kind::DifferentArguments,
        2,
        WorldGrid::of(1, 32),
        "each lane has its own element count in a put of the warp",
        own_length_at_warp_scope,
    ),
    pair(
        "own-goal-at-block-scope",
        Kind::DifferentArguments,
        2,
        WorldGrid::of(1, 32),
        "each thread has its own value in a wait of the block",
        own_goal_at_block_scope,
    ),
    pair(
        "own-count-signalled-at-block-scope",
        Kind::DifferentArguments,
        2,
        WorldGrid::of(1, 64),
        "each warp adds its own count in a signal of the block, of which the leader sends one",
        own_count_signalled_at_block_scope,
    ),
];

fn half_a_block_puts(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 9), world.data::<u32>("row", 9));
    Box::new(move |shmem| {
        let block = shmem.block();
        if !broken || thread::in_block() < 32 {
            block.put(inbox, row, shmem.next_pe()); // half-a-block-puts: one
        }
        block.sync();
    })
}

fn returned_before_barrier(world: &mut World, broken: bool) -> Kernel {
    let (row, out) = (world.local::<u32>("row", 40)[0], world.local::<u32>("out", 40)[0]);
    Box::new(move |shmem| {
        let (block, here) = (shmem.block(), shmem.block().rank() < 40);
        if here {
            shmem.local(row).set(block.rank(), 1);
        } else if broken {
            return;
        }
        block.sync(); // returned-before-barrier: one
        if here {
            let mirrored = shmem.local(row).get(39 - block.rank());
            shmem.local(out).set(block.rank(), mirrored);
        }
    })
}

fn returned_before_put(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 40), world.data::<u32>("row", 40));
    Box::new(move |shmem| {
        let block = shmem.block();
        if block.rank() < 40 {
            shmem.local(row).set(block.rank(), 1);
        } else if broken {
            return;
        }
        block.put(inbox, row, shmem.next_pe()); // returned-before-put: one
    })
}

fn put_meets_get(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 8), world.data::<u32>("row", 8));
    let (given, fetched) = (world.data::<u32>("given", 8), world.data::<u32>("fetched", 8));
    Box::new(move |shmem| {
        let (block, warp, peer) = (shmem.block(), shmem.warp(), shmem.next_pe());
        let sends = thread::in_block() < 32;
        if broken {
            if sends {
                block.put(inbox, row, peer); // put-meets-get: one
            } else {
                block.get(fetched, given, peer); // put-meets-get: two
            }
        } else if sends {
            warp.put(inbox, row, peer);
        } else {
            warp.get(fetched, given, peer);
        }
    })
}

fn leader_fences_for_block(world: &mut World, broken: bool) -> Kernel {
    let inbox = world.data::<u32>("inbox", 32);
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let (block, thread) = (shmem.block(), shmem.thread());
        thread.p(inbox.at(block.rank()), 3, shmem.next_pe());
        if broken && !block.is_leader() {
            block.sync();
        } else {
            block.fence(); // leader-fences-for-block: one
        }
        if block.is_leader() {
            thread.signal_weak(ready, SignalOp::Set(1), shmem.next_pe());
        }
    })
}

fn loop_counts_differ(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 10), world.data::<u32>("row", 10));
    Box::new(move |shmem| {
        let block = shmem.block();
        let chunks = if broken { 1 + block.rank() % 2 } else { 2 };
        for chunk in 0..chunks {
            let (to, from) = (inbox.slice(5 * chunk, 5), row.slice(5 * chunk, 5));
            block.put(to, from, shmem.next_pe()); // loop-counts-differ: one
        }
        block.sync();
    })
}

fn half_a_warp_gets(world: &mut World, broken: bool) -> Kernel {
    let (given, fetched) = (world.data::<u32>("given", 6), world.data::<u32>("fetched", 6));
    Box::new(move |shmem| {
        let warp = shmem.warp();
        if !broken || warp::lane() < 16 {
            warp.get(fetched, given, shmem.next_pe()); // half-a-warp-gets: one
        }
        warp.sync();
    })
}

fn one_warp_of_a_group(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 7), world.data::<u32>("row", 7));
    Box::new(move |shmem| {
        let group = shmem.warps(2);
        if !broken || thread::in_block() < 32 {
            group.put(inbox, row, shmem.next_pe()); // one-warp-of-a-group: one
        }
        shmem.block().sync();
    })
}

fn own_slices_at_block_scope(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 48), world.data::<u32>("row", 48));
    Box::new(move |shmem| {
        let first = 3 * shmem.block().rank();
        let (to, from) = (inbox.slice(first, 3), row.slice(first, 3));
        if broken {
            shmem.block().put(to, from, shmem.next_pe()); // own-slices-at-block-scope: one
        } else {
            shmem.thread().put(to, from, shmem.next_pe());
        }
    })
}

fn own_peer_at_block_scope(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 12), world.data::<u32>("row", 4));
    Box::new(move |shmem| {
        let pe = (shmem.my_pe() + 1 + thread::in_block() / 32) % shmem.n_pes();
        let slot = inbox.slice(4 * u64::from(shmem.my_pe()), 4);
        if broken {
            shmem.block().put(slot, row, pe); // own-peer-at-block-scope: one
        } else {
            shmem.warp().put(slot, row, pe);
        }
    })
}

fn own_length_at_warp_scope(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 8), world.data::<u32>("row", 8));
    Box::new(move |shmem| {
        let own = 5 + u64::from(warp::lane() % 3);
        let count = if broken { own } else { warp::shuffle(own, 0) };
        let (to, from) = (inbox.slice(0, count), row.slice(0, count));
        shmem.warp().put(to, from, shmem.next_pe()); // own-length-at-warp-scope: one
    })
}

fn own_goal_at_block_scope(world: &mut World, broken: bool) -> Kernel {
    let arrived = world.signals("arrived", 1).at(0);
    Box::new(move |shmem| {
        let goal = 1 + shmem.block().rank();
        if shmem.my_pe() == 0 {
            shmem.block().signal(arrived, SignalOp::Set(32), 1);
        } else if broken {
            shmem.block().wait_until(arrived, Cmp::Ge, goal); // own-goal-at-block-scope: one
        } else {
            shmem.thread().wait_until(arrived, Cmp::Ge, goal);
        }
    })
}

fn own_count_signalled_at_block_scope(world: &mut World, broken: bool) -> Kernel {
    let arrived = world.signals("arrived", 1).at(0);
    Box::new(move |shmem| {
        let count = SignalOp::Add(1 + u64::from(thread::in_block() / 32));
        if shmem.my_pe() == 0 {
            if broken {
                shmem.block().signal(arrived, count, 1); // own-count-signalled-at-block-scope: one
            } else {
                shmem.warp().signal(arrived, count, 1);
            }
        } else {
            shmem.block().wait_until(arrived, Cmp::Ge, 3);
        }
    })
}
