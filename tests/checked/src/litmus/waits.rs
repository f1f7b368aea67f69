//! Comparisons, several words, signals that are lost.

use super::Shape;
use super::shape::Verdict;
use super::words::{NOTHING, Words};
use oxshmem_device::Cmp::{Eq, Ge};
use oxshmem_device::Every;
use oxshmem_device::SignalOp::{Add, Set};
use oxshmem_emulator::check::Kind::{DataRace, SetAndAdd, SignalOvertakesData};
use oxshmem_emulator::check::{Kind, Registers};

const UNSET: u64 = Registers::UNSET;

/// Data under a signal that was not waited for.
const RACE: &[Kind] = &[DataRace, SignalOvertakesData];

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (63, ""),
        "any+its-own",
        "P0: PS x@1,s0 ‖ P1: i=W_any(s0,s1); R x if i=0, else y ‖ P2: PS y@1,s1",
        3,
        Verdict::ok(&[&[0, 1], &[1, 1]]),
        |w| {
            let (data, signals, r) = (w.data::<u64>("xy", 2), w.signals("s", 2), w.registers(2));
            Box::new(move |shmem| {
                let t = shmem.thread();
                match shmem.my_pe() {
                    0 => t.put_signal(data.slice(0, 1), &[1], signals.at(0), Set(1), 1),
                    1 => {
                        if let Some(i) = t.wait_until_any(signals, Every, Ge, 1, None) {
                            r.set(0, i);
                            r.set(1, shmem.local(data).get(i));
                        }
                    }
                    _ => t.put_signal(data.slice(1, 1), &[1], signals.at(1), Set(1), 1),
                }
            })
        },
    ),
    Shape::new(
        (63, "b"),
        "any+both",
        "P0: PS x@1,s0 ‖ P1: i=W_any(s0,s1); R x; R y ‖ P2: PS y@1,s1",
        3,
        Verdict::race(RACE, &[&[0, 1, 0], &[0, 1, 1], &[1, 0, 1]]).only(&[
            &[0, 1, 0],
            &[0, 1, 1],
            &[1, 0, 1],
            &[1, 1, 1],
        ]),
        |w| {
            let (data, signals, r) = (w.data::<u64>("xy", 2), w.signals("s", 2), w.registers(3));
            Box::new(move |shmem| {
                let t = shmem.thread();
                match shmem.my_pe() {
                    0 => t.put_signal(data.slice(0, 1), &[1], signals.at(0), Set(1), 1),
                    1 => {
                        if let Some(i) = t.wait_until_any(signals, Every, Ge, 1, None) {
                            r.set(0, i);
                            r.set(1, shmem.local(data).get(0));
                            r.set(2, shmem.local(data).get(1));
                        }
                    }
                    _ => t.put_signal(data.slice(1, 1), &[1], signals.at(1), Set(1), 1),
                }
            })
        },
    ),
    Shape::new(
        (64, ""),
        "test-false",
        "P0: PS x@1,s ‖ P1: if not test(s≥1): R x",
        2,
        Verdict::race(RACE, &[&[0], &[UNSET]]).only(&[&[0], &[1], &[UNSET]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| t.put_signal(me.x, &[1], me.s, Set(1), 1),
                |me, t| {
                    if !t.test(me.s, Ge, 1) {
                        me.r.set(0, me.read(me.x));
                    }
                },
            ])
        },
    ),
    Shape::new(
        (64, "t"),
        "test-true",
        "P0: PS x@1,s ‖ P1: if test(s≥1): R x",
        2,
        Verdict::ok(&[&[1], &[UNSET]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| t.put_signal(me.x, &[1], me.s, Set(1), 1),
                |me, t| {
                    if t.test(me.s, Ge, 1) {
                        me.r.set(0, me.read(me.x));
                    }
                },
            ])
        },
    ),
    Shape::new((65, ""), "missed-value", "P0: s:=1; F; s:=2 ‖ P1: W(s=1)", 2, Verdict::hang(&[&[]]), |w| {
        Words::new(w, 0).pes([
            |me, t| {
                t.signal_weak(me.s, Set(1), 1);
                t.fence();
                t.signal_weak(me.s, Set(2), 1);
            },
            |me, t| t.wait_until(me.s, Eq, 1),
        ])
    }),
    Shape::new(
        (66, ""),
        "set-and-add",
        "P0: s:=5 ‖ P1: W(s≥5) ‖ P2: s+=1",
        3,
        Verdict::race(&[SetAndAdd], &[&[]]).exact(),
        |w| {
            Words::new(w, 0).pes([
                |me, t| t.signal_weak(me.s, Set(5), 1),
                |me, t| t.wait_until(me.s, Ge, 5),
                |me, t| t.signal_weak(me.s, Add(1), 1),
            ])
        },
    ),
    Shape::new(
        (87, ""),
        "one-never-signals",
        "P0: s+=1 ‖ P1: s+=1; W(s≥3) ‖ P2: –",
        3,
        Verdict::hang(&[]),
        |w| {
            Words::new(w, 0).pes([
                |me, t| t.signal_weak(me.s, Add(1), 1),
                |me, t| {
                    t.signal_weak(me.s, Add(1), 1);
                    t.wait_until(me.s, Ge, 3);
                },
                NOTHING,
            ])
        },
    ),
];
