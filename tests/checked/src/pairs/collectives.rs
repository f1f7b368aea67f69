//! `barrier_all` and `sync_all`: left out, doubled, in another order, at the wrong place, or by the wrong scope.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("collectives.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "one-round-less",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "one PE goes through the loop that has a barrier once less",
        one_round_less,
    ),
    pair(
        "barrier-for-inner-pes",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 32),
        "a barrier in a branch for PEs that have two neighbours",
        barrier_for_inner_pes,
    ),
    pair(
        "sync-meets-barrier",
        Kind::CollectiveMismatch,
        2,
        WorldGrid::of(1, 32),
        "one PE has put nothing, and takes the cheaper call",
        sync_meets_barrier,
    ),
    pair(
        "calls-in-another-order",
        Kind::CollectiveMismatch,
        3,
        WorldGrid::of(1, 1),
        "two collective calls, in another order on one PE",
        calls_in_another_order,
    ),
    pair(
        "every-block-at-the-barrier",
        Kind::CollectiveOverlap,
        2,
        WorldGrid::of(2, 32),
        "two blocks of a PE are in the barrier at once, each by itself",
        every_block_at_the_barrier,
    ),
    pair(
        "sync-for-puts",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 32),
        "a sync stands where puts must be complete",
        sync_for_puts,
    ),
    pair(
        "barrier-by-one-thread",
        Kind::AcquireWithoutBarrier,
        2,
        WorldGrid::of(1, 40),
        "one thread goes through the barrier of all PEs, and its block reads without joining it",
        barrier_by_one_thread,
    ),
    pair(
        "barrier-by-one-block",
        Kind::DataRace,
        2,
        WorldGrid::of(2, 32),
        "one block goes through the barrier of all PEs, and another one reads",
        barrier_by_one_block,
    ),
    pair(
        "next-round-over-unread",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 32),
        "no barrier between reading a round's data and the puts of the next round",
        next_round_over_unread,
    ),
    pair(
        "barrier-before-the-put",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 32),
        "the barrier stands before the put that it must complete",
        barrier_before_the_put,
    ),
    pair(
        "cleared-after-the-first-put",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 32),
        "a PE clears its buffer at the start, and a peer may have put already",
        cleared_after_the_first_put,
    ),
    pair(
        "signalled-behind-the-barrier-of-all",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "a PE waits before the barrier for what a peer signals after it",
        signalled_behind_the_barrier_of_all,
    ),
];

fn one_round_less(_: &mut World, broken: bool) -> Kernel {
    Box::new(move |shmem| {
        let rounds = if broken && shmem.my_pe() == 1 { 2 } else { 3 };
        for _ in 0..rounds {
            shmem.thread().barrier_all(); // one-round-less: one
        }
    })
}

fn barrier_for_inner_pes(world: &mut World, broken: bool) -> Kernel {
    let (halo, row) = (world.data::<f32>("halo", 6), world.data::<f32>("row", 3));
    Box::new(move |shmem| {
        let (block, me) = (shmem.block(), shmem.my_pe());
        let (first, last) = (me == 0, me + 1 == shmem.n_pes());
        if !last {
            block.put(halo.slice(0, 3), row, me + 1);
        }
        if !first {
            block.put(halo.slice(3, 3), row, me - 1);
        }
        if !broken || !(first || last) {
            block.barrier_all(); // barrier-for-inner-pes: one
        }
    })
}

fn sync_meets_barrier(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 5), world.data::<u32>("row", 5));
    Box::new(move |shmem| {
        let block = shmem.block();
        if shmem.my_pe() == 0 {
            block.put(inbox, row, 1);
        }
        if broken && shmem.my_pe() == 1 {
            block.sync_all(); // sync-meets-barrier: one
        } else {
            block.barrier_all(); // sync-meets-barrier: two
        }
    })
}

fn calls_in_another_order(_: &mut World, broken: bool) -> Kernel {
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if broken && shmem.my_pe() == 2 {
            thread.sync_all(); // calls-in-another-order: one
            thread.barrier_all();
        } else {
            thread.barrier_all(); // calls-in-another-order: two
            thread.sync_all();
        }
    })
}

fn every_block_at_the_barrier(_: &mut World, broken: bool) -> Kernel {
    Box::new(move |shmem| {
        if broken {
            shmem.block().barrier_all(); // every-block-at-the-barrier: one
        } else {
            shmem.grid().barrier_all();
        }
    })
}

fn sync_for_puts(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 32), world.data::<u32>("row", 32));
    let out = world.data::<u32>("out", 32);
    Box::new(move |shmem| {
        let block = shmem.block();
        block.put(inbox, row, shmem.next_pe()); // sync-for-puts: one
        if broken {
            block.sync_all();
        } else {
            block.barrier_all();
        }
        let value = shmem.local(inbox).get(block.rank()); // sync-for-puts: two
        shmem.local(out).set(block.rank(), value + 1);
    })
}

fn barrier_by_one_thread(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 40), world.data::<u32>("row", 40));
    let out = world.data::<u32>("out", 40);
    Box::new(move |shmem| {
        let block = shmem.block();
        block.put(inbox, row, shmem.next_pe()); // barrier-by-one-thread: one
        if !broken {
            block.barrier_all();
        } else if block.is_leader() {
            shmem.thread().barrier_all();
        }
        let value = shmem.local(inbox).get(block.rank()); // barrier-by-one-thread: two
        shmem.local(out).set(block.rank(), value + 1);
    })
}

fn barrier_by_one_block(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 32), world.data::<u32>("row", 32));
    let out = world.data::<u32>("out", 32);
    Box::new(move |shmem| {
        let (block, first) = (shmem.block(), thread::block() == 0);
        if first {
            block.put(inbox, row, shmem.next_pe()); // barrier-by-one-block: one
        }
        if !broken {
            shmem.grid().barrier_all();
        } else if first {
            block.barrier_all();
        }
        if !first {
            let value = shmem.local(inbox).get(block.rank()); // barrier-by-one-block: two
            shmem.local(out).set(block.rank(), value + 1);
        }
    })
}

fn next_round_over_unread(world: &mut World, broken: bool) -> Kernel {
    let (inbox, rows) = (world.data::<u32>("inbox", 32), world.data::<u32>("rows", 64));
    let out = world.data::<u32>("out", 32);
    Box::new(move |shmem| {
        let (block, peer) = (shmem.block(), shmem.next_pe());
        block.put(inbox, rows.slice(0, 32), peer);
        block.barrier_all();
        let value = shmem.local(inbox).get(block.rank()); // next-round-over-unread: one
        shmem.local(out).set(block.rank(), value + 1);
        if !broken {
            block.sync_all();
        }
        block.put(inbox, rows.slice(32, 32), peer); // next-round-over-unread: two
    })
}

fn barrier_before_the_put(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 32), world.data::<u32>("row", 32));
    let out = world.data::<u32>("out", 32);
    Box::new(move |shmem| {
        let block = shmem.block();
        if broken {
            block.barrier_all();
        }
        block.put(inbox, row, shmem.next_pe()); // barrier-before-the-put: one
        if !broken {
            block.barrier_all();
        }
        let value = shmem.local(inbox).get(block.rank()); // barrier-before-the-put: two
        shmem.local(out).set(block.rank(), value + 1);
    })
}

fn cleared_after_the_first_put(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 32), world.data::<u32>("row", 32));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let block = shmem.block();
        if shmem.my_pe() == 1 {
            shmem.local(inbox).set(block.rank(), 0); // cleared-after-the-first-put: one
        }
        if !broken {
            block.sync_all();
        }
        if shmem.my_pe() == 0 {
            block.put_signal(inbox, row, ready, SignalOp::Set(1), 1); // cleared-after-the-first-put: two
        } else {
            block.wait_until(ready, Cmp::Eq, 1);
        }
    })
}

fn signalled_behind_the_barrier_of_all(world: &mut World, broken: bool) -> Kernel {
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        let sends = shmem.my_pe() == 1;
        if sends && !broken {
            thread.signal(ready, SignalOp::Set(1), 0);
        }
        if !sends {
            thread.wait_until(ready, Cmp::Eq, 1); // signalled-behind-the-barrier-of-all: one
        }
        thread.barrier_all();
        if sends && broken {
            thread.signal(ready, SignalOp::Set(1), 0);
        }
    })
}
