//! Data, and a signal that is meant to say that it is there: what orders the two is missing, misplaced, or of another
//! thread or PE.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("ordering.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "ring-weak-signal",
        Kind::SignalOvertakesData,
        3,
        WorldGrid::of(1, 33),
        "a block's put, then a weak signal with no fence",
        ring_weak_signal,
    ),
    pair(
        "halo-fence-of-other-pe",
        Kind::SignalOvertakesData,
        3,
        WorldGrid::of(1, 1),
        "the fence before a weak signal names the other neighbour",
        halo_fence_of_other_pe,
    ),
    pair(
        "fence-before-put",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 1),
        "the fence of each round comes before its put instead of after it",
        fence_before_put,
    ),
    pair(
        "fence-by-other-thread",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 2),
        "one thread fences, and after the block's barrier another one sends the weak signal",
        fence_by_other_thread,
    ),
    pair(
        "body-behind-header",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 32),
        "a put_signal of the header is taken to cover the body, put before it",
        body_behind_header,
    ),
    pair(
        "column-weak-signal",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 1),
        "a strided put, then a weak signal with no fence",
        column_weak_signal,
    ),
    pair(
        "lanes-weak-signal",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 32),
        "each lane puts an element, and the warp is joined but not fenced before its weak signal",
        lanes_weak_signal,
    ),
    pair(
        "ptr-stores-weak-signal",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 8),
        "stores through a peer's pointer, joined by a barrier, then a weak signal",
        ptr_stores_weak_signal,
    ),
    pair(
        "set-taken-for-both",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 1),
        "two put_signals set one word, and the second's value is taken to cover the first's data",
        set_taken_for_both,
    ),
    pair(
        "pull-weak-signal",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 1),
        "the owner stores to its own memory and tells a peer, which gets it, by a weak signal",
        pull_weak_signal,
    ),
    pair(
        "put-over-put",
        Kind::UnorderedPuts,
        2,
        WorldGrid::of(1, 1),
        "a row is cleared and part of it put again, with no fence between",
        put_over_put,
    ),
    pair(
        "scatter-over-fill",
        Kind::UnorderedPuts,
        2,
        WorldGrid::of(1, 1),
        "a non-blocking fill, then a strided put into it, with a flush taken for the fence",
        scatter_over_fill,
    ),
    pair(
        "counter-overtaken",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "a weak signal overtakes a non-fetching add, so that a decision is made on the old count",
        counter_overtaken,
    ),
];

fn ring_weak_signal(world: &mut World, broken: bool) -> Kernel {
    let [from, to, seen] = ["from", "to", "seen"].map(|name| world.data::<u32>(name, 67));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (block, next) = (shmem.block(), shmem.next_pe());
        fill(shmem, from);
        block.put(to, from, next); // ring-weak-signal: one
        if !broken {
            block.fence();
        }
        block.signal_weak(ready, SignalOp::Set(1), next);
        block.wait_until(ready, Cmp::Ge, 1);
        for i in share(shmem, 67) {
            shmem.local(seen).set(i, shmem.local(to).get(i)); // ring-weak-signal: two
        }
    })
}

fn halo_fence_of_other_pe(world: &mut World, broken: bool) -> Kernel {
    let [row, halo, seen] = ["row", "halo", "seen"].map(|name| world.data::<f32>(name, 17));
    let arrived = world.signals("arrived", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 1 {
            t.put_signal(halo, row, arrived, SignalOp::Set(1), 0);
            t.put(halo, row, 2); // halo-fence-of-other-pe: one
            t.pe_fence(if broken { 0 } else { 2 });
            t.signal_weak(arrived, SignalOp::Set(1), 2);
        } else {
            t.wait_until(arrived, Cmp::Ge, 1);
            for i in 0..17 {
                shmem.local(seen).set(i, shmem.local(halo).get(i)); // halo-fence-of-other-pe: two
            }
        }
    })
}

fn fence_before_put(world: &mut World, broken: bool) -> Kernel {
    let (from, slots) = (world.data::<u32>("from", 5), world.data::<u32>("slots", 15));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        for k in 1..=3 {
            if shmem.my_pe() == 0 {
                if broken {
                    t.fence();
                }
                t.put(slots.slice(5 * (k - 1), 5), from, 1); // fence-before-put: one
                if !broken {
                    t.fence();
                }
                t.signal_weak(ready, SignalOp::Set(k), 1);
            } else {
                t.wait_until(ready, Cmp::Ge, k);
                let first = shmem.local(slots).get(5 * (k - 1)); // fence-before-put: two
                shmem.local(from).set(k, first);
            }
        }
    })
}

fn fence_by_other_thread(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u64>(name, 3));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (t, block) = (shmem.thread(), shmem.block());
        if shmem.my_pe() == 0 {
            if thread::in_block() == 1 {
                t.put(to, from, 1); // fence-by-other-thread: one
                if broken {
                    t.fence();
                }
            }
            block.sync();
            if block.is_leader() {
                if !broken {
                    t.fence();
                }
                t.signal_weak(ready, SignalOp::Set(1), 1);
            }
        } else if block.is_leader() {
            t.wait_until(ready, Cmp::Ge, 1);
            let last = shmem.local(to).get(2); // fence-by-other-thread: two
            shmem.local(from).set(0, last);
        }
    })
}

fn body_behind_header(world: &mut World, broken: bool) -> Kernel {
    let [source, body] = ["source", "body"].map(|name| world.data::<u32>(name, 70));
    let header = world.data::<u32>("header", 4);
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let warp = shmem.warp();
        if shmem.my_pe() == 0 {
            fill(shmem, source);
            warp.put(body, source, 1); // body-behind-header: one
            if !broken {
                warp.fence();
            }
            warp.put_signal(header, source.slice(0, 4), ready, SignalOp::Set(1), 1);
        } else {
            warp.wait_until(ready, Cmp::Ge, 1);
            for i in share(shmem, 70) {
                shmem.local(source).set(i, shmem.local(body).get(i)); // body-behind-header: two
            }
        }
    })
}

fn column_weak_signal(world: &mut World, broken: bool) -> Kernel {
    let (column, matrix) = (world.data::<f64>("column", 5), world.data::<f64>("matrix", 25));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.iput(matrix.slice(2, 21), column, 5, 1, 5, 1); // column-weak-signal: one
            if !broken {
                t.fence();
            }
            t.signal_weak(ready, SignalOp::Add(1), 1);
        } else {
            t.wait_until(ready, Cmp::Ge, 1);
            for i in 0..5 {
                shmem.local(column).set(i, shmem.local(matrix).get(2 + 5 * i)); // column-weak-signal: two
            }
        }
    })
}

fn lanes_weak_signal(world: &mut World, broken: bool) -> Kernel {
    let [to, seen] = ["to", "seen"].map(|name| world.data::<u32>(name, 32));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (warp, lane) = (shmem.warp(), thread::idx_x());
        let i = u64::from(lane);
        if shmem.my_pe() == 0 {
            shmem.thread().p(to.at(i), 7 * lane, 1); // lanes-weak-signal: one
            if broken {
                warp.sync();
            } else {
                warp.fence();
            }
            warp.signal_weak(ready, SignalOp::Set(1), 1);
        } else {
            warp.wait_until(ready, Cmp::Ge, 1);
            shmem.local(seen).set(i, shmem.local(to).get(i)); // lanes-weak-signal: two
        }
    })
}

fn ptr_stores_weak_signal(world: &mut World, broken: bool) -> Kernel {
    let [halo, seen] = ["halo", "seen"].map(|name| world.data::<f32>(name, 8));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (block, i) = (shmem.block(), thread::idx_x());
        if shmem.my_pe() == 0 {
            let Some(theirs) = shmem.ptr(halo, 1) else { return };
            theirs.at(i.into()).store(i as f32); // ptr-stores-weak-signal: one
            block.sync();
            if broken {
                block.signal_weak(ready, SignalOp::Set(1), 1);
            } else {
                block.signal(ready, SignalOp::Set(1), 1);
            }
        } else {
            block.wait_until(ready, Cmp::Ge, 1);
            let came = shmem.local(halo).get(i.into()); // ptr-stores-weak-signal: two
            shmem.local(seen).set(i.into(), came);
        }
    })
}

fn set_taken_for_both(world: &mut World, broken: bool) -> Kernel {
    let [from, keys, values] = ["from", "keys", "values"].map(|name| world.data::<u32>(name, 6));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.put_signal(keys, from, ready, SignalOp::Set(1), 1); // set-taken-for-both: one
            if !broken {
                t.fence();
            }
            t.put_signal(values, from, ready, SignalOp::Set(2), 1);
        } else {
            t.wait_until(ready, Cmp::Ge, 2);
            let key = shmem.local(keys).get(0); // set-taken-for-both: two
            shmem.local(from).set(0, key + shmem.local(values).get(0));
        }
    })
}

fn pull_weak_signal(world: &mut World, broken: bool) -> Kernel {
    let [table, copy] = ["table", "copy"].map(|name| world.data::<u32>(name, 9));
    let filled = world.signals("filled", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 1 {
            for i in 0..9 {
                shmem.local(table).set(i, 3 * i as u32); // pull-weak-signal: one
            }
            if broken {
                t.signal_weak(filled, SignalOp::Set(1), 0);
            } else {
                t.signal(filled, SignalOp::Set(1), 0);
            }
        } else {
            t.wait_until(filled, Cmp::Ge, 1);
            t.get(copy, table, 1); // pull-weak-signal: two
        }
    })
}

fn put_over_put(world: &mut World, broken: bool) -> Kernel {
    let [zeros, values, row] = ["zeros", "values", "row"].map(|name| world.data::<u32>(name, 11));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            fill(shmem, values);
            t.put(row, zeros, 1); // put-over-put: one
            if !broken {
                t.fence();
            }
            t.put(row.slice(3, 5), values.slice(0, 5), 1); // put-over-put: two
        }
        t.barrier_all();
        shmem.local(values).set(10, shmem.local(row).get(4));
    })
}

fn scatter_over_fill(world: &mut World, broken: bool) -> Kernel {
    let [zeros, values, row] = ["zeros", "values", "row"].map(|name| world.data::<u16>(name, 13));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            shmem.local(values).set(1, 5);
            t.put_nbi(row, zeros, 1); // scatter-over-fill: one
            if broken {
                t.flush();
            } else {
                t.fence();
            }
            t.iput(row, values.slice(0, 5), 3, 1, 5, 1); // scatter-over-fill: two
        }
        t.barrier_all();
        shmem.local(values).set(10, shmem.local(row).get(3));
    })
}

fn counter_overtaken(world: &mut World, broken: bool) -> Kernel {
    let count = world.atomics::<u32>("count", 1).at(0);
    let [ready, done] = ["ready", "done"].map(|name| world.signals(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.atomic_inc(count, 1);
            if !broken {
                t.fence();
            }
            t.signal_weak(ready, SignalOp::Set(1), 1);
            t.wait_until(done, Cmp::Ge, 1); // counter-overtaken: one
        } else {
            t.wait_until(ready, Cmp::Ge, 1);
            if t.atomic_fetch(count, 1) == 1 {
                t.signal(done, SignalOp::Set(1), 0);
            }
        }
    })
}
