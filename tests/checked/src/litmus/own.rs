//! A PE alone, nothing to send, nothing written.

use super::Shape;
use super::shape::Verdict;
use super::words::{Actor, WAIT_AND_READ_X, Words};
use oxshmem_device::Cmp::Ge;
use oxshmem_device::SignalOp::Set;
use oxshmem_emulator::check::Kind;
use oxshmem_emulator::check::Kind::{DataRace, NeverWritten, ReleaseWithoutBarrier, SignalOvertakesData};

/// What it may be called that one thread does not see another's store.
const RACE: &[Kind] = &[DataRace, SignalOvertakesData, ReleaseWithoutBarrier];

const SYNC_AND_READ_X: Actor = |me, _| {
    me.block_sync();
    me.r.set(0, me.read(me.x));
};

pub(super) const SHAPES: &[Shape] = &[
    Shape::new((82, ""), "self-put", "P0.0: put x@0=1; B ‖ P0.1: B; R x", 1, Verdict::ok(&[&[1]]), |w| {
        Words::new(w, 1).threads([[
            |me, t| {
                t.put(me.x, &[1], 0);
                me.block_sync();
            },
            SYNC_AND_READ_X,
        ]])
    })
    .on(1, 2),
    Shape::new(
        (82, "n"),
        "self-put_nbi",
        "P0.0: pn x@0=1; B ‖ P0.1: B; R x",
        1,
        Verdict::race(&[DataRace], &[]).only(&[&[0], &[1]]),
        |w| {
            Words::new(w, 1).threads([[
                |me, t| {
                    t.put_nbi(me.x, &[1], 0);
                    me.block_sync();
                },
                SYNC_AND_READ_X,
            ]])
        },
    )
    .on(1, 2),
    Shape::new(
        (83, ""),
        "self-signal",
        "P0.0: x=1; s:=!1 ‖ P0.1: W(s≥1); R x",
        1,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).threads([[
                |me, t| {
                    me.write(me.x, 1);
                    t.signal(me.s, Set(1), 0);
                },
                WAIT_AND_READ_X,
            ]])
        },
    )
    .on(1, 2)
    // A store to the own memory, and an update of the PE that the signal names: the letter covers the second only.
    .strict(Verdict::perhaps(RACE, &[&[1]]).only(&[&[0], &[1]])),
    Shape::new(
        (86, ""),
        "put_signal-of-nothing",
        "P0: PS of 0 bytes,s ‖ P1: W(s≥1)",
        2,
        Verdict::ok(&[&[]]),
        |w| {
            Words::new(w, 0).pes([
                |me, t| t.put_signal(me.x.slice(0, 0), &[0; 0], me.s, Set(1), 1),
                |me, t| t.wait_until(me.s, Ge, 1),
            ])
        },
    ),
    Shape::new(
        (89, ""),
        "never-written",
        "P0: allocated, not written: R x",
        1,
        Verdict::race(&[NeverWritten], &[]),
        |w| {
            let (x, r) = (w.uninit::<u64>("x", 1), w.registers(1));
            Box::new(move |shmem| r.set(0, shmem.local(x).get(0)))
        },
    ),
    Shape::new((89, "z"), "zeroed", "P0: allocated as zeros: R x", 1, Verdict::ok(&[&[0]]), |w| {
        let (x, r) = (w.data::<u64>("x", 1), w.registers(1));
        Box::new(move |shmem| r.set(0, shmem.local(x).get(0)))
    }),
];
