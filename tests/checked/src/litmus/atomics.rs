//! Words that atomics and other accesses meet in.

use super::Shape;
use super::shape::Verdict;
use super::words::{Actor, NOTHING, Words, atomic_as_data, lower_half};
use oxshmem_emulator::check::Kind::{AtomicAndPlain, DataRace, MixedWidth, SignalOvertakesData};

const ADD_TO_PE_1: Actor = |me, t| t.atomic_add(me.atomic_x, 1, 1);

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (67, ""),
        "mixed-width",
        "P0: add x@1,1 of 64 bits ‖ P1: – ‖ P2: add x@1,1 of the lower 32 bits",
        3,
        Verdict::race(&[MixedWidth], &[&[]]).exact(),
        |w| {
            Words::new(w, 0).pes([ADD_TO_PE_1, NOTHING, |me, t| {
                t.atomic_add(lower_half(me.atomic_x), 1, 1);
            }])
        },
    ),
    Shape::new(
        (68, ""),
        "add-and-put",
        "P0: add x@1,1 ‖ P1: – ‖ P2: put x@1=7",
        3,
        Verdict::race(&[AtomicAndPlain], &[&[]]).exact(),
        |w| {
            Words::new(w, 0).pes([ADD_TO_PE_1, NOTHING, |me, t| {
                t.put(atomic_as_data(me.atomic_x), &[7], 1);
            }])
        },
    ),
    Shape::new(
        (68, "s"),
        "add-and-store",
        "P0: add x@1,1 ‖ P1: x=7",
        2,
        Verdict::race(&[AtomicAndPlain], &[&[]]).exact(),
        |w| Words::new(w, 0).pes([ADD_TO_PE_1, |me, _| me.write(atomic_as_data(me.atomic_x), 7)]),
    ),
    Shape::new(
        (68, "r"),
        "add-and-read",
        "P0: add x@1,1 ‖ P1: R x",
        2,
        Verdict::race(&[AtomicAndPlain], &[&[0], &[1]]).exact(),
        |w| Words::new(w, 1).pes([ADD_TO_PE_1, |me, _| me.r.set(0, me.read(atomic_as_data(me.atomic_x)))]),
    ),
    Shape::new(
        (68, "b"),
        "add-and-read+barrier_all",
        "P0: add x@1,1; BAR ‖ P1: BAR; R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.atomic_add(me.atomic_x, 1, 1);
                    t.barrier_all();
                },
                |me, t| {
                    t.barrier_all();
                    me.r.set(0, me.read(atomic_as_data(me.atomic_x)));
                },
            ])
        },
    ),
    Shape::new(
        (69, ""),
        "bytes-of-one-word",
        "P0: put b[0]@1=1 ‖ P1: – ‖ P2: put b[1]@1=2 ; b[0]@1, b[1]@1 at the end",
        3,
        Verdict::ok(&[&[1, 2]]),
        |w| {
            let bytes = w.data::<u8>("b", 8);
            w.watch(1, bytes.at(0));
            w.watch(1, bytes.at(1));
            Box::new(move |shmem| match shmem.my_pe() {
                0 => shmem.thread().put(bytes.slice(0, 1), &[1], 1),
                1 => {}
                _ => shmem.thread().put(bytes.slice(1, 1), &[2], 1),
            })
        },
    ),
    Shape::new(
        (70, ""),
        "same-value",
        "P0: put x@1=7 ‖ P1: – ‖ P2: put x@1=7 ; x@1 at the end",
        3,
        Verdict::race(&[DataRace], &[&[7]]).exact(),
        |w| {
            let words = Words::new(w, 0);
            w.watch(1, words.x.at(0));
            words.pes([|me, t| t.put(me.x, &[7], 1), NOTHING, |me, t| t.put(me.x, &[7], 1)])
        },
    ),
    Shape::new(
        (71, ""),
        "statistics+barrier_all",
        "P0: add x@0,1; BAR; R x ‖ P1: add x@0,1; BAR",
        2,
        Verdict::ok(&[&[2]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.atomic_add(me.atomic_x, 1, 0);
                    t.barrier_all();
                    me.r.set(0, me.read(atomic_as_data(me.atomic_x)));
                },
                |me, t| {
                    t.atomic_add(me.atomic_x, 1, 0);
                    t.barrier_all();
                },
            ])
        },
    ),
    Shape::new(
        (71, "f"),
        "statistics+fetch",
        "P0: add x@0,1; fetch x@0; BAR ‖ P1: add x@0,1; BAR",
        2,
        // Whether an update of the own PE is deferred as one of another is left open.
        Verdict::ok(&[&[1], &[2]]).only(&[&[0], &[1], &[2]]),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.atomic_add(me.atomic_x, 1, 0);
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 0));
                    t.barrier_all();
                },
                |me, t| {
                    t.atomic_add(me.atomic_x, 1, 0);
                    t.barrier_all();
                },
            ])
        },
    ),
    Shape::new(
        (90, ""),
        "release-and-acquire-of-two-words",
        "P0: put a@1=1; x@1:=!1 ‖ P1: acquire fetch y@1; R a",
        2,
        Verdict::race(&[DataRace, SignalOvertakesData], &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).pes([
                |me, t| {
                    t.put(me.a, &[1], 1);
                    t.release().atomic_set(me.atomic_x, 1, 1);
                },
                |me, t| {
                    t.acquire().atomic_fetch(me.atomic_y, 1);
                    me.r.set(0, me.read(me.a));
                },
            ])
        },
    ),
];
