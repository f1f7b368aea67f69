//! What do barriers of all PEs complete, and who must come to them?

use super::Shape;
use super::shape::Verdict;
use super::words::{BARRIER_AND_READ_X, NOTHING, Words};
use oxshmem_emulator::check::Kind::{
    CollectiveMismatch, CollectiveOverlap, DataRace, Deadlock, SignalOvertakesData,
};

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
