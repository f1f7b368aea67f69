//! Does who sees the signal see the data?

use super::Shape;
use super::shape::Verdict;
use super::words::{WAIT_AND_READ_X, WAIT_AND_READ_Y, Words, signal_as_data};
use oxshmem_device::Cmp::{Eq, Ge};
use oxshmem_device::SignalOp::{Add, Set};
use oxshmem_emulator::check::Kind::{ConcurrentSets, FlagByData, SignalOvertakesData, UnorderedPuts};

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (1, ""),
        "mp+weak",
        "P0: put x@1=1; s:=1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::race(&[SignalOvertakesData], &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.signal_weak(me.s, Set(1), 1);
                },
                WAIT_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (2, ""),
        "mp+fence",
        "P0: put x@1=1; F; s:=1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.fence();
                    t.signal_weak(me.s, Set(1), 1);
                },
                WAIT_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (3, ""),
        "mp+strong",
        "P0: put x@1=1; s:=!1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.signal(me.s, Set(1), 1);
                },
                WAIT_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (4, ""),
        "mp-nbi+quiet",
        "P0: pn x@1=1; Q; s:=1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put_nbi(me.x, &[1], 1);
                    t.quiet();
                    t.signal_weak(me.s, Set(1), 1);
                },
                WAIT_AND_READ_X,
            ])
        },
    ),
    Shape::new(
        (5, ""),
        "mp+put_signal",
        "P0: PS x@1,s ‖ P1: W(s≥1); R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| Words::new(w, 1).pes([|me, t| t.put_signal(me.x, &[1], me.s, Set(1), 1), WAIT_AND_READ_X]),
    ),
    Shape::new(
        (6, ""),
        "put_signal-of-other-data",
        "P0: put y@1=1; PS x@1,s ‖ P1: W(s≥1); R y",
        2,
        Verdict::race(&[SignalOvertakesData], &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.y, &[1], 1);
                    t.put_signal(me.x, &[1], me.s, Set(1), 1);
                },
                WAIT_AND_READ_Y,
            ])
        },
    ),
    Shape::new(
        (7, ""),
        "two-put_signals-set",
        "P0: PS x@1,s:=1; PS y@1,s:=2 ‖ P1: W(s≥2); R x",
        2,
        // That the two sets have no order is what makes it hang; it may be said of its own, too.
        Verdict::race(&[SignalOvertakesData], &[&[0], &[1]])
            .exact()
            .hangs()
            .may_find(&[UnorderedPuts, ConcurrentSets]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put_signal(me.x, &[1], me.s, Set(1), 1);
                    t.put_signal(me.y, &[1], me.s, Set(2), 1);
                },
                |me, t| {
                    t.wait_until(me.s, Ge, 2);
                    me.r.set(0, me.read(me.x));
                },
            ])
        },
    ),
    Shape::new(
        (8, ""),
        "two-put_signals-add",
        "P0: PS x@1,+s; PS y@1,+s ‖ P1: W(s≥2); R x; R y",
        2,
        Verdict::ok(&[&[1, 1]]),
        |w| {
            Words::new(w, 2).pes([
                |me, t| {
                    t.put_signal(me.x, &[1], me.s, Add(1), 1);
                    t.put_signal(me.y, &[1], me.s, Add(1), 1);
                },
                |me, t| {
                    t.wait_until(me.s, Ge, 2);
                    me.r.set(0, me.read(me.x));
                    me.r.set(1, me.read(me.y));
                },
            ])
        },
    ),
    Shape::new(
        (9, ""),
        "two-put_signals-set+fence",
        "P0: PS x@1,s:=1; F; PS y@1,s:=2 ‖ P1: W(s≥2); R x; R y",
        2,
        Verdict::ok(&[&[1, 1]]),
        |w| {
            Words::new(w, 2).pes([
                |me, t| {
                    t.put_signal(me.x, &[1], me.s, Set(1), 1);
                    t.fence();
                    t.put_signal(me.y, &[1], me.s, Set(2), 1);
                },
                |me, t| {
                    t.wait_until(me.s, Ge, 2);
                    me.r.set(0, me.read(me.x));
                    me.r.set(1, me.read(me.y));
                },
            ])
        },
    ),
    Shape::new(
        (22, ""),
        "flag-by-p",
        "P0: put x@1=1; F; p s@1=1 ‖ P1: W(s=1); R x",
        2,
        Verdict::race(&[FlagByData], &[&[1]]).exact().may_find(&[SignalOvertakesData]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.fence();
                    t.p(signal_as_data(me.s).at(0), 1, 1);
                },
                |me, t| {
                    t.wait_until(me.s, Eq, 1);
                    me.r.set(0, me.read(me.x));
                },
            ])
        },
    ),
];
