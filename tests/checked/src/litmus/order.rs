//! In which order do PEs see what two of them write?

use super::Shape;
use super::shape::{Rows, Verdict};
use super::words::{Actor, NOTHING, Words};

const SET_X: Actor = |me, t| t.atomic_set(me.atomic_x, 1, 2);
const SET_Y: Actor = |me, t| t.atomic_set(me.atomic_y, 1, 2);

/// The outcomes of four reads of two words that two PEs set. In the last, each reader sees another word set first.
const AGREED_OR_NOT: Rows = &[
    &[0, 0, 0, 0],
    &[0, 0, 0, 1],
    &[0, 0, 1, 0],
    &[0, 0, 1, 1],
    &[0, 1, 0, 0],
    &[0, 1, 0, 1],
    &[0, 1, 1, 0],
    &[0, 1, 1, 1],
    &[1, 0, 0, 0],
    &[1, 0, 0, 1],
    &[1, 0, 1, 1],
    &[1, 1, 0, 0],
    &[1, 1, 0, 1],
    &[1, 1, 1, 0],
    &[1, 1, 1, 1],
    &[1, 0, 1, 0],
];

/// Those in which the readers agree.
const AGREED: Rows = AGREED_OR_NOT.split_at(AGREED_OR_NOT.len() - 1).0;

/// Every pair of 0 and 1.
const PAIRS: Rows = &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]];

/// Every pair of 1 and 2 but the one in which both words were last written by whom wrote them first.
const DELIVERED_IN_ORDER: Rows = &[&[1, 2], &[2, 1], &[2, 2]];

pub(super) const SHAPES: &[Shape] = &[
    Shape::new(
        (39, ""),
        "iriw",
        "P0: x@2:=1 ‖ P1: y@2:=1 ‖ P2: fetch x@2; fetch y@2 ‖ P3: fetch y@2; fetch x@2",
        4,
        Verdict::ok(AGREED_OR_NOT),
        |w| {
            Words::new(w, 4).pes([
                SET_X,
                SET_Y,
                |me, t| {
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 2));
                    me.r.set(1, t.atomic_fetch(me.atomic_y, 2));
                },
                |me, t| {
                    me.r.set(2, t.atomic_fetch(me.atomic_y, 2));
                    me.r.set(3, t.atomic_fetch(me.atomic_x, 2));
                },
            ])
        },
    )
    .openshmem(Verdict::ok(AGREED)),
    Shape::new(
        (39, "a"),
        "iriw+acquire",
        "P0: x@2:=!1 ‖ P1: y@2:=!1 ‖ P2: acquire fetch x@2, y@2 ‖ P3: acquire fetch y@2, x@2",
        4,
        Verdict::ok(AGREED_OR_NOT),
        |w| {
            Words::new(w, 4).pes([
                |me, t| t.release().atomic_set(me.atomic_x, 1, 2),
                |me, t| t.release().atomic_set(me.atomic_y, 1, 2),
                |me, t| {
                    me.r.set(0, t.acquire().atomic_fetch(me.atomic_x, 2));
                    me.r.set(1, t.acquire().atomic_fetch(me.atomic_y, 2));
                },
                |me, t| {
                    me.r.set(2, t.acquire().atomic_fetch(me.atomic_y, 2));
                    me.r.set(3, t.acquire().atomic_fetch(me.atomic_x, 2));
                },
            ])
        },
    )
    .openshmem(Verdict::ok(AGREED)),
    Shape::new(
        (40, ""),
        "iriw+fence",
        "P0: x@2:=1 ‖ P1: y@2:=1 ‖ P2: fetch x@2; F; fetch y@2 ‖ P3: fetch y@2; F; fetch x@2",
        4,
        Verdict::ok(AGREED),
        |w| {
            Words::new(w, 4).pes([
                SET_X,
                SET_Y,
                |me, t| {
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 2));
                    t.fence();
                    me.r.set(1, t.atomic_fetch(me.atomic_y, 2));
                },
                |me, t| {
                    me.r.set(2, t.atomic_fetch(me.atomic_y, 2));
                    t.fence();
                    me.r.set(3, t.atomic_fetch(me.atomic_x, 2));
                },
            ])
        },
    )
    // By the letter a fence orders no fetches.
    .strict(Verdict::ok(AGREED).only(AGREED_OR_NOT)),
    Shape::new(
        (40, "q"),
        "iriw+quiet",
        "P0: x@2:=1 ‖ P1: y@2:=1 ‖ P2: fetch x@2; Q; fetch y@2 ‖ P3: fetch y@2; Q; fetch x@2",
        4,
        Verdict::ok(AGREED),
        |w| {
            Words::new(w, 4).pes([
                SET_X,
                SET_Y,
                |me, t| {
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 2));
                    t.quiet();
                    me.r.set(1, t.atomic_fetch(me.atomic_y, 2));
                },
                |me, t| {
                    me.r.set(2, t.atomic_fetch(me.atomic_y, 2));
                    t.quiet();
                    me.r.set(3, t.atomic_fetch(me.atomic_x, 2));
                },
            ])
        },
    ),
    Shape::new(
        (41, ""),
        "store-buffering",
        "P0: x@1:=1; fetch y@0 ‖ P1: y@0:=1; fetch x@1",
        2,
        Verdict::ok(PAIRS),
        |w| {
            Words::new(w, 2).pes([
                |me, t| {
                    t.atomic_set(me.atomic_x, 1, 1);
                    me.r.set(0, t.atomic_fetch(me.atomic_y, 0));
                },
                |me, t| {
                    t.atomic_set(me.atomic_y, 1, 0);
                    me.r.set(1, t.atomic_fetch(me.atomic_x, 1));
                },
            ])
        },
    ),
    Shape::new(
        (41, "f"),
        "store-buffering+fence",
        "P0: x@1:=1; F; fetch y@0 ‖ P1: y@0:=1; F; fetch x@1",
        2,
        Verdict::ok(PAIRS),
        |w| {
            Words::new(w, 2).pes([
                |me, t| {
                    t.atomic_set(me.atomic_x, 1, 1);
                    t.fence();
                    me.r.set(0, t.atomic_fetch(me.atomic_y, 0));
                },
                |me, t| {
                    t.atomic_set(me.atomic_y, 1, 0);
                    t.fence();
                    me.r.set(1, t.atomic_fetch(me.atomic_x, 1));
                },
            ])
        },
    ),
    Shape::new(
        (42, ""),
        "store-buffering+quiet",
        "P0: x@1:=1; Q; fetch y@0 ‖ P1: y@0:=1; Q; fetch x@1",
        2,
        Verdict::ok(&[&[0, 1], &[1, 0], &[1, 1]]),
        |w| {
            Words::new(w, 2).pes([
                |me, t| {
                    t.atomic_set(me.atomic_x, 1, 1);
                    t.quiet();
                    me.r.set(0, t.atomic_fetch(me.atomic_y, 0));
                },
                |me, t| {
                    t.atomic_set(me.atomic_y, 1, 0);
                    t.quiet();
                    me.r.set(1, t.atomic_fetch(me.atomic_x, 1));
                },
            ])
        },
    ),
    Shape::new(
        (43, ""),
        "load-buffering",
        "P0: fetch x@1; y@0:=1 ‖ P1: fetch y@0; x@1:=1",
        2,
        Verdict::ok(PAIRS),
        |w| {
            Words::new(w, 2).pes([
                |me, t| {
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 1));
                    t.atomic_set(me.atomic_y, 1, 0);
                },
                |me, t| {
                    me.r.set(1, t.atomic_fetch(me.atomic_y, 0));
                    t.atomic_set(me.atomic_x, 1, 1);
                },
            ])
        },
    )
    .openshmem(Verdict::ok(&[&[0, 0], &[0, 1], &[1, 0]])),
    Shape::new(
        (44, ""),
        "thin-air",
        "P0: r=fetch x@1; y@0:=r ‖ P1: q=fetch y@0; x@1:=q",
        2,
        Verdict::ok(&[&[0, 0]]),
        |w| {
            Words::new(w, 2).pes([
                |me, t| {
                    let r = t.atomic_fetch(me.atomic_x, 1);
                    me.r.set(0, r);
                    t.atomic_set(me.atomic_y, r, 0);
                },
                |me, t| {
                    let q = t.atomic_fetch(me.atomic_y, 0);
                    me.r.set(1, q);
                    t.atomic_set(me.atomic_x, q, 1);
                },
            ])
        },
    ),
    Shape::new(
        (45, ""),
        "two-reads-of-one-word",
        "P0: x@1:=1 ‖ P1: fetch x@1; fetch x@1",
        2,
        Verdict::ok(&[&[0, 0], &[0, 1], &[1, 1]]),
        |w| {
            Words::new(w, 2).pes([
                |me, t| t.atomic_set(me.atomic_x, 1, 1),
                |me, t| {
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 1));
                    me.r.set(1, t.atomic_fetch(me.atomic_x, 1));
                },
            ])
        },
    ),
    Shape::new(
        (46, ""),
        "2+2w+fence",
        "P0: x@2:=1; F; y@2:=2 ‖ P1: y@2:=1; F; x@2:=2 ‖ P2: – ; x@2, y@2 at the end",
        3,
        Verdict::ok(DELIVERED_IN_ORDER),
        |w| {
            let words = Words::new(w, 0);
            w.watch(2, words.atomic_x);
            w.watch(2, words.atomic_y);
            words.pes([
                |me, t| {
                    t.atomic_set(me.atomic_x, 1, 2);
                    t.fence();
                    t.atomic_set(me.atomic_y, 2, 2);
                },
                |me, t| {
                    t.atomic_set(me.atomic_y, 1, 2);
                    t.fence();
                    t.atomic_set(me.atomic_x, 2, 2);
                },
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (46, "n"),
        "2+2w",
        "P0: x@2:=1; y@2:=2 ‖ P1: y@2:=1; x@2:=2 ‖ P2: – ; x@2, y@2 at the end",
        3,
        Verdict::ok(&[&[1, 1], &[1, 2], &[2, 1], &[2, 2]]),
        |w| {
            let words = Words::new(w, 0);
            w.watch(2, words.atomic_x);
            w.watch(2, words.atomic_y);
            words.pes([
                |me, t| {
                    t.atomic_set(me.atomic_x, 1, 2);
                    t.atomic_set(me.atomic_y, 2, 2);
                },
                |me, t| {
                    t.atomic_set(me.atomic_y, 1, 2);
                    t.atomic_set(me.atomic_x, 2, 2);
                },
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (46, "s"),
        "2+2w+release",
        "P0: x@2:=1; y@2:=!2 ‖ P1: y@2:=1; x@2:=!2 ‖ P2: – ; x@2, y@2 at the end",
        3,
        // A release orders what is seen through it, not the order of writes that nobody acquires.
        Verdict::ok(&[&[1, 1], &[1, 2], &[2, 1], &[2, 2]]),
        |w| {
            let words = Words::new(w, 0);
            w.watch(2, words.atomic_x);
            w.watch(2, words.atomic_y);
            words.pes([
                |me, t| {
                    t.atomic_set(me.atomic_x, 1, 2);
                    t.release().atomic_set(me.atomic_y, 2, 2);
                },
                |me, t| {
                    t.atomic_set(me.atomic_y, 1, 2);
                    t.release().atomic_set(me.atomic_x, 2, 2);
                },
                NOTHING,
            ])
        },
    )
    // There it is a fence and the update.
    .openshmem(Verdict::ok(DELIVERED_IN_ORDER).only(&[&[1, 1], &[1, 2], &[2, 1], &[2, 2]])),
    Shape::new(
        (47, ""),
        "r+fence",
        "P0: x@2:=1; F; y@2:=1 ‖ P1: y@2:=2; Q; fetch x@2 ‖ P2: – ; y@2 at the end",
        3,
        Verdict::ok(&[&[0, 1], &[1, 1], &[1, 2]]),
        |w| {
            let words = Words::new(w, 1);
            w.watch(2, words.atomic_y);
            words.pes([
                |me, t| {
                    t.atomic_set(me.atomic_x, 1, 2);
                    t.fence();
                    t.atomic_set(me.atomic_y, 1, 2);
                },
                |me, t| {
                    t.atomic_set(me.atomic_y, 2, 2);
                    t.quiet();
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 2));
                },
                NOTHING,
            ])
        },
    ),
    Shape::new(
        (47, "s"),
        "r+release",
        "P0: x@2:=1; y@2:=!1 ‖ P1: y@2:=2; Q; fetch x@2 ‖ P2: – ; y@2 at the end",
        3,
        Verdict::ok(&[&[0, 1], &[0, 2], &[1, 1], &[1, 2]]),
        |w| {
            let words = Words::new(w, 1);
            w.watch(2, words.atomic_y);
            words.pes([
                |me, t| {
                    t.atomic_set(me.atomic_x, 1, 2);
                    t.release().atomic_set(me.atomic_y, 1, 2);
                },
                |me, t| {
                    t.atomic_set(me.atomic_y, 2, 2);
                    t.quiet();
                    me.r.set(0, t.atomic_fetch(me.atomic_x, 2));
                },
                NOTHING,
            ])
        },
    )
    .openshmem(Verdict::ok(&[&[0, 1], &[1, 1], &[1, 2]]).only(&[&[0, 1], &[0, 2], &[1, 1], &[1, 2]])),
];
