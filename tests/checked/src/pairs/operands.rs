//! Sources and targets of collective operations: read too early, written too late, or by somebody else meanwhile.

use super::{Kernel, Pair, fill};
use oxshmem_device::collective::Parts;
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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("operands.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "sums-for-another-block",
        Kind::DataRace,
        2,
        WorldGrid::of(2, 32),
        "one block reduces, and another one reads the result without the grid's barrier",
        sums_for_another_block,
    ),
    pair(
        "warp-reduces-for-block",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 64),
        "one warp reduces, and another one reads the result without the block's barrier",
        warp_reduces_for_block,
    ),
    pair(
        "filled-by-the-block",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 64),
        "a block fills the source, and one warp gives it to an alltoall without the block's barrier",
        filled_by_the_block,
    ),
    pair(
        "next-values-too-early",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 64),
        "a warp that takes no part in a reduction writes the next values into its source",
        next_values_too_early,
    ),
    pair(
        "puts-before-the-reduction",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 32),
        "a PE puts into a peer's source, and the reduction is taken for the barrier",
        puts_before_the_reduction,
    ),
    pair(
        "put-into-the-source",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 32),
        "a PE that has ended a broadcast puts into the source of the root's next one",
        put_into_the_source,
    ),
    pair(
        "fetched-from-the-root",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 32),
        "a PE gets the result of reduce_to from the root, which may not have it yet",
        fetched_from_the_root,
    ),
    pair(
        "copy-of-a-neighbour",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 32),
        "a PE whose broadcast has ended gets what a third PE's has brought there",
        copy_of_a_neighbour,
    ),
    pair(
        "put-over-the-sums",
        Kind::DataRace,
        2,
        WorldGrid::of(1, 32),
        "a PE puts the next data over a target that its peer still reads",
        put_over_the_sums,
    ),
    pair(
        "shifted-in-place",
        Kind::BadCall,
        2,
        WorldGrid::of(1, 1),
        "source and target of a scan overlap, one element off",
        shifted_in_place,
    ),
    pair(
        "part-of-another-pe",
        Kind::BadCall,
        3,
        WorldGrid::of(1, 32),
        "an fcollect in place, whose source is the part of the next PE",
        part_of_another_pe,
    ),
    pair(
        "alltoallv-in-place",
        Kind::BadCall,
        2,
        WorldGrid::of(1, 32),
        "an alltoallv has one buffer for source and target",
        alltoallv_in_place,
    ),
    pair(
        "one-place-for-all-tokens",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 32),
        "a PE names one place in its target for what comes from all the others",
        one_place_for_all_tokens,
    ),
    pair(
        "result-of-another-channel",
        Kind::DataRace,
        2,
        WorldGrid::of(2, 32),
        "a block gathers what another block reduces at the same time on another channel",
        result_of_another_channel,
    ),
    pair(
        "reduced-while-sent",
        Kind::SourceInUse,
        2,
        WorldGrid::of(1, 32),
        "the source of a put_nbi is the target of a reduction before the flush",
        reduced_while_sent,
    ),
    pair(
        "reduced-while-fetched",
        Kind::DestinationInUse,
        2,
        WorldGrid::of(1, 32),
        "what a get_nbi brings is reduced before the quiet",
        reduced_while_fetched,
    ),
    pair(
        "tail-never-filled",
        Kind::NeverWritten,
        2,
        WorldGrid::of(1, 32),
        "a reduction has more elements than were filled",
        tail_never_filled,
    ),
];

fn sums_for_another_block(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 32), world.data::<u32>("part", 32));
    let out = world.data::<u32>("out", 32);
    Box::new(move |shmem| {
        let (block, first) = (shmem.block(), thread::block() == 0);
        if first {
            block.reduce(Sum, sums, part); // sums-for-another-block: one
        }
        if !broken {
            shmem.grid().sync();
        }
        if !first {
            let sum = shmem.local(sums).get(block.rank()); // sums-for-another-block: two
            shmem.local(out).set(block.rank(), sum / 2);
        }
    })
}

fn warp_reduces_for_block(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 64), world.data::<u32>("part", 64));
    let out = world.data::<u32>("out", 64);
    Box::new(move |shmem| {
        let block = shmem.block();
        if block.rank() < 32 {
            shmem.warp().reduce(Sum, sums, part); // warp-reduces-for-block: one
        }
        if !broken {
            block.sync();
        }
        let sum = shmem.local(sums).get(block.rank()); // warp-reduces-for-block: two
        shmem.local(out).set(block.rank(), sum / 2);
    })
}

fn filled_by_the_block(world: &mut World, broken: bool) -> Kernel {
    let (inbox, outbox) = (world.data::<u32>("inbox", 64), world.data::<u32>("outbox", 64));
    Box::new(move |shmem| {
        let block = shmem.block();
        shmem.local(outbox).set(block.rank(), 7); // filled-by-the-block: one
        if !broken {
            block.sync();
        }
        if block.rank() < 32 {
            shmem.warp().alltoall(inbox, outbox); // filled-by-the-block: two
        }
    })
}

fn next_values_too_early(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 64), world.data::<u32>("part", 64));
    Box::new(move |shmem| {
        let block = shmem.block();
        fill(shmem, part);
        if block.rank() < 32 {
            shmem.warp().reduce(Sum, sums, part); // next-values-too-early: one
        }
        if !broken {
            block.sync();
        }
        if block.rank() >= 32 {
            shmem.local(part).set(block.rank(), 1); // next-values-too-early: two
        }
    })
}

fn puts_before_the_reduction(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 5), world.data::<u32>("part", 5));
    let row = world.data::<u32>("row", 5);
    Box::new(move |shmem| {
        let block = shmem.block();
        block.put(part, row, shmem.next_pe()); // puts-before-the-reduction: one
        if !broken {
            block.barrier_all();
        }
        block.reduce(Sum, sums, part); // puts-before-the-reduction: two
    })
}

fn put_into_the_source(world: &mut World, broken: bool) -> Kernel {
    let (inbox, table) = (world.data::<u32>("inbox", 5), world.data::<u32>("table", 5));
    let row = world.data::<u32>("row", 5);
    Box::new(move |shmem| {
        let block = shmem.block();
        block.broadcast(inbox, table, 0);
        if !broken {
            block.barrier_all();
        }
        if shmem.my_pe() == 1 {
            block.put(table, row, 0); // put-into-the-source: one
        }
        if !broken {
            block.barrier_all();
        }
        block.broadcast(inbox, table, 0); // put-into-the-source: two
    })
}

fn fetched_from_the_root(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 5), world.data::<u32>("part", 5));
    let copy = world.data::<u32>("copy", 5);
    Box::new(move |shmem| {
        let block = shmem.block();
        block.reduce_to(Sum, sums, part, 0); // fetched-from-the-root: one
        if !broken {
            block.sync_all();
        }
        if shmem.my_pe() == 1 {
            block.get(copy, sums, 0); // fetched-from-the-root: two
        }
    })
}

fn copy_of_a_neighbour(world: &mut World, broken: bool) -> Kernel {
    let (inbox, table) = (world.data::<u32>("inbox", 5), world.data::<u32>("table", 5));
    let copy = world.data::<u32>("copy", 5);
    Box::new(move |shmem| {
        let block = shmem.block();
        block.broadcast(inbox, table, 0); // copy-of-a-neighbour: one
        if !broken {
            block.sync_all();
        }
        if shmem.my_pe() == 1 {
            block.get(copy, inbox, 2); // copy-of-a-neighbour: two
        }
    })
}

fn put_over_the_sums(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 32), world.data::<u32>("part", 32));
    let (row, out) = (world.data::<u32>("row", 32), world.data::<u32>("out", 32));
    Box::new(move |shmem| {
        let block = shmem.block();
        block.reduce(Sum, sums, part);
        let sum = shmem.local(sums).get(block.rank()); // put-over-the-sums: one
        shmem.local(out).set(block.rank(), sum / 2);
        if !broken {
            block.sync_all();
        }
        block.put(sums, row, shmem.next_pe()); // put-over-the-sums: two
    })
}

fn shifted_in_place(world: &mut World, broken: bool) -> Kernel {
    let counts = world.data::<u32>("counts", 9);
    Box::new(move |shmem| {
        let target = counts.slice(if broken { 1 } else { 0 }, 8);
        shmem.thread().scan(Sum, target, counts.slice(0, 8)); // shifted-in-place: one
    })
}

fn part_of_another_pe(world: &mut World, broken: bool) -> Kernel {
    let all = world.data::<u32>("all", 12);
    Box::new(move |shmem| {
        let part = if broken { shmem.next_pe() } else { shmem.my_pe() };
        shmem.block().fcollect(all, all.slice(4 * u64::from(part), 4)); // part-of-another-pe: one
    })
}

fn alltoallv_in_place(world: &mut World, broken: bool) -> Kernel {
    let (inbox, tokens) = (world.data::<u32>("inbox", 8), world.data::<u32>("tokens", 8));
    let parts = Parts {
        target_offsets: world.data("places", 2),
        source_offsets: world.data("begins", 2),
        counts: world.data("counts", 2),
        received: world.data("received", 2),
    };
    Box::new(move |shmem| {
        let block = shmem.block();
        if block.is_leader() {
            for pe in 0..2 {
                shmem.local(parts.target_offsets).set(pe, 4 * pe);
                shmem.local(parts.source_offsets).set(pe, 4 * pe);
                shmem.local(parts.counts).set(pe, 4);
            }
        }
        block.alltoallv(if broken { tokens } else { inbox }, tokens, parts); // alltoallv-in-place: one
    })
}

fn one_place_for_all_tokens(world: &mut World, broken: bool) -> Kernel {
    let (inbox, tokens) = (world.data::<u32>("inbox", 12), world.data::<u32>("tokens", 12));
    let parts = Parts {
        target_offsets: world.data("places", 3),
        source_offsets: world.data("begins", 3),
        counts: world.data("counts", 3),
        received: world.data("received", 3),
    };
    Box::new(move |shmem| {
        let block = shmem.block();
        if block.is_leader() {
            for pe in 0..3 {
                shmem.local(parts.target_offsets).set(pe, if broken { 0 } else { 4 * pe });
                shmem.local(parts.source_offsets).set(pe, 4 * pe);
                shmem.local(parts.counts).set(pe, 4);
            }
        }
        block.alltoallv(inbox, tokens, parts); // one-place-for-all-tokens: one
    })
}

fn result_of_another_channel(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 4), world.data::<u32>("part", 4));
    let all = world.data::<u32>("all", 8);
    Box::new(move |shmem| {
        let number = thread::block_idx_x();
        let block = shmem.team(Team::WORLD).channel(number).block();
        if number == 0 {
            block.reduce(Sum, sums, part); // result-of-another-channel: one
        }
        if !broken {
            shmem.grid().sync();
        }
        if number == 1 {
            block.fcollect(all, sums); // result-of-another-channel: two
        }
    })
}

fn reduced_while_sent(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 5), world.data::<u32>("part", 5));
    let inbox = world.data::<u32>("inbox", 5);
    Box::new(move |shmem| {
        let block = shmem.block();
        block.put_nbi(inbox, sums, shmem.next_pe()); // reduced-while-sent: one
        if !broken {
            block.flush();
        }
        block.reduce(Sum, sums, part); // reduced-while-sent: two
    })
}

fn reduced_while_fetched(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 5), world.data::<u32>("part", 5));
    let table = world.data::<u32>("table", 5);
    Box::new(move |shmem| {
        let block = shmem.block();
        block.get_nbi(part, table, shmem.next_pe()); // reduced-while-fetched: one
        if !broken {
            block.quiet();
        }
        block.reduce(Sum, sums, part); // reduced-while-fetched: two
    })
}

fn tail_never_filled(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 40), world.uninit::<u32>("part", 40));
    Box::new(move |shmem| {
        fill(shmem, part.slice(0, 33));
        let len = if broken { 34 } else { 33 };
        shmem.block().reduce(Sum, sums.slice(0, len), part.slice(0, len)); // tail-never-filled: one
    })
}
