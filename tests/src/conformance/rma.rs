//! put, get, p, g and put_signal: the right bytes arrive, and no others change.

use super::element::Element;
use super::suite::{Bench, RAGGED, ROOM, TWO_BLOCKS, Vecs};
use crate::kernels::rma::*;
use oxshmem::Result;
use oxshmem_device::Reach;

/// Counts and starts (in elements) of source and target: odd, aligned differently, empty, across 16-byte grids.
const SHAPES: [(usize, usize, usize); 9] = [
    (0, 0, 0),
    (1, 0, 0),
    (3, 1, 2),
    (16, 0, 0),
    (17, 3, 3),
    (64, 5, 1),
    (333, 7, 7),
    (1000, 0, 9),
    (4096, 16, 32),
];

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    macro_rules! for_each_type {
        ($($ty:ty)*) => {$(
            copies::<$ty>(
                bench,
                |b, dst, src, s, pe| put::<$ty>::launch(b.shmem, TWO_BLOCKS, dst, src, s, pe),
                |b, dst, src, s, pe| get::<$ty>::launch(b.shmem, TWO_BLOCKS, dst, src, s, pe),
            )?;
            scalars::<$ty>(
                bench,
                |b, dst, src, pe| p::<$ty>::launch(b.shmem, RAGGED, dst, src, pe),
                |b, dst, src, pe| g::<$ty>::launch(b.shmem, RAGGED, dst, src, pe),
            )?;
        )*};
    }
    for_each_type!(u8 u16 u32 u64 u128);
    ragged_blocks(bench)?;
    other_buffers(bench)?;
    with_signal(bench)?;
    to_self(bench)
}

type Sym<T> = oxshmem_device::Sym<[T]>;

fn copies<T: Element>(
    bench: &Bench<'_>,
    put: impl Fn(&Bench<'_>, Sym<T>, Sym<T>, u32, u32) -> Result<()>,
    get: impl Fn(&Bench<'_>, Sym<T>, Sym<T>, u32, u32) -> Result<()>,
) -> Result<()> {
    let (src, dst) = (bench.symmetric::<T>()?, bench.symmetric::<T>()?);
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    let mut round = 0;
    for (number, name) in bench.scopes() {
        for (count, from, to) in SHAPES {
            for is_put in [true, false] {
                round += 1;
                src.write(&(0..ROOM).map(|i| T::value(me, i, round)).collect::<Vec<_>>())?;
                dst.fill(T::zeroed())?;
                let (target, source) = (dst.slice(to, count), src.slice(from, count));
                let origin = if is_put { prev } else { next };
                bench.row(
                    if is_put {
                        "put writes the target's range and nothing else"
                    } else {
                        "get reads the source's range and writes nothing else"
                    },
                    || format!("{} at {name} scope, {count} elements from {from} to {to}", T::NAME),
                    || {
                        if is_put {
                            put(bench, target, source, number, next)
                        } else {
                            get(bench, target, source, number, next)
                        }
                    },
                    || dst.read(),
                    |i| {
                        if i >= to && i < to + count {
                            T::value(origin, i - to + from, round)
                        } else {
                            T::zeroed()
                        }
                    },
                )?;
            }
        }
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}

fn scalars<T: Element>(
    bench: &Bench<'_>,
    p: impl Fn(&Bench<'_>, Sym<T>, Sym<T>, u32) -> Result<()>,
    g: impl Fn(&Bench<'_>, Sym<T>, Sym<T>, u32) -> Result<()>,
) -> Result<()> {
    let (src, dst) = (bench.symmetric::<T>()?, bench.symmetric::<T>()?);
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (round, (is_p, count, start)) in
        [(true, 1, 0), (true, 777, 3), (false, 1, 0), (false, 777, 3)].into_iter().enumerate()
    {
        src.write(&(0..ROOM).map(|i| T::value(me, i, round as u32)).collect::<Vec<_>>())?;
        dst.fill(T::zeroed())?;
        let (target, source) = (dst.slice(start, count), src.slice(start, count));
        let origin = if is_p { prev } else { next };
        let range = start..start + count;
        bench.row(
            if is_p { "p writes one element" } else { "g reads one element" },
            || format!("{}, {count} elements from {start}", T::NAME),
            || if is_p { p(bench, target, source, next) } else { g(bench, target, source, next) },
            || dst.read(),
            |i| if range.contains(&i) { T::value(origin, i, round as u32) } else { T::zeroed() },
        )?;
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}

/// Blocks whose last warp is not full.
fn ragged_blocks(bench: &Bench<'_>) -> Result<()> {
    let (src, dst) = (bench.symmetric::<u32>()?, bench.symmetric::<u32>()?);
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    src.write(&(0..ROOM).map(|i| u32::value(me, i, 0)).collect::<Vec<_>>())?;
    for (number, name) in bench.scopes() {
        dst.fill(0)?;
        bench.row(
            "a block whose last warp is not full moves everything",
            || format!("put at {name} scope"),
            || put::<u32>::launch(bench.shmem, RAGGED, &dst, &src, number, next),
            || dst.read(),
            |i| u32::value(prev, i, 0),
        )?;
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}

/// Sources and destinations that are not symmetric.
fn other_buffers(bench: &Bench<'_>) -> Result<()> {
    let dst = bench.symmetric::<u32>()?;
    let local = bench.local::<u32>(ROOM)?;
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        local.write(&(0..ROOM).map(|i| u32::value(me, i, number)).collect::<Vec<_>>())?;
        dst.fill(0)?;
        bench.row(
            "put takes local device memory as its source",
            || format!("{name} scope"),
            || put_global::launch(bench.shmem, TWO_BLOCKS, &dst, &local, number, next),
            || dst.read(),
            |i| u32::value(prev, i, number),
        )?;
        local.write(&[0; ROOM])?;
        // Every PE now holds its left neighbour's values.
        bench.row(
            "get takes local device memory as its destination",
            || format!("{name} scope"),
            || get_global::launch(bench.shmem, TWO_BLOCKS, &local, &dst, number, next),
            || local.read(),
            |i| u32::value(me, i, number),
        )?;
    }
    dst.write(&(0..ROOM).map(|i| u32::value(me, i, 9)).collect::<Vec<_>>())?;
    bench.row(
        "get to and put from shared memory",
        || "300 elements through a tile".into(),
        || {
            through_shared::launch(
                bench.shmem,
                oxshmem_device::LaunchConfig::blocks(1).threads(64),
                dst.slice(8, 300),
                next,
            )
        },
        || dst.read(),
        |i| u32::value(me, i, 9).wrapping_add(u32::from((8..308).contains(&i))),
    )?;
    dst.fill(0)?;
    bench.row(
        "put takes a thread's own array as its source",
        || "5 elements".into(),
        || put_private::launch(bench.shmem, TWO_BLOCKS, dst.slice(1, 5), 100 * (me + 1), next),
        || dst.read(),
        |i| if (1..6).contains(&i) { 100 * (prev + 1) + i as u32 - 1 } else { 0 },
    )?;
    bench.shmem.free(dst)
}

fn with_signal(bench: &Bench<'_>) -> Result<()> {
    let vecs = Vecs::new(bench.shmem, ROOM)?;
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        for (count, from, to) in SHAPES {
            for add in [0, 1] {
                vecs.fill(me, number + add)?;
                bench.reset_signals()?;
                let value = if add == 0 { u64::MAX - 5 } else { 3 };
                let range = |vec: &oxshmem::SymVec<u32>, start: usize| vec.slice(start, count);
                bench.row(
                    if add == 0 {
                        "whoever sees the signal that a put_signal set sees its data, also when it is empty"
                    } else {
                        "whoever sees the signal that a put_signal added to sees its data, also when it is empty"
                    },
                    || {
                        format!(
                            "{name} scope, {count} elements from {from} to {to}, {}",
                            if add == 0 { "set" } else { "add" }
                        )
                    },
                    || {
                        let (dst, src, seen) = (range(&vecs.dst, to), range(&vecs.src, from), range(&vecs.seen, 0));
                        let signal = bench.signals.at(1);
                        put_signal::launch(
                            bench.shmem,
                            TWO_BLOCKS,
                            dst,
                            src,
                            seen,
                            signal,
                            number,
                            add,
                            value,
                            next,
                        )
                    },
                    || Ok(vecs.seen.read()?[..count].to_vec()),
                    |i| u32::value(prev, i + from, number + add),
                )?;
                bench.row(
                    if add == 0 {
                        "put_signal sets its signal and no other"
                    } else {
                        "put_signal adds to its signal once and to no other"
                    },
                    || format!("{name} scope, {count} elements"),
                    || Ok(()),
                    || bench.signals.values(),
                    |i| if i == 1 { value } else { 0 },
                )?;
            }
        }
    }
    vecs.free(bench.shmem)
}

/// A PE may name itself.
fn to_self(bench: &Bench<'_>) -> Result<()> {
    let (src, dst) = (bench.symmetric::<u64>()?, bench.symmetric::<u64>()?);
    let me = bench.shmem.my_pe();
    src.write(&(0..ROOM).map(|i| u64::value(me, i, 77)).collect::<Vec<_>>())?;
    for (number, name) in bench.scopes() {
        dst.fill(0)?;
        bench.row(
            "a PE may put to itself",
            || format!("{name} scope"),
            || put::<u64>::launch(bench.shmem, TWO_BLOCKS, &dst, &src, number, me),
            || dst.read(),
            |i| u64::value(me, i, 77),
        )?;
    }
    for (number, name) in bench.scopes() {
        dst.write(&(0..ROOM).map(|i| u64::value(me, i, 78)).collect::<Vec<_>>())?;
        bench.row(
            "source and target may be the same range",
            || format!("{name} scope"),
            || put::<u64>::launch(bench.shmem, TWO_BLOCKS, &dst, &dst, number, me),
            || dst.read(),
            |i| u64::value(me, i, 78),
        )?;
    }
    let node = bench.shmem.alloc_atomics::<u32>(3, Reach::Node)?;
    bench.row(
        "a handle keeps its reach",
        || "Reach::Node".into(),
        || Ok(()),
        || Ok(vec![node.at(2).reach()]),
        |_| Reach::Node,
    )?;
    bench.shmem.free(node)?;
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}
