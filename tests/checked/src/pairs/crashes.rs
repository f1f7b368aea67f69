//! Kernels that end otherwise than by returning, or do not end. Where the place itself has no source line, the marked one is
//! that of the last operation before it.

use super::{Kernel, Pair};
use core::hint::{black_box, spin_loop};
use core::ptr::without_provenance_mut;
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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("crashes.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "table-index-from-data",
        Kind::Panicked,
        2,
        WorldGrid::of(1, 1),
        "a Rust array is indexed by what a peer sent",
        table_index_from_data,
    ),
    pair(
        "no-pointer-to-that-pe",
        Kind::Panicked,
        2,
        WorldGrid::of(1, 1),
        "the pointer to a PE that there is not is taken to be there",
        no_pointer_to_that_pe,
    ),
    pair(
        "parents-in-a-circle",
        Kind::StackOverflow,
        1,
        WorldGrid::of(1, 1),
        "a search for the root of a forest calls itself along links that go in a circle",
        parents_in_a_circle,
    ),
    pair(
        "store-to-nowhere",
        Kind::WildAccess,
        2,
        WorldGrid::of(1, 1),
        "an offset is used as an address",
        store_to_nowhere,
    ),
    pair(
        "never-down-to-zero",
        Kind::NoProgress,
        1,
        WorldGrid::of(1, 1),
        "a loop counts an odd number down by two until it is zero",
        never_down_to_zero,
    ),
];

fn table_index_from_data(world: &mut World, broken: bool) -> Kernel {
    let (kind, out) = (world.data::<u32>("kind", 1), world.data::<u32>("out", 1));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if shmem.my_pe() == 0 {
            thread.put_signal(kind, &[if broken { 4 } else { 3 }], ready, SignalOp::Set(1), 1);
        } else {
            thread.wait_until(ready, Cmp::Eq, 1);
            let lengths = black_box([1, 2, 4, 8]);
            let kind = shmem.local(kind).get(0) as usize; // table-index-from-data: one
            let length = lengths[kind];
            shmem.local(out).set(0, length);
        }
    })
}

fn no_pointer_to_that_pe(world: &mut World, broken: bool) -> Kernel {
    let slots = world.data::<u32>("slots", 2);
    Box::new(move |shmem| {
        let peer = if broken { shmem.my_pe() + 1 } else { shmem.next_pe() };
        let theirs = shmem.ptr(slots, peer).expect("the next PE"); // no-pointer-to-that-pe: one
        theirs.at(shmem.my_pe().into()).store(1);
    })
}

fn parents_in_a_circle(world: &mut World, broken: bool) -> Kernel {
    let (parents, roots) = (world.local::<u32>("parents", 3)[0], world.local::<u32>("roots", 1)[0]);
    Box::new(move |shmem| {
        let parents = shmem.local(parents);
        for (child, parent) in [(0, if broken { 1 } else { 2 }), (1, 0), (2, 2)] {
            parents.set(child, parent);
        }
        shmem.local(roots).set(0, root(parents, 0));
    })
}

/// Keeps a path of its own on the stack, as a search does that shortens paths.
fn root(parents: Local<u32>, of: u32) -> u32 {
    let path = black_box([of; 256]);
    let parent = parents.get(of.into()); // parents-in-a-circle: one
    let found = if parent == of { of } else { root(parents, parent) };
    black_box(path);
    found
}

fn store_to_nowhere(world: &mut World, broken: bool) -> Kernel {
    let row = world.data::<u32>("row", 4);
    Box::new(move |shmem| {
        let base = shmem.local(row).get(0); // store-to-nowhere: one
        if broken && shmem.my_pe() == 1 {
            let nowhere = without_provenance_mut::<u32>(0x10 + base as usize);
            // SAFETY: wrong on purpose: nothing is mapped there. The store faults, which is what is tested.
            unsafe { nowhere.write_volatile(1) };
        } else {
            shmem.local(row).set(1, base + 1);
        }
    })
}

fn never_down_to_zero(world: &mut World, broken: bool) -> Kernel {
    let (left, out) = (world.local::<u32>("left", 1)[0], world.local::<u32>("out", 1)[0]);
    Box::new(move |shmem| {
        let own = shmem.local(left);
        own.set(0, 5);
        let mut rest = own.get(0); // never-down-to-zero: one
        while rest != 0 {
            rest = rest.wrapping_sub(black_box(if broken { 2 } else { 1 }));
            spin_loop();
        }
        shmem.local(out).set(0, rest);
    })
}
