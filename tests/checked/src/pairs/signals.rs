//! Signals that say something else than they are taken for: words reused, counted wrongly, or sent at the wrong time.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("signals.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "counter-without-phase",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "two rounds count on one word, so that one sender's second round passes for the other's first",
        counter_without_phase,
    ),
    pair(
        "epoch-not-growing",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "the second round sets the flag to the value of the first",
        epoch_not_growing,
    ),
    pair(
        "reset-after-ack",
        Kind::ConcurrentSets,
        2,
        WorldGrid::of(1, 1),
        "the receiver clears its flag after it has let the sender set it again",
        reset_after_ack,
    ),
    pair(
        "two-setters",
        Kind::ConcurrentSets,
        3,
        WorldGrid::of(1, 1),
        "two senders' put_signals set one word",
        two_setters,
    ),
    pair(
        "set-and-add",
        Kind::SetAndAdd,
        3,
        WorldGrid::of(1, 1),
        "a coordinator sets a count while a worker adds to it",
        set_and_add,
    ),
    pair(
        "fewer-than-senders",
        Kind::DataRace,
        4,
        WorldGrid::of(1, 1),
        "an exchange waits for one sender fewer than there are",
        fewer_than_senders,
    ),
    pair(
        "ack-before-read",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a strong credit is sent before the slot is read",
        ack_before_read,
    ),
    pair(
        "get-weak-ack",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a blocking get is acknowledged by a weak signal, and its source is overwritten",
        get_weak_ack,
    ),
    pair(
        "wrong-neighbour",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "data goes to the next PE and its signal to the one before",
        wrong_neighbour,
    ),
    pair(
        "forward-before-arrival",
        Kind::DataRace,
        4,
        WorldGrid::of(1, 1),
        "an inner PE of a broadcast tree forwards before its own copy has arrived",
        forward_before_arrival,
    ),
    pair(
        "set-as-count",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "chunks that each set the signal to 1 are waited for as if they added",
        set_as_count,
    ),
];

fn counter_without_phase(world: &mut World, broken: bool) -> Kernel {
    let [from, to, seen] = ["from", "to", "seen"].map(|name| world.data::<u32>(name, 4));
    let arrived = world.signals("arrived", 2);
    Box::new(move |shmem: Collective| {
        let (t, me) = (shmem.thread(), u64::from(shmem.my_pe()));
        let counter = |round: u64| arrived.at(if broken { 0 } else { round });
        for round in 0..2 {
            if me == 1 {
                t.wait_until(counter(round), Cmp::Ge, if broken { 2 * (round + 1) } else { 2 });
                for i in 2 * round..2 * round + 2 {
                    shmem.local(seen).set(i, shmem.local(to).get(i)); // counter-without-phase: two
                }
            } else {
                let slot = to.slice(2 * round + me / 2, 1);
                let add = SignalOp::Add(1);
                t.put_signal(slot, from.slice(0, 1), counter(round), add, 1); // counter-without-phase: one
            }
        }
    })
}

fn epoch_not_growing(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 3));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 1..=3 {
            let epoch = if broken { 1 } else { k };
            let slot = to.slice(k - 1, 1);
            if shmem.my_pe() == 0 {
                t.put_signal(slot, from.slice(0, 1), ready, SignalOp::Set(epoch), 1); // epoch-not-growing: one
                t.fence();
            } else {
                t.wait_until(ready, Cmp::Ge, epoch);
                let came = shmem.local(slot).get(0); // epoch-not-growing: two
                shmem.local(from).set(k - 1, came);
            }
        }
    })
}

fn reset_after_ack(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 3));
    let [full, empty] = ["full", "empty"].map(|name| world.signals(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        let clear = || {
            t.signal(full, SignalOp::Set(0), 1); // reset-after-ack: two
            t.quiet();
        };
        for k in 1..=2 {
            if shmem.my_pe() == 0 {
                t.put_signal(to, from, full, SignalOp::Set(1), 1); // reset-after-ack: one
                t.wait_until(empty, Cmp::Ge, k);
            } else {
                t.wait_until(full, Cmp::Eq, 1);
                shmem.local(from).set(k, shmem.local(to).get(0));
                if !broken {
                    clear();
                }
                t.signal(empty, SignalOp::Set(k), 0);
                if broken {
                    clear();
                }
            }
        }
    })
}

fn two_setters(world: &mut World, broken: bool) -> Kernel {
    let (from, to) = (world.data::<u32>("from", 4), world.data::<u32>("to", 12));
    let arrived = world.signals("arrived", 3);
    Box::new(move |shmem: Collective| {
        let (t, me) = (shmem.thread(), u64::from(shmem.my_pe()));
        let word = |sender: u64| arrived.at(if broken { 0 } else { sender });
        if me == 1 {
            t.wait_until(word(0), Cmp::Ge, 1);
            t.wait_until(word(2), Cmp::Ge, 1);
            shmem.local(from).set(0, shmem.local(to).get(0) + shmem.local(to).get(8));
        } else {
            t.put_signal(to.slice(4 * me, 4), from, word(me), SignalOp::Set(1), 1); // two-setters: one
        }
    })
}

fn set_and_add(world: &mut World, broken: bool) -> Kernel {
    let count = world.signals("count", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        match shmem.my_pe() {
            0 => {
                let base = if broken { SignalOp::Set(2) } else { SignalOp::Add(2) };
                t.signal(count, base, 1); // set-and-add: one
            }
            1 => t.wait_until(count, Cmp::Ge, 3),
            _ => t.signal(count, SignalOp::Add(1), 1), // set-and-add: two
        }
    })
}

fn fewer_than_senders(world: &mut World, broken: bool) -> Kernel {
    let [send, receive, seen] = ["send", "receive", "seen"].map(|name| world.data::<u32>(name, 4 * 3));
    let arrived = world.signals("arrived", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (t, me, n) = (shmem.thread(), shmem.my_pe(), shmem.n_pes());
        for pe in (0..n).filter(|&pe| pe != me) {
            let (slot, rows) = (receive.slice(3 * u64::from(me), 3), send.slice(3 * u64::from(pe), 3));
            t.put_signal(slot, rows, arrived, SignalOp::Add(1), pe); // fewer-than-senders: one
        }
        t.wait_reached(arrived, u64::from(n) - if broken { 2 } else { 1 });
        for i in 0..12 {
            shmem.local(seen).set(i, shmem.local(receive).get(i)); // fewer-than-senders: two
        }
    })
}

fn ack_before_read(world: &mut World, broken: bool) -> Kernel {
    let [from, slot] = ["from", "slot"].map(|name| world.data::<u32>(name, 5));
    let [full, credit] = ["full", "credit"].map(|name| world.signals(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 1..=3 {
            if shmem.my_pe() == 0 {
                t.wait_reached(credit, k - 1);
                t.put_signal(slot, from, full, SignalOp::Set(k), 1); // ack-before-read: two
            } else {
                t.wait_reached(full, k);
                if broken {
                    t.signal(credit, SignalOp::Set(k), 0);
                }
                let came = shmem.local(slot).get(4); // ack-before-read: one
                if !broken {
                    t.signal(credit, SignalOp::Set(k), 0);
                }
                shmem.local(from).set(k, came);
            }
        }
    })
}

fn get_weak_ack(world: &mut World, broken: bool) -> Kernel {
    let [remote, copy] = ["remote", "copy"].map(|name| world.data::<u32>(name, 4));
    let taken = world.signals("taken", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.get(copy, remote, 1); // get-weak-ack: one
            if broken {
                t.signal_weak(taken, SignalOp::Set(1), 1);
            } else {
                t.signal(taken, SignalOp::Set(1), 1);
            }
        } else {
            t.wait_until(taken, Cmp::Ge, 1);
            shmem.local(remote).set(3, 6); // get-weak-ack: two
        }
    })
}

fn wrong_neighbour(world: &mut World, broken: bool) -> Kernel {
    let [from, to, seen] = ["from", "to", "seen"].map(|name| world.data::<u32>(name, 7));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        t.put(to, from, shmem.next_pe()); // wrong-neighbour: one
        t.signal(ready, SignalOp::Set(1), if broken { shmem.prev_pe() } else { shmem.next_pe() });
        t.wait_until(ready, Cmp::Ge, 1);
        for i in 0..7 {
            shmem.local(seen).set(i, shmem.local(to).get(i)); // wrong-neighbour: two
        }
    })
}

fn forward_before_arrival(world: &mut World, broken: bool) -> Kernel {
    let [root, copy] = ["root", "copy"].map(|name| world.data::<f32>(name, 9));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        let arrives = || t.wait_until(ready, Cmp::Ge, 1);
        match shmem.my_pe() {
            0 => {
                for child in [1, 2] {
                    t.put_signal(copy, root, ready, SignalOp::Set(1), child); // forward-before-arrival: one
                }
            }
            1 => {
                if !broken {
                    arrives();
                }
                t.put_signal(copy, copy, ready, SignalOp::Set(1), 3); // forward-before-arrival: two
                if broken {
                    arrives();
                }
            }
            _ => {
                arrives();
                shmem.local(root).set(0, shmem.local(copy).get(8));
            }
        }
    })
}

fn set_as_count(world: &mut World, broken: bool) -> Kernel {
    let (from, to) = (world.data::<u32>("from", 5), world.data::<u32>("to", 15));
    let arrived = world.signals("arrived", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            let one = if broken { SignalOp::Set(1) } else { SignalOp::Add(1) };
            for k in 0..3 {
                t.put_signal(to.slice(5 * k, 5), from, arrived, one, 1);
            }
        } else {
            t.wait_until(arrived, Cmp::Ge, 3); // set-as-count: one
            shmem.local(from).set(0, shmem.local(to).get(14));
        }
    })
}
