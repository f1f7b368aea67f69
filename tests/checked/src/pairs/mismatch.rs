//! Collective operations that the PEs of a team do not call alike: another one, in another order, with other arguments, on
//! another team or channel, or not at all.

use super::{Kernel, Pair, fill};
use oxshmem_device::Reach;
use oxshmem_device::collective::{IntegerOp, Parts};
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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("mismatch.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "count-of-the-last-part",
        Kind::CollectiveMismatch,
        3,
        WorldGrid::of(1, 32),
        "the last PE reduces as many elements as its shorter part has",
        count_of_the_last_part,
    ),
    pair(
        "nothing-to-broadcast",
        Kind::CollectiveMismatch,
        2,
        WorldGrid::of(1, 32),
        "a PE that needs no data takes part in a broadcast with 0 elements",
        nothing_to_broadcast,
    ),
    pair(
        "every-pe-is-the-root",
        Kind::CollectiveMismatch,
        3,
        WorldGrid::of(1, 32),
        "each PE names itself as the root of a broadcast",
        every_pe_is_the_root,
    ),
    pair(
        "broadcast-meets-fcollect",
        Kind::CollectiveMismatch,
        2,
        WorldGrid::of(1, 32),
        "one PE calls another operation than the others",
        broadcast_meets_fcollect,
    ),
    pair(
        "reductions-in-another-order",
        Kind::CollectiveMismatch,
        2,
        WorldGrid::of(1, 32),
        "two reductions of one channel, in another order on one PE",
        reductions_in_another_order,
    ),
    pair(
        "greatest-for-the-sum",
        Kind::CollectiveMismatch,
        2,
        WorldGrid::of(1, 32),
        "an operator that is chosen when the kernel runs is another one on one PE",
        greatest_for_the_sum,
    ),
    pair(
        "signed-on-one-pe",
        Kind::CollectiveMismatch,
        2,
        WorldGrid::of(1, 32),
        "one PE takes elements for signed that the others take for unsigned",
        signed_on_one_pe,
    ),
    pair(
        "in-place-on-one-pe",
        Kind::CollectiveMismatch,
        3,
        WorldGrid::of(1, 32),
        "one PE reduces in place, the others into another buffer",
        in_place_on_one_pe,
    ),
    pair(
        "half-by-own-number",
        Kind::CollectiveMismatch,
        2,
        WorldGrid::of(1, 32),
        "each PE picks by its own number the half of a double buffer that it gives to an alltoall",
        half_by_own_number,
    ),
    pair(
        "grid-meets-block",
        Kind::CollectiveMismatch,
        2,
        WorldGrid::of(2, 32),
        "one PE calls an operation by its first block, the other one by its grid",
        grid_meets_block,
    ),
    pair(
        "broadcast-left-out",
        Kind::CollectiveMismatch,
        3,
        WorldGrid::of(1, 32),
        "a PE does not come to a broadcast, which ends on the others without it",
        broadcast_left_out,
    ),
    pair(
        "nothing-to-gather",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 32),
        "a PE that has no elements does not come to a collect",
        nothing_to_gather,
    ),
    pair(
        "converged-by-own-residual",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 32),
        "each PE leaves a loop with a reduction when its own residual is small",
        converged_by_own_residual,
    ),
    pair(
        "team-of-all-for-all",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 32),
        "a team that has all PEs is taken for the team of all PEs",
        team_of_all_for_all,
    ),
    pair(
        "reduction-on-another-channel",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 1),
        "each PE calls a reduction on the channel of its own number",
        reduction_on_another_channel,
    ),
    pair(
        "reduction-before-the-barrier",
        Kind::Deadlock,
        2,
        WorldGrid::of(1, 32),
        "a barrier and a reduction of a team, in another order on one PE",
        reduction_before_the_barrier,
    ),
    pair(
        "root-by-job-number",
        Kind::BadCall,
        4,
        WorldGrid::of(1, 32),
        "the root of a team's broadcast is given by its number in the job",
        root_by_job_number,
    ),
    pair(
        "fcollect-of-unequal-parts",
        Kind::BadCall,
        2,
        WorldGrid::of(1, 32),
        "parts whose lengths differ are gathered by fcollect",
        fcollect_of_unequal_parts,
    ),
    pair(
        "alltoall-with-a-rest",
        Kind::BadCall,
        3,
        WorldGrid::of(1, 32),
        "an alltoall of a number of elements that the PEs do not divide",
        alltoall_with_a_rest,
    ),
    pair(
        "room-for-the-usual",
        Kind::BadCall,
        3,
        WorldGrid::of(1, 32),
        "the target of a collect has room for the usual length of each PE, and one gives more",
        room_for_the_usual,
    ),
    pair(
        "tokens-beyond-the-room",
        Kind::OutOfBounds,
        2,
        WorldGrid::of(1, 32),
        "a PE sends more by alltoallv than the other one has room for",
        tokens_beyond_the_room,
    ),
];

fn count_of_the_last_part(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<u32>("sums", 12), world.data::<u32>("part", 12));
    Box::new(move |shmem| {
        let len = if broken && shmem.my_pe() == 2 { 9 } else { 12 };
        shmem.block().reduce(Sum, sums.slice(0, len), part.slice(0, len)); // count-of-the-last-part: one
    })
}

fn nothing_to_broadcast(world: &mut World, broken: bool) -> Kernel {
    let (inbox, table) = (world.data::<u32>("inbox", 8), world.data::<u32>("table", 8));
    Box::new(move |shmem| {
        let len = if broken && shmem.my_pe() == 1 { 0 } else { 8 };
        shmem.block().broadcast(inbox.slice(0, len), table.slice(0, len), 0); // nothing-to-broadcast: one
    })
}

fn every_pe_is_the_root(world: &mut World, broken: bool) -> Kernel {
    let (inbox, table) = (world.data::<u32>("inbox", 8), world.data::<u32>("table", 8));
    Box::new(move |shmem| {
        let root = if broken { shmem.my_pe() } else { 1 };
        shmem.block().broadcast(inbox, table, root); // every-pe-is-the-root: one
    })
}

fn broadcast_meets_fcollect(world: &mut World, broken: bool) -> Kernel {
    let (all, part) = (world.data::<u32>("all", 10), world.data::<u32>("part", 5));
    Box::new(move |shmem| {
        let block = shmem.block();
        if broken && shmem.my_pe() == 1 {
            block.broadcast(all.slice(0, 5), part, 0); // broadcast-meets-fcollect: one
        } else {
            block.fcollect(all, part); // broadcast-meets-fcollect: two
        }
    })
}

fn reductions_in_another_order(world: &mut World, broken: bool) -> Kernel {
    let (energy, mass) = (world.data::<f64>("energy", 3), world.data::<f64>("mass", 3));
    Box::new(move |shmem| {
        let block = shmem.block();
        if broken && shmem.my_pe() == 1 {
            block.reduce(Sum, mass, mass); // reductions-in-another-order: one
            block.reduce(Sum, energy, energy);
        } else {
            block.reduce(Sum, energy, energy); // reductions-in-another-order: two
            block.reduce(Sum, mass, mass);
        }
    })
}

fn greatest_for_the_sum(world: &mut World, broken: bool) -> Kernel {
    let loads = world.data::<u32>("loads", 4);
    Box::new(move |shmem| {
        let op = if broken && shmem.my_pe() == 0 { IntegerOp::Max } else { IntegerOp::Sum };
        shmem.block().scan(op, loads, loads); // greatest-for-the-sum: one
    })
}

fn signed_on_one_pe(world: &mut World, broken: bool) -> Kernel {
    let keys = world.data::<u32>("keys", 6);
    // SAFETY: the memory of as many elements of the same size.
    let signed: Sym<[i32]> = unsafe { Sym::from_parts(keys.offset(), keys.len(), Reach::World) };
    Box::new(move |shmem| {
        let block = shmem.block();
        if broken && shmem.my_pe() == 1 {
            block.reduce(Max, signed, signed); // signed-on-one-pe: one
        } else {
            block.reduce(Max, keys, keys); // signed-on-one-pe: two
        }
    })
}

fn in_place_on_one_pe(world: &mut World, broken: bool) -> Kernel {
    let (sums, part) = (world.data::<f32>("sums", 7), world.data::<f32>("part", 7));
    Box::new(move |shmem| {
        let target = if broken && shmem.my_pe() == 0 { part } else { sums };
        shmem.block().reduce(Sum, target, part); // in-place-on-one-pe: one
    })
}

fn half_by_own_number(world: &mut World, broken: bool) -> Kernel {
    let (inbox, halves) = (world.data::<u32>("inbox", 4), world.data::<u32>("halves", 8));
    Box::new(move |shmem| {
        let half = if broken { shmem.my_pe() } else { 1 };
        shmem.block().alltoall(inbox, halves.slice(4 * u64::from(half), 4)); // half-by-own-number: one
    })
}

fn grid_meets_block(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u64>("sums", 40);
    Box::new(move |shmem| {
        if !broken || shmem.my_pe() == 0 {
            shmem.grid().reduce(Sum, sums, sums); // grid-meets-block: one
        } else if thread::block() == 0 {
            shmem.block().reduce(Sum, sums, sums); // grid-meets-block: two
        }
    })
}

fn broadcast_left_out(world: &mut World, broken: bool) -> Kernel {
    let (inbox, table) = (world.data::<u32>("inbox", 8), world.data::<u32>("table", 8));
    Box::new(move |shmem| {
        if !broken || shmem.my_pe() != 2 {
            shmem.block().broadcast(inbox, table, 0); // broadcast-left-out: one
        }
    })
}

fn nothing_to_gather(world: &mut World, broken: bool) -> Kernel {
    let (all, part) = (world.data::<u32>("all", 6), world.data::<u32>("part", 3));
    Box::new(move |shmem| {
        let len = if shmem.my_pe() == 1 { 0 } else { 3 };
        if !broken || len > 0 {
            shmem.block().collect(all, part.slice(0, len)); // nothing-to-gather: one
        }
    })
}

fn converged_by_own_residual(world: &mut World, broken: bool) -> Kernel {
    let (of_all, own) = (world.data::<u32>("of_all", 1), world.data::<u32>("own", 1));
    Box::new(move |shmem| {
        let block = shmem.block();
        let mut left = 2 + shmem.my_pe();
        while left > 0 {
            let residual = left - 1;
            if block.is_leader() {
                shmem.local(own).set(0, residual);
            }
            block.reduce(Max, of_all, own); // converged-by-own-residual: one
            left = if broken { residual } else { shmem.local(of_all).get(0) };
            block.sync();
        }
    })
}

fn team_of_all_for_all(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u32>("sums", 5);
    let all = world.team(&[0, 1]);
    Box::new(move |shmem| {
        if broken && shmem.my_pe() == 1 {
            shmem.block().reduce(Sum, sums, sums);
        } else {
            shmem.team(all).block().reduce(Sum, sums, sums); // team-of-all-for-all: one
        }
    })
}

fn reduction_on_another_channel(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u32>("sums", 5);
    Box::new(move |shmem| {
        let channel = if broken { shmem.my_pe() } else { 1 };
        let team = shmem.team(Team::WORLD).channel(channel);
        team.thread().reduce(Sum, sums, sums); // reduction-on-another-channel: one
    })
}

fn reduction_before_the_barrier(world: &mut World, broken: bool) -> Kernel {
    let sums = world.data::<u32>("sums", 5);
    let all = world.team(&[0, 1]);
    Box::new(move |shmem| {
        let block = shmem.team(all).block();
        if broken && shmem.my_pe() == 1 {
            block.team_barrier();
            block.reduce(Sum, sums, sums);
        } else {
            block.reduce(Sum, sums, sums); // reduction-before-the-barrier: one
            block.team_barrier();
        }
    })
}

fn root_by_job_number(world: &mut World, broken: bool) -> Kernel {
    let (inbox, table) = (world.data::<u32>("inbox", 8), world.data::<u32>("table", 8));
    let upper = world.team(&[2, 3]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(upper) else { return };
        let root = if broken { 3 } else { 1 };
        team.block().broadcast(inbox, table, root); // root-by-job-number: one
    })
}

fn fcollect_of_unequal_parts(world: &mut World, broken: bool) -> Kernel {
    let (all, part) = (world.data::<u32>("all", 7), world.data::<u32>("part", 4));
    Box::new(move |shmem| {
        let (block, len) = (shmem.block(), 3 + u64::from(shmem.my_pe()));
        if broken {
            block.fcollect(all, part.slice(0, len)); // fcollect-of-unequal-parts: one
        } else {
            block.collect(all, part.slice(0, len));
        }
    })
}

fn alltoall_with_a_rest(world: &mut World, broken: bool) -> Kernel {
    let (inbox, outbox) = (world.data::<u32>("inbox", 12), world.data::<u32>("outbox", 12));
    Box::new(move |shmem| {
        let len = if broken { 10 } else { 12 };
        shmem.block().alltoall(inbox.slice(0, len), outbox.slice(0, len)); // alltoall-with-a-rest: one
    })
}

fn room_for_the_usual(world: &mut World, broken: bool) -> Kernel {
    let (all, part) = (world.data::<u32>("all", 10), world.data::<u32>("part", 4));
    Box::new(move |shmem| {
        let (room, len) = (if broken { 9 } else { 10 }, if shmem.my_pe() == 1 { 4 } else { 3 });
        shmem.block().collect(all.slice(0, room), part.slice(0, len)); // room-for-the-usual: one
    })
}

fn tokens_beyond_the_room(world: &mut World, broken: bool) -> Kernel {
    let (inbox, tokens) = (world.data::<u32>("inbox", 8), world.data::<u32>("tokens", 10));
    let [places, begins, counts, received] =
        ["places", "begins", "counts", "received"].map(|name| world.data::<u64>(name, 2));
    Box::new(move |shmem| {
        let block = shmem.block();
        fill(shmem, tokens);
        if block.is_leader() {
            for pe in 0..2 {
                shmem.local(places).set(pe, 4 * pe);
                shmem.local(begins).set(pe, 5 * pe);
                let most = if broken && shmem.my_pe() == 1 { 5 } else { 4 };
                shmem.local(counts).set(pe, most);
            }
        }
        let parts = Parts { target_offsets: places, source_offsets: begins, counts, received };
        block.alltoallv(inbox, tokens, parts); // tokens-beyond-the-room: one
    })
}
