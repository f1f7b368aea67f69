//! Waits that nobody ends: a signal that is not sent, goes elsewhere, or is waited for too early.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("waits.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "nothing-to-send-nothing-signalled",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 32),
        "a PE that has no rows to send does not signal either, and is counted all the same",
        nothing_to_send_nothing_signalled,
    ),
    pair(
        "passed-on-backwards",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 1),
        "a stage of a pipeline signals the PE before it",
        passed_on_backwards,
    ),
    pair(
        "root-counts-itself",
        Kind::Deadlock,
        4,
        WorldGrid::of(1, 32),
        "the root expects one addition too many: its own",
        root_counts_itself,
    ),
    pair(
        "greater-for-at-least",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "the comparison leaves out the value that is sent",
        greater_for_at_least,
    ),
    pair(
        "both-wait-first",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 32),
        "two PEs wait for each other's signal before they send their own",
        both_wait_first,
    ),
    pair(
        "nobody-holds-the-token",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 1),
        "in a ring of three every PE passes a token on, and none begins",
        nobody_holds_the_token,
    ),
    pair(
        "own-index-for-the-peers",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 32),
        "signals stand by sender, and the receiver waits at its own number",
        own_index_for_the_peers,
    ),
    pair(
        "left-the-loop-alone",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 32),
        "one PE leaves an iteration early, by what only it knows, while its neighbour goes on",
        left_the_loop_alone,
    ),
    pair(
        "own-word-never-set",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 1),
        "of the words that are all waited for, nobody sets the waiter's own",
        own_word_never_set,
    ),
    pair(
        "packet-of-another-round",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "the receiver of a packet counts its rounds from two",
        packet_of_another_round,
    ),
    pair(
        "signalled-behind-the-barrier",
        Kind::Deadlock,
        1,
        WorldGrid::of(1, 64),
        "a thread waits before the block's barrier for what another one signals after it",
        signalled_behind_the_barrier,
    ),
];

fn nothing_to_send_nothing_signalled(world: &mut World, broken: bool) -> Kernel {
    let (inbox, rows) = (world.data::<u32>("inbox", 10), world.data::<u32>("rows", 5));
    let (out, arrived) = (world.data::<u32>("out", 10), world.signals("arrived", 1).at(0));
    Box::new(move |shmem| {
        let (block, me) = (shmem.block(), shmem.my_pe());
        if me == 0 {
            block.wait_until(arrived, Cmp::Ge, 2); // nothing-to-send-nothing-signalled: one
            if block.rank() < 10 {
                let value = shmem.local(inbox).get(block.rank());
                shmem.local(out).set(block.rank(), value + 1);
            }
        } else {
            let count = if me == 1 { 5 } else { 0 };
            if !broken || count > 0 {
                let slot = inbox.slice(5 * u64::from(me - 1), count);
                block.put_signal(slot, rows.slice(0, count), arrived, SignalOp::Add(1), 0);
            }
        }
    })
}

fn passed_on_backwards(world: &mut World, broken: bool) -> Kernel {
    let filled = world.signals("filled", 1).at(0);
    Box::new(move |shmem| {
        let (thread, me) = (shmem.thread(), shmem.my_pe());
        if me > 0 {
            thread.wait_until(filled, Cmp::Ge, 1); // passed-on-backwards: one
        }
        if me < 2 {
            let to = if broken && me == 1 { shmem.prev_pe() } else { shmem.next_pe() };
            thread.signal(filled, SignalOp::Set(1), to);
        }
    })
}

fn root_counts_itself(world: &mut World, broken: bool) -> Kernel {
    let arrived = world.signals("arrived", 1).at(0);
    Box::new(move |shmem| {
        let (block, n) = (shmem.block(), u64::from(shmem.n_pes()));
        if shmem.my_pe() == 0 {
            let others = if broken { n } else { n - 1 };
            block.wait_until(arrived, Cmp::Ge, others); // root-counts-itself: one
        } else {
            block.signal(arrived, SignalOp::Add(1), 0);
        }
    })
}

fn greater_for_at_least(world: &mut World, broken: bool) -> Kernel {
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let cmp = if broken { Cmp::Gt } else { Cmp::Ge };
        if shmem.my_pe() == 0 {
            shmem.thread().signal(ready, SignalOp::Set(3), 1);
        } else {
            shmem.thread().wait_until(ready, cmp, 3); // greater-for-at-least: one
        }
    })
}

fn both_wait_first(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 5), world.data::<u32>("row", 5));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let block = shmem.block();
        if broken {
            block.wait_until(ready, Cmp::Ge, 1); // both-wait-first: one
        }
        block.put_signal(inbox, row, ready, SignalOp::Set(1), shmem.next_pe());
        if !broken {
            block.wait_until(ready, Cmp::Ge, 1);
        }
    })
}

fn nobody_holds_the_token(world: &mut World, broken: bool) -> Kernel {
    let token = world.signals("token", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        let holds = !broken && shmem.my_pe() == 0;
        if !holds {
            thread.wait_until(token, Cmp::Eq, 1); // nobody-holds-the-token: one
        }
        thread.signal(token, SignalOp::Set(1), shmem.next_pe());
        if holds {
            thread.wait_until(token, Cmp::Eq, 1);
        }
    })
}

fn own_index_for_the_peers(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 5), world.data::<u32>("row", 5));
    let from = world.signals("from", 2);
    Box::new(move |shmem| {
        let (block, me, peer) = (shmem.block(), shmem.my_pe(), shmem.next_pe());
        block.put_signal(inbox, row, from.at(me.into()), SignalOp::Set(1), peer);
        let sender = if broken { me } else { peer };
        block.wait_until(from.at(sender.into()), Cmp::Eq, 1); // own-index-for-the-peers: one
    })
}

fn left_the_loop_alone(world: &mut World, broken: bool) -> Kernel {
    let step = world.signals("step", 1).at(0);
    Box::new(move |shmem| {
        let block = shmem.block();
        let steps = if broken && shmem.my_pe() == 0 { 2 } else { 3 };
        for now in 1..=steps {
            block.signal(step, SignalOp::Set(now), shmem.next_pe());
            block.wait_reached(step, now); // left-the-loop-alone: one
        }
    })
}

fn own_word_never_set(world: &mut World, broken: bool) -> Kernel {
    let here = world.signals("here", 3);
    Box::new(move |shmem| {
        let (thread, me) = (shmem.thread(), shmem.my_pe());
        for pe in 0..shmem.n_pes() {
            if !broken || pe != me {
                thread.signal(here.at(me.into()), SignalOp::Set(1), pe);
            }
        }
        thread.wait_until_all(here, Every, Cmp::Eq, 1); // own-word-never-set: one
    })
}

fn packet_of_another_round(world: &mut World, broken: bool) -> Kernel {
    let (packets, out) = (world.packets::<f32>("packets", 1), world.data::<f32>("out", 1));
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if shmem.my_pe() == 0 {
            thread.p_packet(packets.at(0), 1.5, 1, 1);
        } else {
            let round = if broken { 2 } else { 1 };
            let value = thread.wait_packet(packets.at(0), round); // packet-of-another-round: one
            shmem.local(out).set(0, value);
        }
    })
}

fn signalled_behind_the_barrier(world: &mut World, broken: bool) -> Kernel {
    let filled = world.signals("filled", 1).at(0);
    Box::new(move |shmem| {
        let (block, thread) = (shmem.block(), shmem.thread());
        let fills = block.rank() == 32;
        if fills && !broken {
            thread.signal(filled, SignalOp::Set(1), 0);
        }
        if block.is_leader() {
            thread.wait_until(filled, Cmp::Ge, 1); // signalled-behind-the-barrier: one
        }
        block.sync();
        if fills && broken {
            thread.signal(filled, SignalOp::Set(1), 0);
        }
    })
}
