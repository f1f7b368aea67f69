//! Does a third PE see what the first wrote?

use super::Shape;
use super::shape::Verdict;
use super::words::{Actor, NOTHING, Words};
use oxshmem_device::Cmp::Ge;
use oxshmem_device::SignalOp::Set;
use oxshmem_emulator::check::Kind;
use oxshmem_emulator::check::Kind::{DataRace, SignalOvertakesData};

/// What it may be called that a third PE does not see the data.
const UNSEEN: &[Kind] = &[SignalOvertakesData, DataRace];

/// Passes on to PE 2, by `t`, what `s` told.
const PASS_ON: Actor = |me, t| {
    t.wait_until(me.s, Ge, 1);
    t.signal(me.t, Set(1), 2);
};

/// Waits for `t` and reads PE 1's `x`.
const WAIT_AND_GET_X: Actor = |me, t| {
    t.wait_until(me.t, Ge, 1);
    me.r.set(0, t.g(me.x.at(0), 1));
};

/// Waits for `t` and reads the own `x`.
const WAIT_AND_READ_OWN_X: Actor = |me, t| {
    t.wait_until(me.t, Ge, 1);
    me.r.set(0, me.read(me.x));
};

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (35, ""),
        "chain+fence",
        "P0: put x@2=1; F; s:=1 ‖ P1: W(s≥1); t:=!1 ‖ P2: W(t≥1); R x",
        3,
        Verdict::race(UNSEEN, &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 2);
                    t.fence();
                    t.signal_weak(me.s, Set(1), 1);
                },
                PASS_ON,
                WAIT_AND_READ_OWN_X,
            ])
        },
    ),
    Shape::new(
        (36, ""),
        "chain+quiet",
        "P0: put x@2=1; Q; s:=1 ‖ P1: W(s≥1); t:=!1 ‖ P2: W(t≥1); R x",
        3,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 2);
                    t.quiet();
                    t.signal_weak(me.s, Set(1), 1);
                },
                PASS_ON,
                WAIT_AND_READ_OWN_X,
            ])
        },
    ),
    Shape::new(
        (37, ""),
        "chain-of-put_signal",
        "P0: PS x@1,s ‖ P1: W(s≥1); t:=!1 ‖ P2: W(t≥1); r=G x@1",
        3,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([|me, t| t.put_signal(me.x, &[1], me.s, Set(1), 1), PASS_ON, WAIT_AND_GET_X])
        },
    )
    // What PE 1 passes on is neither its own update nor one of PE 2's memory; here the letter says nothing of it.
    .mixed(Verdict::perhaps(UNSEEN, &[&[1]]).only(&[&[0], &[1]]))
    .strict(Verdict::perhaps(UNSEEN, &[&[1]]).only(&[&[0], &[1]])),
    Shape::new(
        (38, ""),
        "third-party+quiet",
        "P0: put x@1=1; Q; t:=1 ‖ P1: – ‖ P2: W(t≥1); r=G x@1",
        3,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.x, &[1], 1);
                    t.quiet();
                    t.signal_weak(me.t, Set(1), 2);
                },
                NOTHING,
                WAIT_AND_GET_X,
            ])
        },
    )
    .mixed(Verdict::race(UNSEEN, &[&[1]]).only(&[&[0], &[1]])),
];
