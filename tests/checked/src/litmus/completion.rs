//! When has a put or get happened, and when may its memory be reused?

use super::Shape;
use super::shape::Verdict;
use super::words::{BARRIER_AND_READ_X, NOTHING, WAIT_AND_READ_X, Words};
use oxshmem_device::SignalOp::Set;
use oxshmem_emulator::check::Kind::{
    DataRace, DestinationInUse, SignalOvertakesData, SourceInUse, UnorderedPuts,
};

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (10, ""),
        "two-puts",
        "P0: put x@1=1; put x@1=2; BAR ‖ P1: BAR; R x",
        2,
        Verdict::race(&[UnorderedPuts], &[&[1], &[2]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.put(me.x, &[2], 1);
                    t.barrier_all();
                },
                BARRIER_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (11, ""),
        "two-puts+fence",
        "P0: put x@1=1; F; put x@1=2; BAR ‖ P1: BAR; R x",
        2,
        Verdict::ok(&[&[2]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.fence();
                    t.put(me.x, &[2], 1);
                    t.barrier_all();
                },
                BARRIER_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (12, ""),
        "nbi-source-reused",
        "P0: a=1; pn x@1←a; a=2; Q; s:=1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::race(&[SourceInUse], &[&[1], &[2]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    me.write(me.a, 1);
                    t.put_nbi(me.x, me.a, 1);
                    me.write(me.a, 2);
                    t.quiet();
                    t.signal_weak(me.s, Set(1), 1);
                },
                WAIT_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (13, ""),
        "put-source-reused",
        "P0: a=1; put x@1←a; a=2 ‖ P1: – ; x@1 at the end",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            let words = Words::new(w, 0);
            w.watch(1, words.x.at(0));
            words.pes([
                |me, t| {
                    me.write(me.a, 1);
                    t.put(me.x, me.a, 1);
                    me.write(me.a, 2);
                },
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (13, "n"),
        "nbi-source-read",
        "P0: a=1; pn x@1←a; R a; Q ‖ P1: – ; x@1 at the end",
        2,
        Verdict::ok(&[&[1, 1]]),
        |w| {
            let words = Words::new(w, 1);
            w.watch(1, words.x.at(0));
            words.pes([
                |me, t| {
                    me.write(me.a, 1);
                    t.put_nbi(me.x, me.a, 1);
                    me.r.set(0, me.read(me.a));
                    t.quiet();
                },
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (14, ""),
        "nbi+flush",
        "P0: a=1; pn x@1←a; flush; a=2; s:=1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::race(&[SignalOvertakesData], &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    me.write(me.a, 1);
                    t.put_nbi(me.x, me.a, 1);
                    t.flush();
                    me.write(me.a, 2);
                    t.signal_weak(me.s, Set(1), 1);
                },
                WAIT_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (15, ""),
        "get_nbi-read-early",
        "P0: Gn a←x@1; R a; Q ‖ P1: –",
        2,
        Verdict::race(&[DestinationInUse], &[&[0]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.get_nbi(me.a, me.x, 1);
                    me.r.set(0, me.read(me.a));
                    t.quiet();
                },
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (16, ""),
        "get_nbi-put_nbi+fence",
        "P0: Gn a←x@1; F; pn y@2←a; Q ‖ P1: – ‖ P2: –",
        3,
        // The put reads what the get writes: either's memory is in use.
        Verdict::race(&[DestinationInUse, SourceInUse], &[&[]]).exact(),
        |w| {
            Words::new(w, 0).pes([
                |me, t| {
                    t.get_nbi(me.a, me.x, 1);
                    t.fence();
                    t.put_nbi(me.y, me.a, 2);
                    t.quiet();
                },
                NOTHING,
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (17, ""),
        "get_nbi-put_nbi+quiet",
        "P0: Gn a←x@1; Q; pn y@2←a; Q ‖ P1: – ‖ P2: –",
        3,
        Verdict::ok(&[&[]]),
        |w| {
            Words::new(w, 0).pes([
                |me, t| {
                    t.get_nbi(me.a, me.x, 1);
                    t.quiet();
                    t.put_nbi(me.y, me.a, 2);
                    t.quiet();
                },
                NOTHING,
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (18, ""),
        "get_nbi-source-written",
        "P0: Gn a←x@1; Q ‖ P1: x=1",
        2,
        Verdict::race(&[DataRace], &[&[]]).exact(),
        |w| {
            Words::new(w, 0).pes([
                |me, t| {
                    t.get_nbi(me.a, me.x, 1);
                    t.quiet();
                },
                |me, _| me.write(me.x, 1),
            ])
        },
    ),
    Shape::new(
        (19, ""),
        "put-get",
        "P0: put x@1=1; r=G x@1 ‖ P1: –",
        2,
        Verdict::race(&[DataRace], &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    me.r.set(0, t.g(me.x.at(0), 1));
                },
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (20, ""),
        "put-get+fence",
        "P0: put x@1=1; F; r=G x@1 ‖ P1: –",
        2,
        Verdict::race(&[DataRace], &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.fence();
                    me.r.set(0, t.g(me.x.at(0), 1));
                },
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (20, "q"),
        "put-get+quiet",
        "P0: put x@1=1; Q; r=G x@1 ‖ P1: –",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.quiet();
                    me.r.set(0, t.g(me.x.at(0), 1));
                },
                NOTHING,
            ])
        },
    )
    // Whether the initiator is one of those who do not see it is left open.
    .mixed(Verdict::perhaps(&[DataRace], &[&[1]]).only(&[&[0], &[1]])),
    Shape::new(
        (21, ""),
        "add-fetch",
        "P0: add x@1,1; r=fetch x@1 ‖ P1: –",
        2,
        Verdict::ok(&[&[0], &[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.atomic_add(me.atomic_x, 1, 1);
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 1));
                },
                NOTHING,
            ])
        },
    ),
];
