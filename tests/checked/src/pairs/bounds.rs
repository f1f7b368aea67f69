//! Places that do not exist, and arguments that an operation cannot have.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("bounds.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "one-element-too-far",
        Kind::OutOfBounds,
        1,
        WorldGrid::of(1, 1),
        "a loop over the own elements goes one further",
        one_element_too_far,
    ),
    pair(
        "last-chunk-too-long",
        Kind::OutOfBounds,
        2,
        WorldGrid::of(1, 32),
        "the last chunk of a put in chunks is as long as the others",
        last_chunk_too_long,
    ),
    pair(
        "column-beyond-the-end",
        Kind::OutOfBounds,
        2,
        WorldGrid::of(1, 32),
        "a strided put has a row more than the matrix",
        column_beyond_the_end,
    ),
    pair(
        "bin-from-data",
        Kind::OutOfBounds,
        2,
        WorldGrid::of(1, 5),
        "an atomic on a word whose index comes from data",
        bin_from_data,
    ),
    pair(
        "header-not-counted",
        Kind::BadCall,
        2,
        WorldGrid::of(1, 32),
        "source and target of a put have different lengths",
        header_not_counted,
    ),
    pair(
        "no-pe-behind-the-last",
        Kind::BadCall,
        3,
        WorldGrid::of(1, 32),
        "a ring that is not closed: the last PE names one that there is not",
        no_pe_behind_the_last,
    ),
    pair(
        "stride-of-zero",
        Kind::BadCall,
        2,
        WorldGrid::of(1, 1),
        "a quotient that is the stride of a get becomes zero",
        stride_of_zero,
    ),
    pair(
        "goals-for-fewer-words",
        Kind::BadCall,
        2,
        WorldGrid::of(1, 1),
        "a wait for several words has fewer values than words",
        goals_for_fewer_words,
    ),
];

fn one_element_too_far(world: &mut World, broken: bool) -> Kernel {
    let row = world.data::<u32>("row", 13);
    Box::new(move |shmem| {
        let own = shmem.local(row);
        let end = if broken { own.len() + 1 } else { own.len() };
        for i in 0..end {
            own.set(i, 1); // one-element-too-far: one
        }
    })
}

fn last_chunk_too_long(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 10), world.data::<u32>("row", 10));
    Box::new(move |shmem| {
        for start in (0..10).step_by(4) {
            let count = if broken { 4 } else { 4.min(10 - start) };
            let (to, from) = (inbox.slice(start, count), row.slice(start, count));
            shmem.block().put(to, from, shmem.next_pe()); // last-chunk-too-long: one
        }
    })
}

fn column_beyond_the_end(world: &mut World, broken: bool) -> Kernel {
    let (matrix, column) = (world.data::<f32>("matrix", 20), world.data::<f32>("column", 5));
    Box::new(move |shmem| {
        let rows = if broken { 5 } else { 4 };
        shmem.block().iput(matrix, column, 5, 1, rows, shmem.next_pe()); // column-beyond-the-end: one
    })
}

fn bin_from_data(world: &mut World, broken: bool) -> Kernel {
    let (keys, counts) = (world.data::<u64>("keys", 5), world.atomics::<u32>("counts", 8));
    Box::new(move |shmem| {
        let (own, i) = (shmem.local(keys), shmem.block().rank());
        own.set(i, 3 * i);
        let bin = if broken { own.get(i) } else { own.get(i) % 8 };
        shmem.thread().atomic_inc(counts.at(bin), shmem.next_pe()); // bin-from-data: one
    })
}

fn header_not_counted(world: &mut World, broken: bool) -> Kernel {
    let (inbox, message) = (world.data::<u8>("inbox", 19), world.data::<u8>("message", 19));
    Box::new(move |shmem| {
        let target = if broken { inbox.slice(0, 17) } else { inbox };
        shmem.block().put(target, message, shmem.next_pe()); // header-not-counted: one
    })
}

fn no_pe_behind_the_last(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 5), world.data::<u32>("row", 5));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let next = if broken { shmem.my_pe() + 1 } else { shmem.next_pe() };
        shmem.block().put_signal(inbox, row, ready, SignalOp::Set(1), next); // no-pe-behind-the-last: one
    })
}

fn stride_of_zero(world: &mut World, broken: bool) -> Kernel {
    let (matrix, column) = (world.data::<f32>("matrix", 6), world.local::<f32>("column", 2));
    Box::new(move |shmem| {
        let parts = if broken { 4 } else { 1 };
        let (stride, column) = (matrix.len() / 2 / parts, column[shmem.my_pe() as usize]);
        shmem.thread().iget(column, matrix, 1, stride, 2, shmem.next_pe()); // stride-of-zero: one
    })
}

fn goals_for_fewer_words(world: &mut World, broken: bool) -> Kernel {
    let steps = world.signals("steps", 2);
    Box::new(move |shmem| {
        let (thread, me) = (shmem.thread(), shmem.my_pe());
        for pe in 0..2 {
            thread.signal(steps.at(me.into()), SignalOp::Set(1 + u64::from(me)), pe);
        }
        let goals = [1, 2];
        let goals = if broken { &goals[..1] } else { &goals[..] };
        thread.wait_until_all_vector(steps, Every, Cmp::Ge, goals); // goals-for-fewer-words: one
    })
}
