//! Atomics that order less than they are taken for, and words that not only atomics of one width reach.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("atomics.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "relaxed-flag",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 1),
        "data is published by a relaxed atomic_set",
        relaxed_flag,
    ),
    pair(
        "release-of-other-word",
        Kind::SignalOvertakesData,
        2,
        WorldGrid::of(1, 1),
        "the release is of another word than the one that is waited for",
        release_of_other_word,
    ),
    pair(
        "relaxed-push",
        Kind::SignalOvertakesData,
        3,
        WorldGrid::of(1, 1),
        "a node is linked into a list by a relaxed compare-and-swap",
        relaxed_push,
    ),
    pair(
        "relaxed-unlock",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 1),
        "a lock is taken with acquire and given back relaxed",
        relaxed_unlock,
    ),
    pair(
        "fetch-without-acquire",
        Kind::MissingAcquire,
        2,
        WorldGrid::of(1, 1),
        "a released flag is seen by a relaxed fetch",
        fetch_without_acquire,
    ),
    pair(
        "last-arriver-no-acquire",
        Kind::MissingAcquire,
        1,
        WorldGrid::of(3, 1),
        "the last block to arrive sums up all partial results, and has only released",
        last_arriver_no_acquire,
    ),
    pair(
        "published-before-written",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "a queue slot is counted as full before it is filled",
        published_before_written,
    ),
    pair(
        "increment-by-get-and-put",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "two PEs add to a word by g and p",
        increment_by_get_and_put,
    ),
    pair(
        "tickets-read-plainly",
        Kind::AtomicAndPlain,
        3,
        WorldGrid::of(1, 1),
        "a counter that others add to is read by a plain load",
        tickets_read_plainly,
    ),
    pair(
        "plain-reset",
        Kind::AtomicAndPlain,
        3,
        WorldGrid::of(1, 1),
        "a counter that others add to is cleared by a plain store",
        plain_reset,
    ),
    pair(
        "half-of-a-word",
        Kind::MixedWidth,
        3,
        WorldGrid::of(1, 1),
        "a 64-bit word is added to as 32 bits",
        half_of_a_word,
    ),
    pair(
        "own-add-not-seen",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "a PE decides by a fetch that need not see its own add yet",
        own_add_not_seen,
    ),
    pair(
        "both-miss",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "two PEs raise their flag at the other and look at their own, with no quiet between",
        both_miss,
    ),
];

/// The word as plain data.
fn plain(word: Sym<Atomic<u64>>) -> Sym<u64> {
    // SAFETY: an `Atomic<u64>` is 8 bytes, aligned to 8, of which every value is a `u64`.
    unsafe { Sym::from_parts(word.offset(), (), word.reach()) }
}

fn relaxed_flag(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 6));
    let flag = world.atomics::<u32>("flag", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.put(to, from, 1); // relaxed-flag: one
            if broken {
                t.atomic_set(flag, 1, 1);
            } else {
                t.release().atomic_set(flag, 1, 1);
            }
        } else {
            t.wait_until(flag, Cmp::Ge, 1);
            let came = shmem.local(to).get(5); // relaxed-flag: two
            shmem.local(from).set(0, came);
        }
    })
}

fn release_of_other_word(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 6));
    let [version, flag] = ["version", "flag"].map(|name| world.atomics::<u64>(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.put(to, from, 1); // release-of-other-word: one
            if broken {
                t.release().atomic_set(version, 1, 1);
                t.atomic_set(flag, 1, 1);
            } else {
                t.atomic_set(version, 1, 1);
                t.release().atomic_set(flag, 1, 1);
            }
        } else {
            t.wait_until(flag, Cmp::Eq, 1);
            let came = shmem.local(to).get(0); // release-of-other-word: two
            shmem.local(from).set(1, came);
        }
    })
}

fn relaxed_push(world: &mut World, broken: bool) -> Kernel {
    let (nodes, seen) = (world.data::<u64>("nodes", 3), world.data::<u64>("seen", 1));
    let head = world.atomics::<u64>("head", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (t, me) = (shmem.thread(), u64::from(shmem.my_pe()));
        if me == 0 {
            t.wait_until(head, Cmp::Ne, 0);
            let first = t.acquire().atomic_fetch(head, 0);
            let value = shmem.local(nodes).get(first); // relaxed-push: two
            shmem.local(seen).set(0, value);
        } else {
            t.p(nodes.at(me), 100, 0); // relaxed-push: one
            if broken {
                t.atomic_compare_swap(head, 0, me, 0);
            } else {
                t.release().atomic_compare_swap(head, 0, me, 0);
            }
        }
    })
}

fn relaxed_unlock(world: &mut World, broken: bool) -> Kernel {
    let guarded = world.data::<u32>("guarded", 1);
    let lock = world.atomics::<u32>("lock", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (t, me) = (shmem.thread(), shmem.my_pe());
        for _ in 0..64 {
            if t.acquire().atomic_compare_swap(lock, 0, 1, 0) != 0 {
                continue;
            }
            if me == 1 {
                t.p(guarded.at(0), 7, 0); // relaxed-unlock: one
            } else {
                shmem.local(guarded).get(0); // relaxed-unlock: two
            }
            if broken {
                t.atomic_set(lock, 0, 0);
            } else {
                t.release().atomic_set(lock, 0, 0);
            }
            break;
        }
    })
}

fn fetch_without_acquire(world: &mut World, broken: bool) -> Kernel {
    let [from, to] = ["from", "to"].map(|name| world.data::<u32>(name, 4));
    let flag = world.atomics::<u32>("flag", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.put(to, from, 1); // fetch-without-acquire: one
            t.release().atomic_set(flag, 1, 1);
            return;
        }
        for _ in 0..64 {
            let flag = if broken { t.atomic_fetch(flag, 1) } else { t.acquire().atomic_fetch(flag, 1) };
            if flag == 1 {
                let came = shmem.local(to).get(2); // fetch-without-acquire: two
                shmem.local(from).set(0, came);
                break;
            }
        }
    })
}

fn last_arriver_no_acquire(world: &mut World, broken: bool) -> Kernel {
    let (parts, sum) = (world.data::<u32>("parts", 3), world.data::<u32>("sum", 1));
    let arrived = world.atomics::<u32>("arrived", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (t, number) = (shmem.thread(), thread::block());
        shmem.local(parts).set(number.into(), number + 1); // last-arriver-no-acquire: one
        let before = if broken {
            t.release().atomic_fetch_inc(arrived, 0)
        } else {
            t.acq_rel().atomic_fetch_inc(arrived, 0)
        };
        if before == 2 {
            let total = (0..3).map(|i| shmem.local(parts).get(i)).sum(); // last-arriver-no-acquire: two
            shmem.local(sum).set(0, total);
        }
    })
}

fn published_before_written(world: &mut World, broken: bool) -> Kernel {
    let (queue, sum) = (world.data::<u32>("queue", 2), world.data::<u32>("sum", 1));
    let [tail, full] = ["tail", "full"].map(|name| world.atomics::<u32>(name, 1).at(0));
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.wait_until(full, Cmp::Ge, 2);
            let total = (0..2).map(|i| shmem.local(queue).get(i)).sum(); // published-before-written: two
            shmem.local(sum).set(0, total);
            return;
        }
        let slot = u64::from(t.atomic_fetch_inc(tail, 0));
        let publish = || t.release().atomic_inc(full, 0);
        if broken {
            publish();
        }
        t.p(queue.at(slot), shmem.my_pe(), 0); // published-before-written: one
        if !broken {
            publish();
        }
    })
}

fn increment_by_get_and_put(world: &mut World, broken: bool) -> Kernel {
    let count = world.atomics::<u64>("count", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() > 0 {
            if broken {
                let before = t.g(plain(count), 0); // increment-by-get-and-put: one
                t.p(plain(count), before + 1, 0); // increment-by-get-and-put: two
            } else {
                t.atomic_add(count, 1, 0);
            }
        }
        t.barrier_all();
    })
}

fn tickets_read_plainly(world: &mut World, broken: bool) -> Kernel {
    let tickets = world.atomics::<u64>("tickets", 1).at(0);
    let seen = world.data::<u64>("seen", 1);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            let now = if broken {
                shmem.local(plain(tickets)).get(0) // tickets-read-plainly: two
            } else {
                t.atomic_fetch(tickets, 0)
            };
            shmem.local(seen).set(0, now.min(2));
        } else {
            t.atomic_inc(tickets, 0); // tickets-read-plainly: one
        }
    })
}

fn plain_reset(world: &mut World, broken: bool) -> Kernel {
    let count = world.atomics::<u64>("count", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            shmem.local(plain(count)).set(0, 0); // plain-reset: one
        }
        if !broken {
            t.barrier_all();
        }
        if shmem.my_pe() > 0 {
            t.atomic_add(count, 5, 0); // plain-reset: two
        }
    })
}

fn half_of_a_word(world: &mut World, broken: bool) -> Kernel {
    let word = world.atomics::<u64>("word", 1).at(0);
    // SAFETY: the lower half of an `Atomic<u64>` is 4 bytes, aligned to 8, of which every value is a `u32`.
    let half: Sym<Atomic<u32>> = unsafe { Sym::from_parts(word.offset(), (), word.reach()) };
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        match shmem.my_pe() {
            0 => t.atomic_add(word, 1 << 32, 1), // half-of-a-word: one
            1 => {}
            _ if broken => t.atomic_add(half, 1, 1), // half-of-a-word: two
            _ => t.atomic_add(word, 1, 1),
        }
    })
}

fn own_add_not_seen(world: &mut World, broken: bool) -> Kernel {
    let count = world.atomics::<u32>("count", 1).at(0);
    let go = world.signals("go", 1).at(0);
    Box::new(move |shmem: Collective| {
        let t = shmem.thread();
        if shmem.my_pe() == 0 {
            t.atomic_inc(count, 1);
            if !broken {
                t.quiet();
            }
            if t.atomic_fetch(count, 1) == 1 {
                t.signal(go, SignalOp::Set(1), 1);
            }
        } else {
            t.wait_until(go, Cmp::Ge, 1); // own-add-not-seen: one
        }
    })
}

fn both_miss(world: &mut World, broken: bool) -> Kernel {
    let raised = world.atomics::<u32>("raised", 1).at(0);
    let done = world.signals("done", 1).at(0);
    Box::new(move |shmem: Collective| {
        let (t, me, peer) = (shmem.thread(), shmem.my_pe(), shmem.next_pe());
        t.atomic_set(raised, 1, peer);
        if !broken {
            t.quiet();
        }
        if t.atomic_fetch(raised, me) == 1 {
            t.signal(done, SignalOp::Add(1), me);
            t.signal(done, SignalOp::Add(1), peer);
        }
        t.wait_until(done, Cmp::Ge, 1); // both-miss: one
    })
}
