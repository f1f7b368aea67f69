//! Memory that two PEs use at once, or that nobody has written: overlapping parts, wrong displacements, forgotten corners.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("memory.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "gather-forgets-last-pe",
        Kind::NeverWritten,
        3,
        WorldGrid::of(1, 32),
        "an all-gather leaves out the last PE's part",
        gather_forgets_last_pe,
    ),
    pair(
        "halo-without-corners",
        Kind::NeverWritten,
        2,
        WorldGrid::of(1, 32),
        "a halo row comes without the cells at its ends, which a stencil with corners reads",
        halo_without_corners,
    ),
    pair(
        "gap-between-parts",
        Kind::NeverWritten,
        3,
        WorldGrid::of(1, 32),
        "parts of uneven length are placed by the largest length instead of the sum of those before",
        gap_between_parts,
    ),
    pair(
        "rows-rounded-down",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 32),
        "seven rows from two PEs: the first row of the second part is rounded down into the first part",
        rows_rounded_down,
    ),
    pair(
        "byte-through-its-word",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "two PEs write neighbouring bytes, each by reading and writing the whole word",
        byte_through_its_word,
    ),
    pair(
        "put-into-own-cells",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 32),
        "a put lands in the last of a peer's own cells, not in the halo behind it, while the peer reads them",
        put_into_own_cells,
    ),
    pair(
        "rewritten-while-got",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 8),
        "the owner of a row writes it again before the peer that was told of it has got it",
        rewritten_while_got,
    ),
    pair(
        "got-while-computed",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 40),
        "a peer's row is got without asking whether it has been computed",
        got_while_computed,
    ),
    pair(
        "same-value-from-two",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "two PEs write the same value to one place",
        same_value_from_two,
    ),
    pair(
        "columns-of-two-strides",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 1),
        "strided puts of neighbouring columns, one with the stride of another matrix",
        columns_of_two_strides,
    ),
    pair(
        "transposed-index",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 32),
        "an all-to-all places a block by its receiver's number, where the receiver's own block is",
        transposed_index,
    ),
];

fn gather_forgets_last_pe(world: &mut World, broken: bool) -> Kernel {
    let (gathered, part) = (world.uninit::<u32>("gathered", 15), world.data::<u32>("part", 5));
    let out = world.data::<u32>("out", 15);
    Box::new(move |shmem| {
        let block = shmem.block();
        let pes = if broken { shmem.n_pes() - 1 } else { shmem.n_pes() };
        for pe in 0..pes {
            block.get(gathered.slice(5 * u64::from(pe), 5), part, pe);
        }
        if block.rank() < 15 {
            let value = shmem.local(gathered).get(block.rank()); // gather-forgets-last-pe: one
            shmem.local(out).set(block.rank(), value + 1);
        }
    })
}

/// Two rows of six cells on each PE, and behind them the neighbour's first row.
fn halo_without_corners(world: &mut World, broken: bool) -> Kernel {
    let (cells, out) = (world.uninit::<f32>("cells", 18), world.data::<f32>("out", 6));
    let ready = world.signals("ready", 1).at(0);
    Box::new(move |shmem| {
        let (block, own) = (shmem.block(), shmem.local(cells));
        let i = block.rank();
        if i < 12 {
            own.set(i, i as f32);
        }
        let (start, width) = if broken { (1, 4) } else { (0, 6) };
        let (halo, row) = (cells.slice(12 + start, width), cells.slice(start, width));
        block.put_signal(halo, row, ready, SignalOp::Set(1), shmem.next_pe());
        block.wait_until(ready, Cmp::Eq, 1);
        if (1..5).contains(&i) {
            let below = own.get(11 + i) + own.get(12 + i) + own.get(13 + i); // halo-without-corners: one
            shmem.local(out).set(i, below);
        }
    })
}

fn gap_between_parts(world: &mut World, broken: bool) -> Kernel {
    let (inbox, part) = (world.uninit::<u32>("inbox", 8), world.data::<u32>("part", 4));
    let out = world.data::<u32>("out", 8);
    Box::new(move |shmem| {
        let block = shmem.block();
        let (lengths, largest) = ([2, 3, 1], 3);
        let me = shmem.my_pe() as usize;
        let start = if broken { largest * me as u64 } else { lengths[..me].iter().sum() };
        block.put(inbox.slice(start, lengths[me]), part.slice(0, lengths[me]), 0);
        block.barrier_all();
        if me == 0 && block.rank() < 6 {
            let value = shmem.local(inbox).get(block.rank()); // gap-between-parts: one
            shmem.local(out).set(block.rank(), value + 1);
        }
    })
}

fn rows_rounded_down(world: &mut World, broken: bool) -> Kernel {
    let (image, rows) = (world.data::<u16>("image", 35), world.data::<u16>("rows", 20));
    Box::new(move |shmem| {
        let block = shmem.block();
        if shmem.my_pe() == 1 {
            block.put(image.slice(0, 20), rows, 0); // rows-rounded-down: one
        }
        if shmem.my_pe() == 2 {
            let first = if broken { 3 } else { 4 };
            let count = 5 * (7 - first);
            block.put(image.slice(5 * first, count), rows.slice(0, count), 0); // rows-rounded-down: two
        }
    })
}

fn byte_through_its_word(world: &mut World, broken: bool) -> Kernel {
    let word = world.data::<u32>("flags", 1);
    // SAFETY: the four bytes of the allocated word.
    let bytes: Sym<[u8]> = unsafe { Sym::from_parts(word.offset(), 4, word.reach()) };
    Box::new(move |shmem| {
        let (thread, me) = (shmem.thread(), shmem.my_pe());
        if me > 0 {
            if broken {
                let before = thread.g(word.at(0), 0); // byte-through-its-word: one
                thread.p(word.at(0), before | 1 << (8 * me), 0); // byte-through-its-word: two
            } else {
                thread.p(bytes.at(me.into()), 1, 0);
            }
        }
    })
}

fn put_into_own_cells(world: &mut World, broken: bool) -> Kernel {
    let (cells, edge) = (world.data::<f32>("cells", 9), world.data::<f32>("edge", 1));
    let out = world.data::<f32>("out", 9);
    Box::new(move |shmem| {
        let (block, own) = (shmem.block(), shmem.local(cells));
        let i = block.rank();
        if shmem.my_pe() == 0 {
            let at = if broken { 7 } else { 8 };
            block.put(cells.slice(at, 1), edge, 1); // put-into-own-cells: one
        } else if i < 8 {
            let inner = own.get(i); // put-into-own-cells: two
            shmem.local(out).set(i, 2.0 * inner);
        }
        block.barrier_all();
        if i == 8 {
            shmem.local(out).set(i, own.get(i));
        }
    })
}

fn rewritten_while_got(world: &mut World, broken: bool) -> Kernel {
    let (row, copy) = (world.data::<u32>("row", 8), world.data::<u32>("copy", 8));
    let (ready, taken) = (world.signals("ready", 1).at(0), world.signals("taken", 1).at(0));
    Box::new(move |shmem| {
        let block = shmem.block();
        let i = block.rank();
        if shmem.my_pe() == 0 {
            shmem.local(row).set(i, 1);
            block.signal(ready, SignalOp::Set(1), 1);
            if !broken {
                block.wait_until(taken, Cmp::Ge, 1);
            }
            shmem.local(row).set(i, 2); // rewritten-while-got: one
        } else {
            block.wait_until(ready, Cmp::Ge, 1);
            block.get(copy, row, 0); // rewritten-while-got: two
            block.signal(taken, SignalOp::Set(1), 0);
        }
    })
}

fn got_while_computed(world: &mut World, broken: bool) -> Kernel {
    let (row, copy) = (world.data::<u32>("row", 40), world.data::<u32>("copy", 40));
    Box::new(move |shmem| {
        let block = shmem.block();
        let i = block.rank();
        shmem.local(row).set(i, (i * i) as u32); // got-while-computed: one
        if !broken {
            block.sync_all();
        }
        block.get(copy, row, shmem.next_pe()); // got-while-computed: two
    })
}

fn same_value_from_two(world: &mut World, broken: bool) -> Kernel {
    let failed = world.data::<u32>("failed", 2);
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if shmem.my_pe() == 1 {
            thread.p(failed.at(0), 1, 0); // same-value-from-two: one
        }
        if shmem.my_pe() == 2 {
            let slot = if broken { 0 } else { 1 };
            thread.p(failed.at(slot), 1, 0); // same-value-from-two: two
        }
    })
}

fn columns_of_two_strides(world: &mut World, broken: bool) -> Kernel {
    let (matrix, column) = (world.data::<f64>("matrix", 9), world.data::<f64>("column", 3));
    Box::new(move |shmem| {
        let thread = shmem.thread();
        if shmem.my_pe() == 1 {
            thread.iput(matrix, column, 3, 1, 3, 0); // columns-of-two-strides: one
        }
        if shmem.my_pe() == 2 {
            let stride = if broken { 2 } else { 3 };
            thread.iput(matrix.slice(1, 8), column, stride, 1, 3, 0); // columns-of-two-strides: two
        }
    })
}

fn transposed_index(world: &mut World, broken: bool) -> Kernel {
    let (blocks, given) = (world.data::<u32>("blocks", 10), world.data::<u32>("given", 5));
    let out = world.data::<u32>("out", 10);
    Box::new(move |shmem| {
        let (block, me, peer) = (shmem.block(), shmem.my_pe(), shmem.next_pe());
        let i = block.rank();
        if i < 5 {
            shmem.local(blocks).set(5 * u64::from(me) + i, 1); // transposed-index: one
        }
        let number = if broken { peer } else { me };
        block.put(blocks.slice(5 * u64::from(number), 5), given, peer); // transposed-index: two
        block.barrier_all();
        if i < 10 {
            shmem.local(out).set(i, shmem.local(blocks).get(i));
        }
    })
}
