//! Completion at the target, taken for granted: by a third PE, by the PE's own get, or after what completes no puts.

use super::{Kernel, Pair, fill, share};
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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("delivery.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "relay-after-fence",
        Kind::SignalOvertakesData,
        3,
        WorldGrid::of(1, 1),
        "data for one PE is announced through another one, after a fence instead of a quiet",
        relay_after_fence,
    ),
    pair(
        "third-pe-gets",
        Kind::SignalOvertakesData,
        3,
        WorldGrid::of(1, 1),
        "a PE is told, after a fence, to get what was put to another PE",
        third_pe_gets,
    ),
    pair(
        "quiet-of-other-pe",
        Kind::SignalOvertakesData,
        3,
        WorldGrid::of(1, 1),
        "the quiet before a weak signal names another PE than the put",
        quiet_of_other_pe,
    ),
    pair(
        "flush-for-delivery",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 1),
        "a flush of a non-blocking put is taken for its delivery",
        flush_for_delivery,
    ),
    pair(
        "get-after-put",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a PE gets what it has put, with nothing between",
        get_after_put,
    ),
    pair(
        "get-after-fence",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 8),
        "a fence is taken to order a block's get behind its put",
        get_after_fence,
    ),
    pair(
        "signal-before-last-put",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "the strong signal is sent before the last chunk is put",
        signal_before_last_put,
    ),
    pair(
        "self-put-nbi",
        Kind::DataRace,
        1,
        WorldGrid::of(1, 4),
        "a non-blocking put to the own PE is read after a block barrier",
        self_put_nbi,
    ),
    pair(
        "answer-beside-the-source",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 32),
        "the answer to a put_signal goes to memory beside its source, of which the put_signal tells nothing",
        answer_beside_the_source,
    ),
    pair(
        "third-pe-answers",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "a PE passes data on by put_signal, which is taken to tell that its first source has been read",
        third_pe_answers,
    ),
];

fn relay_after_fence(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 7));
    let [first, second] = ["first", "second"].map(|name| world.signals(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        match shmem.my_pe() {
            0 => {
                t.put(to, from, 2); // relay-after-fence: one
                if broken {
                    t.fence();
                } else {
                    t.quiet();
                }
                t.signal_weak(first, SignalOp::Set(1), 1);
            }
            1 => {
                t.wait_until(first, Cmp::Ge, 1);
                t.signal(second, SignalOp::Set(1), 2);
            }
            _ => {
                t.wait_until(second, Cmp::Ge, 1);
                let came = shmem.local(to).get(6); // relay-after-fence: two
                shmem.local(from).set(0, came);
            }
        }
    })
}

fn third_pe_gets(world: &mut World, broken: bool) -> Kernel {
    let [from, store, copy] = ["from", "store", "copy"].map(|name| world.data::<u32>(name, 5));
    let stored = world.signals("stored", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        match shmem.my_pe() {
            0 => {
                fill(shmem, from);
                t.put(store, from, 1); // third-pe-gets: one
                if broken {
                    t.fence();
                } else {
                    t.quiet();
                }
                t.signal_weak(stored, SignalOp::Set(1), 2);
            }
            2 => {
                t.wait_until(stored, Cmp::Ge, 1);
                t.get(copy, store, 1); // third-pe-gets: two
            }
            _ => {}
        }
    })
}

fn quiet_of_other_pe(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u64>(name, 5));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.put_signal(to, from, ready, SignalOp::Set(1), 1);
            t.put_nbi(to, from, 2); // quiet-of-other-pe: one
            t.pe_quiet(if broken { 1 } else { 2 });
            t.signal_weak(ready, SignalOp::Set(1), 2);
        } else {
            t.wait_until(ready, Cmp::Ge, 1);
            let came = shmem.local(to).get(0); // quiet-of-other-pe: two
            shmem.local(from).set(0, came);
        }
    })
}

fn flush_for_delivery(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 21));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            fill(shmem, from);
            t.put_nbi(to, from, 1); // flush-for-delivery: one
            if broken {
                t.flush();
            } else {
                t.quiet();
            }
            t.signal_weak(ready, SignalOp::Set(1), 1);
        } else {
            t.wait_until(ready, Cmp::Ge, 1);
            let came = shmem.local(to).get(20); // flush-for-delivery: two
            shmem.local(from).set(0, came);
        }
    })
}

fn get_after_put(world: &mut World, broken: bool) -> Kernel {
    let word = world.data::<u64>("word", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.p(word, 9, 1); // get-after-put: one
            if !broken {
                t.quiet();
            }
            let back = t.g(word, 1); // get-after-put: two
            shmem.local(word).set(0, back);
        }
    })
}

fn get_after_fence(world: &mut World, broken: bool) -> Kernel {
    let [from, to, back] = ["from", "to", "back"].map(|name| world.data::<u32>(name, 19));
    Box::new(move |shmem: Collective| {
        let (block, next) = (shmem.block(), shmem.next_pe());
        fill(shmem, from);
        block.put(to, from, next); // get-after-fence: one
        if broken {
            block.fence();
        } else {
            block.quiet();
        }
        block.get(back, to, next); // get-after-fence: two
    })
}

fn signal_before_last_put(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 12));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            let last = if broken { 1 } else { 2 };
            for k in 0..3 {
                t.put(to.slice(4 * k, 4), from.slice(4 * k, 4), 1); // signal-before-last-put: one
                if k == last {
                    t.signal(ready, SignalOp::Set(1), 1);
                }
            }
        } else {
            t.wait_until(ready, Cmp::Ge, 1);
            for i in 0..12 {
                shmem.local(from).set(i, shmem.local(to).get(i)); // signal-before-last-put: two
            }
        }
    })
}

fn self_put_nbi(world: &mut World, broken: bool) -> Kernel {
    let [from, to, seen] = ["from", "to", "seen"].map(|name| world.data::<u32>(name, 10));
    Box::new(move |shmem: Collective| {
        let block = shmem.block();
        fill(shmem, from);
        block.put_nbi(to, from, 0); // self-put-nbi: one
        if broken {
            block.sync();
        } else {
            block.quiet();
        }
        for i in share(shmem, 10) {
            shmem.local(seen).set(i, shmem.local(to).get(9 - i)); // self-put-nbi: two
        }
    })
}

fn answer_beside_the_source(world: &mut World, broken: bool) -> Kernel {
    let rows = world.data::<u32>("rows", 80);
    let (inbox, ready) = (world.data::<u32>("inbox", 40), world.signals("ready", 1).at(0));
    Box::new(move |shmem: Collective| {
        let block = shmem.block();
        if shmem.my_pe() == 0 {
            for i in share(shmem, 80) {
                shmem.local(rows).set(i, 7 * i as u32); // answer-beside-the-source: two
            }
            block.put_signal(inbox, rows.slice(0, 40), ready, SignalOp::Set(1), 1);
        } else {
            block.wait_until(ready, Cmp::Ge, 1);
            let into = if broken { rows.slice(40, 40) } else { rows.slice(0, 40) };
            block.put(into, inbox, 0); // answer-beside-the-source: one
        }
    })
}

fn third_pe_answers(world: &mut World, broken: bool) -> Kernel {
    let [row, inbox] = ["row", "inbox"].map(|name| world.data::<u64>(name, 9));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        match shmem.my_pe() {
            0 => t.put_signal(inbox, row, ready, SignalOp::Set(1), 1), // third-pe-answers: two
            1 => {
                t.wait_until(ready, Cmp::Ge, 1);
                if broken {
                    t.put_signal(inbox, inbox, ready, SignalOp::Set(1), 2);
                } else {
                    t.put(inbox, inbox, 2);
                    t.signal(ready, SignalOp::Set(1), 2);
                }
            }
            _ => {
                t.wait_until(ready, Cmp::Ge, 1);
                t.put(row, inbox, 0); // third-pe-answers: one
            }
        }
    })
}
