//! Credits, double buffers, counters that several add to, epochs.

use super::shape::Verdict;
use super::words::{Actor, Words};
use super::{Kernel, Shape};
use oxshmem_device::Cmp::{Eq, Ge};
use oxshmem_device::SignalOp::{Add, Set};
use oxshmem_emulator::check::Kind::{ConcurrentSets, DataRace, Deadlock, SignalOvertakesData, UnorderedPuts};
use oxshmem_emulator::check::{Kind, World};

/// A read, and a write or data that is not ordered with it through a signal.
const RACE: &[Kind] = &[DataRace, SignalOvertakesData];

/// How a sender and a receiver share a buffer.
#[derive(Clone, Copy)]
struct Buffering {
    /// How often it is filled, at most 3.
    rounds: u64,
    /// Slots, at most 2.
    slots: u64,
    /// Signals, at most 2.
    signals: u64,
    /// Before round `k` the sender waits for the credit of round `k - distance`.
    distance: u64,
    /// Whether the credit is a strong signal.
    strong: bool,
    /// Whether there is a fence between two put_signals.
    fenced: bool,
    /// Whether the signals are added to, and not set.
    adds: bool,
}

/// A double buffer, as it should be.
const DOUBLE: Buffering =
    Buffering { rounds: 3, slots: 2, signals: 2, distance: 2, strong: true, fenced: false, adds: false };

/// In rounds `k` from 1 on PE 0 puts `k` into slot `k` of PE 1 with a signal, and PE 1 reads it and gives credit.
fn buffer(w: &mut World, how: Buffering) -> Kernel {
    let (data, signals) = (w.data::<u64>("b", how.slots), w.signals("s", how.signals));
    let (credit, r) = (w.signals("c", 1).at(0), w.registers(how.rounds as usize));
    Box::new(move |shmem| {
        let t = shmem.thread();
        for k in 1..=how.rounds {
            let (slot, signal) = (k % how.slots, signals.at(k % how.signals));
            if shmem.my_pe() == 0 {
                if k > how.distance {
                    t.wait_until(credit, Ge, k - how.distance);
                }
                if how.fenced && k > 1 {
                    t.fence();
                }
                t.put_signal(data.slice(slot, 1), &[k], signal, if how.adds { Add(1) } else { Set(k) }, 1);
            } else {
                t.wait_until(signal, Ge, k);
                r.set(k as usize - 1, shmem.local(data).get(slot));
                // A credit that nobody waits for is not given.
                match (k + how.distance <= how.rounds, how.strong) {
                    (false, _) => {}
                    (true, true) => t.signal(credit, Set(k), 0),
                    (true, false) => t.signal_weak(credit, Set(k), 0),
                }
            }
        }
    })
}

/// Puts `x` and adds to `s`.
const PUT_X_AND_ADD: Actor = |me, t| t.put_signal(me.x, &[1], me.s, Add(1), 1);
/// Puts `y` and adds to `s`.
const PUT_Y_AND_ADD: Actor = |me, t| t.put_signal(me.y, &[1], me.s, Add(1), 1);

/// Two messages to one place under one signal, the second when the first has been taken.
const SEND_TWICE: Actor = |me, t| {
    t.put_signal(me.x, &[1], me.s, Set(1), 1);
    t.wait_until(me.c, Ge, 1);
    t.put_signal(me.x, &[2], me.s, Set(1), 1);
};

/// Waits for `s` and gets PE 0's `x`.
const PULL: Actor = |me, t| {
    t.wait_until(me.s, Ge, 1);
    me.r.set(0, t.g(me.x.at(0), 0));
};

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (57, ""),
        "reset-before-credit",
        "P0: PS x@1=1,s; W(c≥1); PS x@1=2,s ‖ P1: W(s=1); R x; s:=0; c:=!1; W(s=1)",
        2,
        // The row counts on a reset that the credit does not cover. A reset by a weak signal to the own PE may be taken as
        // an update that is pending, or as a store, which the credit covers.
        Verdict::perhaps(&[ConcurrentSets, Deadlock], &[&[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([SEND_TWICE, |me, t| {
                t.wait_until(me.s, Eq, 1);
                me.r.set(0, me.read(me.x));
                t.signal_weak(me.s, Set(0), 1);
                t.signal(me.c, Set(1), 0);
                t.wait_until(me.s, Eq, 1);
            }])
        },
    )
    // By the letter the credit covers not even the read.
    .strict(
        Verdict::perhaps(&[ConcurrentSets, Deadlock, DataRace, SignalOvertakesData, UnorderedPuts], &[&[1]])
            .exact(),
    ),
    Shape::new(
        (57, "r"),
        "reset-after-credit",
        "P0: PS x@1=1,s; W(c≥1); PS x@1=2,s ‖ P1: W(s=1); R x; c:=!1; s:=0; W(s=1)",
        2,
        Verdict::race(&[ConcurrentSets], &[&[1]]).exact().hangs(),
        |w| {
            Words::new(w, 1).pes([SEND_TWICE, |me, t| {
                t.wait_until(me.s, Eq, 1);
                me.r.set(0, me.read(me.x));
                t.signal(me.c, Set(1), 0);
                t.signal_weak(me.s, Set(0), 1);
                t.wait_until(me.s, Eq, 1);
            }])
        },
    )
    .strict(Verdict::race(&[ConcurrentSets], &[&[1]]).exact().hangs().may_find(&[
        DataRace,
        SignalOvertakesData,
        UnorderedPuts,
    ])),
    Shape::new(
        (58, ""),
        "double-buffer",
        "k=1..3: P0: W(c≥k−2); PS b[k&1]@1=k,s[k&1]:=k ‖ P1: W(s[k&1]≥k); R b[k&1]; c:=!k",
        2,
        Verdict::ok(&[&[1, 2, 3]]),
        |w| buffer(w, DOUBLE),
    )
    // By the letter the credit covers no reads. What PE 0 overwrites it put itself, and was told of by the credit only.
    .strict(Verdict::race(RACE, &[&[1, 2, 3]]).may_find(&[UnorderedPuts])),
    Shape::new(
        (59, ""),
        "double-buffer-one-signal",
        "k=1..2: P0: PS b[k&1]@1=k,s:=k ‖ P1: W(s≥k); R b[k&1]",
        2,
        Verdict::race(&[SignalOvertakesData], &[&[0, 2], &[1, 2]]).exact().may_find(&[
            UnorderedPuts,
            ConcurrentSets,
            Deadlock,
        ]),
        |w| buffer(w, Buffering { rounds: 2, signals: 1, ..DOUBLE }),
    ),
    Shape::new(
        (59, "a"),
        "double-buffer-one-counter",
        "k=1..2: P0: PS b[k&1]@1=k,+s ‖ P1: W(s≥k); R b[k&1]",
        2,
        Verdict::race(&[SignalOvertakesData], &[&[0, 2], &[1, 2]]).exact(),
        |w| buffer(w, Buffering { rounds: 2, signals: 1, adds: true, ..DOUBLE }),
    ),
    Shape::new(
        (59, "f"),
        "double-buffer-one-signal+fence",
        "k=1..3: P0: W(c≥k−2); F; PS b[k&1]@1=k,s:=k ‖ P1: W(s≥k); R b[k&1]; c:=!k",
        2,
        Verdict::ok(&[&[1, 2, 3]]),
        |w| buffer(w, Buffering { signals: 1, fenced: true, ..DOUBLE }),
    )
    .strict(Verdict::race(RACE, &[&[1, 2, 3]])),
    Shape::new(
        (60, ""),
        "double-buffer-weak-credit",
        "k=1..3: P0: W(c≥k−2); PS b[k&1]@1=k,s[k&1]:=k ‖ P1: W(s[k&1]≥k); R b[k&1]; c:=k",
        2,
        Verdict::race(RACE, &[&[1, 2, 3]]).may_find(&[UnorderedPuts, ConcurrentSets]),
        |w| buffer(w, Buffering { strong: false, ..DOUBLE }),
    ),
    Shape::new(
        (60, "d"),
        "double-buffer-late-credit",
        "k=1..3: P0: W(c≥k−3); PS b[k&1]@1=k,s[k&1]:=k ‖ P1: W(s[k&1]≥k); R b[k&1]; c:=!k",
        2,
        Verdict::race(&[DataRace, SignalOvertakesData, UnorderedPuts], &[&[1, 2, 3], &[3, 2, 3]])
            .may_find(&[ConcurrentSets, Deadlock]),
        |w| buffer(w, Buffering { distance: 3, ..DOUBLE }),
    ),
    Shape::new(
        (60, "o"),
        "one-buffer",
        "k=1..2: P0: W(c≥k−2); PS b@1=k,s[k&1]:=k ‖ P1: W(s[k&1]≥k); R b; c:=!k",
        2,
        Verdict::race(&[DataRace, SignalOvertakesData, UnorderedPuts], &[&[1, 2], &[2, 2]]),
        |w| buffer(w, Buffering { rounds: 2, slots: 1, ..DOUBLE }),
    ),
    Shape::new(
        (61, ""),
        "counter-of-two",
        "P0: PS x@1,+s ‖ P1: W(s≥2); R x; R y ‖ P2: PS y@1,+s",
        3,
        Verdict::ok(&[&[1, 1]]),
        |w| {
            Words::new(w, 2).pes([
                PUT_X_AND_ADD,
                |me, t| {
                    t.wait_until(me.s, Ge, 2);
                    me.r.set(0, me.read(me.x));
                    me.r.set(1, me.read(me.y));
                },
                PUT_Y_AND_ADD,
            ])
        },
    ),
    Shape::new(
        (61, "o"),
        "counter-of-two-at-one",
        "P0: PS x@1,+s ‖ P1: W(s≥1); R x; R y ‖ P2: PS y@1,+s",
        3,
        Verdict::race(RACE, &[&[0, 1], &[1, 0], &[1, 1]]).exact(),
        |w| {
            Words::new(w, 2).pes([
                PUT_X_AND_ADD,
                |me, t| {
                    t.wait_until(me.s, Ge, 1);
                    me.r.set(0, me.read(me.x));
                    me.r.set(1, me.read(me.y));
                },
                PUT_Y_AND_ADD,
            ])
        },
    ),
    Shape::new(
        (62, ""),
        "counter-of-two-rounds",
        "P0: PS x@1,+s; PS a@1,+s ‖ P1: W(s≥2); R y ‖ P2: PS y@1,+s",
        3,
        Verdict::race(RACE, &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put_signal(me.x, &[1], me.s, Add(1), 1);
                    t.put_signal(me.a, &[1], me.s, Add(1), 1);
                },
                |me, t| {
                    t.wait_until(me.s, Ge, 2);
                    me.r.set(0, me.read(me.y));
                },
                PUT_Y_AND_ADD,
            ])
        },
    ),
    Shape::new(
        (85, ""),
        "get-then-weak-credit",
        "P0: W(c≥1); x=2 ‖ P1: r=G x@0; c:=1",
        2,
        Verdict::race(RACE, &[&[0]]).only(&[&[0], &[2]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.wait_until(me.c, Ge, 1);
                    me.write(me.x, 2);
                },
                |me, t| {
                    me.r.set(0, t.g(me.x.at(0), 0));
                    t.signal_weak(me.c, Set(1), 0);
                },
            ])
        },
    )
    .openshmem(Verdict::ok(&[&[0]])),
    Shape::new(
        (85, "s"),
        "get-then-credit",
        "P0: W(c≥1); x=2 ‖ P1: r=G x@0; c:=!1",
        2,
        Verdict::ok(&[&[0]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.wait_until(me.c, Ge, 1);
                    me.write(me.x, 2);
                },
                |me, t| {
                    me.r.set(0, t.g(me.x.at(0), 0));
                    t.signal(me.c, Set(1), 0);
                },
            ])
        },
    )
    // A get is neither an update nor an access of the own memory: the letter is silent.
    .strict(Verdict::perhaps(RACE, &[&[0]]).only(&[&[0], &[2]])),
    Shape::new(
        (91, ""),
        "pull+strong",
        "P0: x=1; s:=!1 ‖ P1: W(s≥1); r=G x@0",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    me.write(me.x, 1);
                    t.signal(me.s, Set(1), 1);
                },
                PULL,
            ])
        },
    )
    .strict(Verdict::race(RACE, &[&[1]]).only(&[&[0], &[1]])),
    Shape::new(
        (91, "f"),
        "pull+fence",
        "P0: x=1; F; s:=1 ‖ P1: W(s≥1); r=G x@0",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    me.write(me.x, 1);
                    t.fence();
                    t.signal_weak(me.s, Set(1), 1);
                },
                PULL,
            ])
        },
    )
    .strict(Verdict::race(RACE, &[&[1]]).only(&[&[0], &[1]])),
    Shape::new(
        (91, "q"),
        "pull+quiet",
        "P0: x=1; Q; s:=1 ‖ P1: W(s≥1); r=G x@0",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    me.write(me.x, 1);
                    t.quiet();
                    t.signal_weak(me.s, Set(1), 1);
                },
                PULL,
            ])
        },
    )
    // Whether the own memory counts as a destination that others read is left open.
    .mixed(Verdict::perhaps(RACE, &[&[1]]).only(&[&[0], &[1]])),
    Shape::new(
        (91, "w"),
        "pull+weak",
        "P0: x=1; s:=1 ‖ P1: W(s≥1); r=G x@0",
        2,
        Verdict::race(RACE, &[&[1]]).only(&[&[0], &[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    me.write(me.x, 1);
                    t.signal_weak(me.s, Set(1), 1);
                },
                PULL,
            ])
        },
    ),
];
