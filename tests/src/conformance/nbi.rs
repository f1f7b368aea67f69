//! Non-blocking puts and gets: what completes them, and what may be done when.

use super::element::Element;
use super::suite::{Bench, ROOM, TWO_BLOCKS, Vecs};
use crate::kernels::nbi::*;
use oxshmem::Result;

/// Counts and starts of target and source.
const SHAPES: [(usize, usize, usize); 5] = [(0, 0, 0), (1, 0, 3), (61, 1, 2), (512, 4, 4), (1000, 5, 0)];

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    let vecs = Vecs::new(bench.shmem, ROOM)?;
    quiet(bench, &vecs)?;
    flush(bench, &vecs)?;
    gets(bench, &vecs)?;
    with_signal(bench, &vecs)?;
    fences(bench, &vecs)?;
    syncs(bench, &vecs)?;
    vecs.free(bench.shmem)
}

fn quiet(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        for (count, to, from) in SHAPES {
            for one_pe in [0, 1] {
                vecs.fill(me, number)?;
                bench.reset_signals()?;
                bench.row(
                    if one_pe == 0 {
                        "after quiet a put_nbi has arrived"
                    } else {
                        "after pe_quiet of its target a put_nbi has arrived"
                    },
                    || format!("{name} scope, {count} elements from {from} to {to}"),
                    || {
                        let (dst, src) = (vecs.dst.slice(to, count), vecs.src.slice(from, count));
                        let (seen, signal) = (vecs.seen.slice(0, count), bench.signals.at(0));
                        put_nbi_quiet::launch(
                            bench.shmem,
                            TWO_BLOCKS,
                            dst,
                            src,
                            seen,
                            signal,
                            number,
                            one_pe,
                            next,
                        )
                    },
                    || vecs.seen.read(),
                    |i| if i < count { u32::value(prev, i + from, number) } else { 0 },
                )?;
            }
        }
    }
    Ok(())
}

fn flush(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    let local = bench.local::<u32>(ROOM)?;
    for (number, name) in bench.scopes() {
        vecs.fill(me, number)?;
        local.write(&(0..ROOM).map(|i| u32::value(me, i, number)).collect::<Vec<_>>())?;
        bench.row(
            "after flush the source of a put_nbi may be written",
            || format!("{name} scope"),
            || put_nbi_flush::launch(bench.shmem, TWO_BLOCKS, &vecs.dst, &local, number, next),
            || vecs.dst.read(),
            |i| u32::value(prev, i, number),
        )?;
    }
    Ok(())
}

fn gets(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((next, _), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        for (count, to, from) in SHAPES {
            vecs.fill(me, number)?;
            bench.row(
                "after quiet a get_nbi has brought its data",
                || format!("{name} scope, {count} elements from {from} to {to}"),
                || {
                    let (dst, src) = (vecs.dst.slice(to, count), vecs.src.slice(from, count));
                    get_nbi_quiet::launch(bench.shmem, TWO_BLOCKS, dst, src, number, next)
                },
                || vecs.dst.read(),
                |i| {
                    let inside = i >= to && i < to + count;
                    if inside { u32::value(next, i - to + from, number).wrapping_add(1) } else { 0 }
                },
            )?;
        }
    }
    Ok(())
}

fn with_signal(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        for (count, to, from) in SHAPES {
            for add in [0, 1] {
                vecs.fill(me, number)?;
                bench.reset_signals()?;
                bench.row(
                    if add == 0 {
                        "whoever sees the signal that a put_signal_nbi set sees its data, also when it is empty"
                    } else {
                        "whoever sees the signal that a put_signal_nbi added to sees its data, also when it is empty"
                    },
                    || format!("{name} scope, {count} elements from {from} to {to}, add {add}"),
                    || {
                        let (dst, src) = (vecs.dst.slice(to, count), vecs.src.slice(from, count));
                        let (seen, signal) = (vecs.seen.slice(0, count), bench.signals.at(2));
                        put_signal_nbi::launch(
                            bench.shmem,
                            TWO_BLOCKS,
                            dst,
                            src,
                            seen,
                            signal,
                            number,
                            add,
                            next,
                        )
                    },
                    || vecs.seen.read(),
                    |i| if i < count { u32::value(prev, i + from, number) } else { 0 },
                )?;
            }
        }
    }
    Ok(())
}

fn fences(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((_, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        vecs.fill(me, number)?;
        bench.reset_signals()?;
        bench.row(
            "after pe_fence the leader's weak signal to that PE follows the data",
            || format!("{name} scope"),
            || {
                let (dst, src, seen) = (&vecs.dst, &vecs.src, &vecs.seen);
                pe_fence::launch(bench.shmem, TWO_BLOCKS, dst, src, seen, bench.signals.at(1), number)
            },
            || vecs.seen.read(),
            |i| if i < ROOM / 2 { u32::value(prev, i, number) } else { 0 },
        )?;
    }
    Ok(())
}

fn syncs(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    const ROUNDS: u32 = 5;
    let ((next, _), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        vecs.fill(me, 0)?;
        bench.row(
            "after sync_all every PE sees what the others stored in their own memory",
            || format!("{name} scope"),
            || {
                let (words, seen) = (vecs.dst.slice(0, 300), vecs.seen.slice(0, 300));
                sync_all::launch(bench.shmem, TWO_BLOCKS, words, seen, ROUNDS, number)
            },
            || Ok(vecs.seen.read()?[..300].to_vec()),
            |i| (0..ROUNDS).map(|round| 1000 * next + 10 * round + i as u32).sum(),
        )?;
    }
    Ok(())
}
