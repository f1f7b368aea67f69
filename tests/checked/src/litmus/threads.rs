//! What does one thread's release or acquire do for the other threads of its PE?

use super::Shape;
use super::shape::Verdict;
use super::words::{Actor, NOTHING, WAIT_AND_READ_X, WAIT_AND_READ_Y, Words};
use oxshmem_device::Cmp::Ge;
use oxshmem_device::SignalOp::Set;
use oxshmem_emulator::check::Kind::{
    AcquireWithoutBarrier, DataRace, ReleaseWithoutBarrier, SignalOvertakesData,
};
use oxshmem_emulator::check::{Kind, Registers};

const UNSET: u64 = Registers::UNSET;

/// What a release that does not cover another thread's put may be called: it depends on which of the two came first.
const UNCOVERED: &[Kind] = &[ReleaseWithoutBarrier, SignalOvertakesData, DataRace];

/// What an acquire that does not reach the reading thread may be called, likewise.
const UNSEEN: &[Kind] = &[AcquireWithoutBarrier, DataRace];

/// Reads `x` if `s` is there.
const TEST_AND_READ_X: Actor = |me, t| {
    if t.test(me.s, Ge, 1) {
        me.r.set(0, me.read(me.x));
    }
};

/// Puts `x` together with the signal `s`.
const PUT_SIGNAL_X: Actor = |me, t| t.put_signal(me.x, &[1], me.s, Set(1), 1);

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (23, ""),
        "release-without-barrier",
        "P0.0: put x@1=1; s:=!1 ‖ P0.1: put y@1=1 ‖ P1: W(s≥1); R y",
        2,
        Verdict::race(UNCOVERED, &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).threads([
                [
                    |me, t| {
                        t.put(me.x, &[1], 1);
                        t.signal(me.s, Set(1), 1);
                    },
                    |me, t| t.put(me.y, &[1], 1),
                ],
                [WAIT_AND_READ_Y, NOTHING],
            ])
        },
    )
    .on(1, 2),
    Shape::new(
        (24, ""),
        "release+barrier",
        "P0.0: put x@1=1; B; s:=!1 ‖ P0.1: put y@1=1; B ‖ P1: W(s≥1); R y",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).threads([
                [
                    |me, t| {
                        t.put(me.x, &[1], 1);
                        me.block_sync();
                        t.signal(me.s, Set(1), 1);
                    },
                    |me, t| {
                        t.put(me.y, &[1], 1);
                        me.block_sync();
                    },
                ],
                [WAIT_AND_READ_Y, NOTHING],
            ])
        },
    )
    .on(1, 2),
    Shape::new(
        (25, ""),
        "fence-before-barrier",
        "P0.0: B; s:=1 ‖ P0.1: put y@1=1; F; B ‖ P1: W(s≥1); R y",
        2,
        Verdict::race(&[ReleaseWithoutBarrier, SignalOvertakesData], &[&[1]]).only(&[&[0], &[1]]),
        |w| {
            Words::new(w, 1).threads([
                [
                    |me, t| {
                        me.block_sync();
                        t.signal_weak(me.s, Set(1), 1);
                    },
                    |me, t| {
                        t.put(me.y, &[1], 1);
                        t.fence();
                        me.block_sync();
                    },
                ],
                [WAIT_AND_READ_Y, NOTHING],
            ])
        },
    )
    .on(1, 2)
    // There a fence is the PE's, and what another thread does after it, by the barrier, may count as later.
    .openshmem(Verdict::perhaps(&[ReleaseWithoutBarrier, SignalOvertakesData], &[&[1]]).only(&[&[0], &[1]])),
    Shape::new(
        (26, ""),
        "fence-after-barrier",
        "P0.0: B; F; s:=1 ‖ P0.1: put y@1=1; B ‖ P1: W(s≥1); R y",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).threads([
                [
                    |me, t| {
                        me.block_sync();
                        t.fence();
                        t.signal_weak(me.s, Set(1), 1);
                    },
                    |me, t| {
                        t.put(me.y, &[1], 1);
                        me.block_sync();
                    },
                ],
                [WAIT_AND_READ_Y, NOTHING],
            ])
        },
    )
    .on(1, 2),
    Shape::new(
        (27, ""),
        "acquire-without-barrier",
        "P0: PS x@1,s ‖ P1.0: W(s≥1) ‖ P1.1: R x",
        2,
        Verdict::race(UNSEEN, &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).threads([
                [PUT_SIGNAL_X, NOTHING],
                [|me, t| t.wait_until(me.s, Ge, 1), |me, _| me.r.set(0, me.read(me.x))],
            ])
        },
    )
    .on(1, 2),
    Shape::new(
        (28, ""),
        "acquire+barrier",
        "P0: PS x@1,s ‖ P1.0: W(s≥1); B ‖ P1.1: B; R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).threads([
                [PUT_SIGNAL_X, NOTHING],
                [
                    |me, t| {
                        t.wait_until(me.s, Ge, 1);
                        me.block_sync();
                    },
                    |me, _| {
                        me.block_sync();
                        me.r.set(0, me.read(me.x));
                    },
                ],
            ])
        },
    )
    .on(1, 2),
    Shape::new(
        (29, ""),
        "acquire+warp-sync",
        "P0: PS x@1,s ‖ P1.lane0: W(s≥1); syncwarp ‖ P1.lane1: syncwarp; R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).threads([
                [PUT_SIGNAL_X, NOTHING],
                [
                    |me, t| {
                        t.wait_until(me.s, Ge, 1);
                        me.shmem.warp().sync();
                    },
                    |me, _| {
                        me.shmem.warp().sync();
                        me.r.set(0, me.read(me.x));
                    },
                ],
            ])
        },
    )
    .on(1, 2),
    Shape::new(
        (29, "w"),
        "acquire+warp-sync-of-another",
        "P0: PS x@1,s ‖ P1.lane0: W(s≥1); syncwarp ‖ P1, another warp: R x",
        2,
        Verdict::race(UNSEEN, &[&[0], &[1]]).exact(),
        |w| {
            let sync: Actor = |me, _| me.shmem.warp().sync();
            let mut receiver = [sync; 33];
            receiver[0] = |me, t| {
                t.wait_until(me.s, Ge, 1);
                me.shmem.warp().sync();
            };
            receiver[32] = |me, _| me.r.set(0, me.read(me.x));
            let mut sender = [NOTHING; 33];
            sender[0] = PUT_SIGNAL_X;
            Words::new(w, 1).threads([sender, receiver])
        },
    )
    .on(1, 33),
    Shape::new(
        (30, ""),
        "blocks+relaxed-flag",
        "P0.b0: put x@1=1; y@0:=1 ‖ P0.b1: if fetch y@0=1: s:=!1 ‖ P1: if test(s≥1): R x",
        2,
        Verdict::race(UNCOVERED, &[&[1], &[UNSET]]).only(&[&[0], &[1], &[UNSET]]),
        |w| {
            Words::new(w, 1).threads([
                [
                    |me, t| {
                        t.put(me.x, &[1], 1);
                        t.atomic_set(me.atomic_y, 1, 0);
                    },
                    |me, t| {
                        if t.atomic_fetch(me.atomic_y, 0) == 1 {
                            t.signal(me.s, Set(1), 1);
                        }
                    },
                ],
                [TEST_AND_READ_X, NOTHING],
            ])
        },
    )
    .on(2, 1),
    Shape::new(
        (31, ""),
        "blocks+release-flag",
        "P0.b0: put x@1=1; y@0:=!1 ‖ P0.b1: if acquire fetch y@0=1: s:=!1 ‖ P1: if test(s≥1): R x",
        2,
        Verdict::ok(&[&[1], &[UNSET]]),
        |w| {
            Words::new(w, 1).threads([
                [
                    |me, t| {
                        t.put(me.x, &[1], 1);
                        t.release().atomic_set(me.atomic_y, 1, 0);
                    },
                    |me, t| {
                        if t.acquire().atomic_fetch(me.atomic_y, 0) == 1 {
                            t.signal(me.s, Set(1), 1);
                        }
                    },
                ],
                [TEST_AND_READ_X, NOTHING],
            ])
        },
    )
    .on(2, 1)
    // The release names PE 0 and the put PE 1: whether the second block then has it in its past is left open.
    .strict(Verdict::perhaps(UNCOVERED, &[&[1], &[UNSET]]).only(&[&[0], &[1], &[UNSET]])),
    Shape::new(
        (33, ""),
        "quiet-without-barrier",
        "P0.0: Q; s:=1 ‖ P0.1: pn x@1=1 ‖ P1: W(s≥1); R x",
        2,
        Verdict::race(UNCOVERED, &[&[0], &[1]]).exact(),
        |w| {
            Words::new(w, 1).threads([
                [
                    |me, t| {
                        t.quiet();
                        t.signal_weak(me.s, Set(1), 1);
                    },
                    |me, t| {
                        t.put_nbi(me.x, &[1], 1);
                    },
                ],
                [WAIT_AND_READ_X, NOTHING],
            ])
        },
    )
    .on(1, 2),
    Shape::new(
        (34, ""),
        "quiet+barrier",
        "P0.0: B; Q; s:=1 ‖ P0.1: pn x@1=1; B ‖ P1: W(s≥1); R x",
        2,
        Verdict::ok(&[&[1]]),
        |w| {
            Words::new(w, 1).threads([
                [
                    |me, t| {
                        me.block_sync();
                        t.quiet();
                        t.signal_weak(me.s, Set(1), 1);
                    },
                    |me, t| {
                        t.put_nbi(me.x, &[1], 1);
                        me.block_sync();
                    },
                ],
                [WAIT_AND_READ_X, NOTHING],
            ])
        },
    )
    .on(1, 2),
];
