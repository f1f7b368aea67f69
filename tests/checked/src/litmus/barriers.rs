//! What do barriers of PEs complete, and who must come to them?

use super::shape::Verdict;
use super::words::{BARRIER_AND_READ_X, NOTHING, Words};
use super::{Kernel, Shape};
use oxshmem_device::prelude::*;
use oxshmem_device::{Scoped, Thread};
use oxshmem_emulator::check::Kind::{
    CollectiveMismatch, CollectiveOverlap, DataRace, Deadlock, SignalOvertakesData,
};
use oxshmem_emulator::check::World;

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (48, ""),
        "put+sync_all",
        "P0: put x@1=1; SYN ‖ P1: SYN; R x",
        2,
        Verdict::race(&[DataRace, SignalOvertakesData], &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.sync_all();
                },
                |me, t| {
                    t.sync_all();
                    me.r.set(0, me.read(me.x));
                },
            ])
        },
    ),
    Shape::new(
        (48, "b"),
        "put+barrier_all",
        "P0: put x@1=1; BAR ‖ P1: BAR; R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.barrier_all();
                },
                BARRIER_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (49, ""),
        "store+sync_all",
        "P0: x=1; SYN ‖ P1: SYN; r=G x@0",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    me.write(me.x, 1);
                    t.sync_all();
                },
                |me, t| {
                    t.sync_all();
                    me.r.set(0, t.g(me.x.at(0), 0));
                },
            ])
        },
    ),
    Shape::new(
        (50, ""),
        "team-barrier-without-the-putter",
        "P2: put x@1=1 ‖ P0: BAR{0,1} ‖ P1: BAR{0,1}; R x",
        3,
        Verdict::race(&[DataRace], &[&[0], &[1]]).exact(),
        |w| {
            let (x, r, pair) = (w.data::<u32>("x", 1), w.registers(1), w.team(&[0, 1]));
            Box::new(move |shmem| match shmem.try_team(pair) {
                None => shmem.thread().put(x, &[1], 1),
                Some(team) => {
                    team.thread().team_barrier();
                    if team.my_pe() == 1 {
                        r.set(0, shmem.local(x).get(0).into());
                    }
                }
            })
        },
    ),
    Shape::new(
        (51, ""),
        "team-barrier-of-any-target",
        "P0: put x@2=1; BAR{0,1} ‖ P1: BAR{0,1}; t:=!1@2 ‖ P2: W(t≥1); R x",
        3,
        Verdict::ok(&[&[1]]),
        |w| put_meet_and_tell(w, |t| t.team_barrier()),
    ),
    Shape::new(
        (51, "s"),
        "team-sync-of-any-target",
        "P0: put x@2=1; SYN{0,1} ‖ P1: SYN{0,1}; t:=!1@2 ‖ P2: W(t≥1); R x",
        3,
        Verdict::race(&[DataRace, SignalOvertakesData], &[&[0], &[1]]).exact(),
        |w| put_meet_and_tell(w, |t| t.team_sync()),
    ),
    Shape::new(
        (55, ""),
        "barrier-order",
        "P0: BAR; SYN ‖ P1: SYN; BAR",
        2,
        // The two share their turn, so that a device goes on; a checker may stop there.
        Verdict::race(&[CollectiveMismatch], &[]).may_find(&[Deadlock]),
        |w| {
            Words::new(w, 0).pes([
                |_, t| {
                    t.barrier_all();
                    t.sync_all();
                },
                |_, t| {
                    t.sync_all();
                    t.barrier_all();
                },
            ])
        },
    ),
    Shape::new(
        (56, ""),
        "two-callers",
        "P0.b0: BAR ‖ P0.b1: BAR ‖ P1: BAR; BAR",
        2,
        Verdict::race(&[CollectiveOverlap], &[]).may_find(&[Deadlock]),
        |w| {
            Words::new(w, 0).threads([
                [|_, t| t.barrier_all(), |_, t| t.barrier_all()],
                [
                    |_, t| {
                        t.barrier_all();
                        t.barrier_all();
                    },
                    NOTHING,
                ],
            ])
        },
    )
    .on(2, 1),
];

/// PE 0 puts to PE 2, meets PE 1 by `meet`, and PE 1 tells PE 2, which reads.
fn put_meet_and_tell(w: &mut World, meet: fn(Scoped<Thread, OnTeam<Collective>>)) -> Kernel {
    let (x, t, r) = (w.data::<u32>("x", 1), w.signals("t", 1).at(0), w.registers(1));
    let pair = w.team(&[0, 1]);
    Box::new(move |shmem| match shmem.try_team(pair) {
        None => {
            shmem.thread().wait_until(t, Cmp::Ge, 1);
            r.set(0, shmem.local(x).get(0).into());
        }
        Some(team) => {
            if team.my_pe() == 0 {
                shmem.thread().put(x, &[1], 2);
            }
            meet(team.thread());
            if team.my_pe() == 1 {
                shmem.thread().signal(t, SignalOp::Set(1), 2);
            }
        }
    })
}
