//! What comes and is lost: a value that is passed over, an addition that a reset takes away, a lock that is kept, a loop that
//! looks for ever.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("lost.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "equality-misses-a-round",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "a wait for equality, and the next round's value comes before it has looked",
        equality_misses_a_round,
    ),
    pair(
        "cleared-by-the-sender",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "the sender clears a signal before the receiver has told that it saw it",
        cleared_by_the_sender,
    ),
    pair(
        "reset-loses-an-addition",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "a counter is reset to zero between rounds, which takes an addition of the next round with it",
        reset_loses_an_addition,
    ),
    pair(
        "same-word-taken-twice",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 1),
        "a wait for any word does not leave out those it has returned, and one sender gets no answer",
        same_word_taken_twice,
    ),
    pair(
        "lock-kept",
        Kind::Deadlock,
        1,
        WorldGrid::of(3, 1),
        "one path through a critical section does not pass its ticket lock on",
        lock_kept,
    ),
    pair(
        "tested-for-a-value-passed-over",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 1),
        "a loop of tests for a value between those that the word takes",
        tested_for_a_value_passed_over,
    ),
    pair(
        "looked-at-by-plain-loads",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a loop of plain loads looks for what a peer stores",
        looked_at_by_plain_loads,
    ),
];

fn equality_misses_a_round(world: &mut World, broken: bool) -> Kernel {
    let round = world.signals("round", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        let cmp = if broken { Cmp::Eq } else { Cmp::Ge };
        if shmem.my_pe() == 0 {
            thread.signal(round, SignalOp::Set(1), 1);
            thread.signal(round, SignalOp::Set(2), 1);
        } else {
            thread.wait_until(round, cmp, 1); // equality-misses-a-round: one
            thread.wait_until(round, cmp, 2);
        }
    })
}

fn cleared_by_the_sender(world: &mut World, broken: bool) -> Kernel {
    let (ready, seen) = (world.signals("ready", 1).at(0), world.signals("seen", 1).at(0));
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if shmem.my_pe() == 0 {
            thread.signal(ready, SignalOp::Set(1), 1);
            if !broken {
                thread.wait_until(seen, Cmp::Eq, 1);
            }
            thread.signal(ready, SignalOp::Set(0), 1);
        } else {
            thread.wait_until(ready, Cmp::Ne, 0); // cleared-by-the-sender: one
            thread.signal(seen, SignalOp::Set(1), 0);
        }
    })
}

fn reset_loses_an_addition(world: &mut World, broken: bool) -> Kernel {
    let arrived = world.atomics::<u64>("arrived", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if shmem.my_pe() == 0 {
            thread.release().atomic_add(arrived, 1, 1);
            thread.release().atomic_add(arrived, 1, 1);
        } else {
            thread.wait_until(arrived, Cmp::Ge, 1);
            if broken {
                thread.atomic_swap(arrived, 0, 1);
            } else {
                thread.atomic_fetch_add(arrived, u64::MAX, 1);
            }
            thread.wait_until(arrived, Cmp::Ge, 1); // reset-loses-an-addition: one
        }
    })
}

fn same_word_taken_twice(world: &mut World, broken: bool) -> Kernel {
    let (asked, answered) = (world.signals("asked", 2), world.signals("answered", 1).at(0));
    Box::new(move |shmem| {
        let (thread, me) = (shmem.thread(), shmem.my_pe());
        if me == 0 {
            let mut taken = [0u32; 2];
            for _ in 0..2 {
                if let Some(index) = thread.wait_until_any(asked, &taken, Cmp::Eq, 1, None) {
                    taken[index as usize] = u32::from(!broken);
                    thread.signal(answered, SignalOp::Set(1), 1 + index as u32);
                }
            }
        } else {
            thread.signal(asked.at((me - 1).into()), SignalOp::Set(1), 0);
            thread.wait_until(answered, Cmp::Eq, 1); // same-word-taken-twice: one
        }
    })
}

fn lock_kept(world: &mut World, broken: bool) -> Kernel {
    let (tickets, serving) =
        (world.atomics::<u32>("tickets", 1).at(0), world.atomics::<u32>("serving", 1).at(0));
    let total = world.local::<u32>("total", 1)[0];
    Box::new(move |shmem| {
        let thread = shmem.thread();
        let ticket = thread.atomic_fetch_add(tickets, 1, 0);
        thread.wait_until(serving, Cmp::Eq, ticket); // lock-kept: one
        let before = shmem.local(total).get(0);
        shmem.local(total).set(0, before + 1);
        if !broken || before != 1 {
            thread.release().atomic_add(serving, 1, 0);
        }
    })
}

fn tested_for_a_value_passed_over(world: &mut World, broken: bool) -> Kernel {
    let bytes = world.signals("bytes", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        let cmp = if broken { Cmp::Eq } else { Cmp::Ge };
        if shmem.my_pe() == 0 {
            while !thread.test(bytes, cmp, 3) {} // tested-for-a-value-passed-over: one
        } else {
            thread.signal(bytes, SignalOp::Add(2), 0);
        }
    })
}

/// The loop has an end, so that a run does, whatever the loads see.
fn looked_at_by_plain_loads(world: &mut World, broken: bool) -> Kernel {
    let (cell, out) = (world.data::<u32>("cell", 1), world.data::<u32>("out", 1));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if shmem.my_pe() == 0 {
            thread.p(cell.at(0), 7, 1); // looked-at-by-plain-loads: one
            thread.signal(ready, SignalOp::Set(1), 1);
        } else {
            if !broken {
                thread.wait_until(ready, Cmp::Eq, 1);
            }
            for _ in 0..100 {
                let value = shmem.local(cell).get(0); // looked-at-by-plain-loads: two
                if value != 0 {
                    shmem.local(out).set(0, value);
                    break;
                }
            }
        }
    })
}
