//! Teams: numbers of the team and of the job taken for each other, wrong counts, wrong order.

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
    Pair { name, mechanism, kind, pes, grid, source: (file!(), include_str!("teams.rs")), make }
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "team-number-in-the-job",
        Kind::Deadlock,
        4,
        WorldGrid::of(1, 32),
        "a PE's number in its team is given to an operation of the job",
        team_number_in_the_job,
    ),
    pair(
        "job-number-in-the-team",
        Kind::BadCall,
        4,
        WorldGrid::of(1, 32),
        "a PE's number in the job is given to an operation of a team that has not so many",
        job_number_in_the_team,
    ),
    pair(
        "stride-forgotten",
        Kind::Deadlock,
        4,
        WorldGrid::of(1, 1),
        "the next member of a team of every second PE is taken to be the next PE",
        stride_forgotten,
    ),
    pair(
        "job-counted-for-the-team",
        Kind::Deadlock,
        4,
        WorldGrid::of(1, 32),
        "a team's root waits for as many as the job has",
        job_counted_for_the_team,
    ),
    pair(
        "first-by-job-number",
        Kind::Deadlock,
        4,
        WorldGrid::of(1, 1),
        "the first member of a team in falling order is taken to be the PE of the lowest number",
        first_by_job_number,
    ),
    pair(
        "buffer-of-two-teams",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 32),
        "two teams with a member in common put into one buffer of its, in no order",
        buffer_of_two_teams,
    ),
    pair(
        "not-a-member",
        Kind::BadCall,
        3,
        WorldGrid::of(1, 1),
        "a PE that does not belong to a team enters it",
        not_a_member,
    ),
    pair(
        "barrier-of-all-by-a-team",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 1),
        "a team's members alone call the barrier of all PEs, through the team",
        barrier_of_all_by_a_team,
    ),
    pair(
        "team-sync-for-puts",
        Kind::DataRace,
        3,
        WorldGrid::of(1, 32),
        "a team's puts are taken to be complete after its team_sync",
        team_sync_for_puts,
    ),
    pair(
        "one-channel-for-two-blocks",
        Kind::CollectiveOverlap,
        3,
        WorldGrid::of(2, 1),
        "two blocks meet a team at once on one of its channels",
        one_channel_for_two_blocks,
    ),
    pair(
        "another-channel",
        Kind::Deadlock,
        3,
        WorldGrid::of(1, 1),
        "a team's members meet on different channels",
        another_channel,
    ),
    pair(
        "slot-by-job-number",
        Kind::OutOfBounds,
        3,
        WorldGrid::of(1, 1),
        "slots for a team's members are numbered by the job",
        slot_by_job_number,
    ),
];

fn team_number_in_the_job(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 5), world.data::<u32>("row", 5));
    let ready = world.signals("ready", 1).at(0);
    let odd = world.team(&[1, 3]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(odd) else { return };
        let next = team.next_pe();
        if broken {
            shmem.block().put_signal(inbox, row, ready, SignalOp::Set(1), next);
        } else {
            team.block().put_signal(inbox, row, ready, SignalOp::Set(1), next);
        }
        team.block().wait_until(ready, Cmp::Eq, 1); // team-number-in-the-job: one
    })
}

fn job_number_in_the_team(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 5), world.data::<u32>("row", 5));
    let upper = world.team(&[2, 3]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(upper) else { return };
        let peer = 1 - team.my_pe();
        let pe = if broken { 2 + peer } else { peer };
        team.block().put(inbox, row, pe); // job-number-in-the-team: one
    })
}

fn stride_forgotten(world: &mut World, broken: bool) -> Kernel {
    let token = world.signals("token", 1).at(0);
    let even = world.team(&[0, 2]);
    Box::new(move |shmem| {
        let (thread, stride) = (shmem.thread(), if broken { 1 } else { 2 });
        let Some(team) = shmem.try_team(even) else { return };
        if team.my_pe() == 0 {
            thread.signal(token, SignalOp::Set(1), shmem.my_pe() + stride);
        } else {
            thread.wait_until(token, Cmp::Eq, 1); // stride-forgotten: one
        }
    })
}

fn job_counted_for_the_team(world: &mut World, broken: bool) -> Kernel {
    let arrived = world.signals("arrived", 1).at(0);
    let lower = world.team(&[0, 1, 2]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(lower) else { return };
        let count = if broken { shmem.n_pes() } else { team.n_pes() };
        team.block().signal(arrived, SignalOp::Add(1), 0);
        if team.my_pe() == 0 {
            team.block().wait_until(arrived, Cmp::Ge, count.into()); // job-counted-for-the-team: one
        }
    })
}

fn first_by_job_number(world: &mut World, broken: bool) -> Kernel {
    let filled = world.signals("filled", 1).at(0);
    let falling = world.team(&[3, 2, 0]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(falling) else { return };
        let number = if broken { shmem.my_pe() } else { team.my_pe() };
        if number != 0 {
            team.thread().wait_until(filled, Cmp::Eq, 1); // first-by-job-number: one
        }
        if team.my_pe() + 1 < team.n_pes() {
            team.thread().signal(filled, SignalOp::Set(1), team.my_pe() + 1);
        }
    })
}

fn buffer_of_two_teams(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 7), world.data::<u32>("row", 7));
    let (ready, free) = (world.signals("ready", 2), world.signals("free", 1).at(0));
    let out = world.data::<u32>("out", 14);
    let (left, right) = (world.team(&[0, 1]), world.team(&[1, 2]));
    Box::new(move |shmem| {
        let (block, me) = (shmem.block(), shmem.my_pe());
        let i = block.rank();
        if me == 0 {
            let team = shmem.team(left).block();
            team.put_signal(inbox, row, ready.at(0), SignalOp::Set(1), 1); // buffer-of-two-teams: one
        }
        if me == 1 {
            block.wait_until(ready.at(0), Cmp::Eq, 1);
            if i < 7 {
                shmem.local(out).set(i, shmem.local(inbox).get(i));
            }
            shmem.team(right).block().signal(free, SignalOp::Set(1), 1);
            block.wait_until(ready.at(1), Cmp::Eq, 1);
            if i < 7 {
                shmem.local(out).set(7 + i, shmem.local(inbox).get(i));
            }
        }
        if me == 2 {
            let team = shmem.team(right).block();
            if !broken {
                team.wait_until(free, Cmp::Eq, 1);
            }
            team.put_signal(inbox, row, ready.at(1), SignalOp::Set(1), 0); // buffer-of-two-teams: two
        }
    })
}

fn not_a_member(world: &mut World, broken: bool) -> Kernel {
    let token = world.signals("token", 1).at(0);
    let outer = world.team(&[0, 2]);
    Box::new(move |shmem| {
        if broken || shmem.my_pe() != 1 {
            let team = shmem.team(outer); // not-a-member: one
            team.thread().signal(token, SignalOp::Set(1), team.next_pe());
        }
    })
}

fn barrier_of_all_by_a_team(world: &mut World, broken: bool) -> Kernel {
    let outer = world.team(&[0, 2]);
    Box::new(move |shmem| match shmem.try_team(outer) {
        Some(team) => team.thread().barrier_all(), // barrier-of-all-by-a-team: one
        None if !broken => shmem.thread().barrier_all(),
        None => {}
    })
}

fn team_sync_for_puts(world: &mut World, broken: bool) -> Kernel {
    let (inbox, row) = (world.data::<u32>("inbox", 32), world.data::<u32>("row", 32));
    let outer = world.team(&[2, 0]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(outer) else { return };
        let block = team.block();
        block.put(inbox, row, team.next_pe()); // team-sync-for-puts: one
        if broken {
            block.team_sync();
        } else {
            block.team_barrier();
        }
        let _ = shmem.local(inbox).get(block.rank()); // team-sync-for-puts: two
    })
}

fn one_channel_for_two_blocks(world: &mut World, broken: bool) -> Kernel {
    let outer = world.team(&[0, 2]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(outer) else { return };
        let channel = if broken { 0 } else { thread::block_idx_x() };
        team.channel(channel).thread().team_barrier(); // one-channel-for-two-blocks: one
    })
}

fn another_channel(world: &mut World, broken: bool) -> Kernel {
    let outer = world.team(&[0, 2]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(outer) else { return };
        let channel = if broken { team.my_pe() } else { 1 };
        team.channel(channel).thread().team_barrier(); // another-channel: one
    })
}

fn slot_by_job_number(world: &mut World, broken: bool) -> Kernel {
    let slots = world.data::<u32>("slots", 2);
    let outer = world.team(&[0, 2]);
    Box::new(move |shmem| {
        let Some(team) = shmem.try_team(outer) else { return };
        let slot = if broken { shmem.my_pe() } else { team.my_pe() };
        team.thread().p(slots.at(slot.into()), 1, 0); // slot-by-job-number: one
    })
}
