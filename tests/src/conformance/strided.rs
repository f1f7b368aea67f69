//! Elements at a stride, by their numbers, and several in flight.

use super::element::Element;
use super::suite::{Bench, RAGGED, ROOM, TWO_BLOCKS};
use crate::kernels::strided::*;
use oxshmem::Result;

/// Strides of target and source, and counts.
const STRIDES: [(usize, usize, usize); 6] =
    [(1, 1, 0), (1, 1, 700), (2, 1, 333), (1, 3, 400), (7, 5, 500), (4999, 4999, 2)];

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    macro_rules! strides {
        ($kernel:ident, $get:literal: $($ty:ty)*) => {$(
            at_strides::<$ty>(bench, $get, |b, dst, src, strides, count, nbi, scope, pe| {
                $kernel::<$ty>::launch(b.shmem, TWO_BLOCKS, dst, src, strides, count, nbi, scope, pe)
            })?;
        )*};
    }
    strides!(iput, false: u32 [u16; 3] u128);
    strides!(iget, true: u8 [u16; 3] u64);
    macro_rules! gathers {
        ($($ty:ty)*) => {$(
            by_number::<$ty>(bench, |b, dst, src, indices, nbi, scope, pe| {
                gather::<$ty>::launch(b.shmem, TWO_BLOCKS, dst, src, indices, nbi, scope, pe)
            })?;
        )*};
    }
    gathers!(u16 [u32; 3]);
    wide_numbers(bench)?;
    in_flight(bench)
}

type Sym<T> = oxshmem_device::Sym<[T]>;

fn at_strides<T: Element>(
    bench: &Bench<'_>,
    get: bool,
    launch: impl Fn(&Bench<'_>, Sym<T>, Sym<T>, u64, u64, u32, u32, u32) -> Result<()>,
) -> Result<()> {
    let (src, dst) = (bench.symmetric::<T>()?, bench.symmetric::<T>()?);
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    let mut round = 0;
    for (number, name) in bench.scopes() {
        for (to, from, count) in STRIDES {
            let rules = if get {
                [
                    "iget reads the elements at its stride and writes none between",
                    "iget_nbi has read the elements at its stride after quiet",
                ]
            } else {
                [
                    "iput writes the elements at its stride and none between",
                    "iput_nbi has written the elements at its stride after quiet",
                ]
            };
            for (nbi, rule) in (0..).zip(rules) {
                round += 1;
                src.write(&(0..ROOM).map(|i| T::value(me, i, round)).collect::<Vec<_>>())?;
                dst.fill(T::zeroed())?;
                let origin = if get { next } else { prev };
                let strides = (to as u64) << 32 | from as u64;
                bench.row(
                    rule,
                    || format!("{} at {name} scope, {count} elements, strides {to} and {from}", T::NAME),
                    || {
                        launch(
                            bench,
                            dst.slice(0, dst.len()),
                            src.slice(0, src.len()),
                            strides,
                            count as u64,
                            nbi,
                            number,
                            next,
                        )
                    },
                    || dst.read(),
                    |i| {
                        let hit = i.is_multiple_of(to) && i / to < count;
                        if hit { T::value(origin, i / to * from, round) } else { T::zeroed() }
                    },
                )?;
            }
        }
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}

/// Numbers in no order, some twice.
fn scattered(i: usize) -> usize {
    (i * 2741 + 13) % 1777
}

fn by_number<T: Element>(
    bench: &Bench<'_>,
    launch: impl Fn(&Bench<'_>, Sym<T>, Sym<T>, &oxshmem::DeviceVec<u32>, u32, u32, u32) -> Result<()>,
) -> Result<()> {
    let (src, dst) = (bench.symmetric::<T>()?, bench.symmetric::<T>()?);
    let ((next, _), me) = (bench.neighbours(), bench.shmem.my_pe());
    for count in [0, 1, 37, 3000] {
        let indices = bench.local::<u32>(count)?;
        indices.write(&(0..count).map(|i| scattered(i) as u32).collect::<Vec<_>>())?;
        for (number, name) in bench.scopes() {
            for (nbi, rule) in [
                (0, "gather reads the elements that its numbers name, in their order"),
                (1, "gather_nbi has read the elements that its numbers name after quiet"),
            ] {
                src.write(&(0..ROOM).map(|i| T::value(me, i, number)).collect::<Vec<_>>())?;
                dst.fill(T::zeroed())?;
                bench.row(
                    rule,
                    || format!("{} at {name} scope, {count} elements", T::NAME),
                    || {
                        launch(
                            bench,
                            dst.slice(0, count),
                            src.slice(0, src.len()),
                            &indices,
                            nbi,
                            number,
                            next,
                        )
                    },
                    || dst.read(),
                    |i| if i < count { T::value(next, scattered(i), number) } else { T::zeroed() },
                )?;
            }
        }
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}

fn wide_numbers(bench: &Bench<'_>) -> Result<()> {
    let (src, indices) = (bench.symmetric::<u32>()?, bench.symmetric::<u64>()?);
    let local = bench.local::<u32>(ROOM)?;
    let ((next, _), me) = (bench.neighbours(), bench.shmem.my_pe());
    src.write(&(0..ROOM).map(|i| u32::value(me, i, 3)).collect::<Vec<_>>())?;
    indices.write(&(0..ROOM).map(|i| scattered(i) as u64).collect::<Vec<_>>())?;
    for (number, name) in bench.scopes() {
        local.write(&[0; ROOM])?;
        bench.row(
            "gather takes 64-bit numbers from symmetric memory",
            || format!("{name} scope"),
            || gather_wide::launch(bench.shmem, TWO_BLOCKS, &local, &src, &indices, number, next),
            || local.read(),
            |i| u32::value(next, scattered(i), 3),
        )?;
    }
    bench.shmem.free(src)?;
    bench.shmem.free(indices)
}

fn in_flight(bench: &Bench<'_>) -> Result<()> {
    let (src, dst) = (bench.symmetric::<u64>()?, bench.symmetric::<u64>()?);
    let ((next, _), me) = (bench.neighbours(), bench.shmem.my_pe());
    src.write(&(0..ROOM).map(|i| u64::from(me) * 1_000_000 + i as u64).collect::<Vec<_>>())?;
    bench.row(
        "g_nbi gives each value by its own request",
        || "four in flight".into(),
        || four_in_flight::<u64>::launch(bench.shmem, RAGGED, dst.slice(0, 4000), &src, next),
        || dst.read(),
        |i| if i < 4000 { u64::from(next) * 4_000_000 + 4 * i as u64 + 6 } else { 0 },
    )?;
    let (src, dst) = (bench.symmetric::<u32>()?, bench.symmetric::<u32>()?);
    src.write(&(0..ROOM).map(|i| u32::value(me, i, 5) >> 8).collect::<Vec<_>>())?;
    bench.row(
        "g_nbi gives each value by its own request",
        || "four in flight, 32 bits".into(),
        || four_in_flight::<u32>::launch(bench.shmem, RAGGED, dst.slice(0, 4000), &src, next),
        || dst.read(),
        |i| {
            let sum = (i..i + 4).map(|i| u32::value(next, i, 5) >> 8).sum();
            if i < 4000 { sum } else { 0 }
        },
    )?;
    dst.fill(0)?;
    src.write(&(0..ROOM).map(|i| u32::value(me, i, 5)).collect::<Vec<_>>())?;
    bench.row(
        "get_array_nbi hands out the array that it read",
        || "eight elements a thread".into(),
        || eight_in_flight::launch(bench.shmem, RAGGED, dst.slice(0, 4000), &src, next),
        || dst.read(),
        |i| if i < 4000 { u32::value(next, i ^ 7, 5) } else { 0 },
    )?;
    macro_rules! by_warps {
        ($($ty:ty)*) => {$({
            let (src, dst) = (bench.symmetric::<$ty>()?, bench.symmetric::<$ty>()?);
            src.write(&(0..ROOM).map(|i| <$ty>::value(me, i, 6)).collect::<Vec<_>>())?;
            bench.row(
                "a warp's g gives each lane its element, also in a warp that is not full",
                || <$ty>::NAME.into(),
                || warp_g::<$ty>::launch(bench.shmem, RAGGED, dst.slice(0, 140), &src, next),
                || dst.read(),
                |i| if i < 140 { <$ty>::value(next, i, 6) } else { Default::default() },
            )?;
            bench.shmem.free(src)?;
            bench.shmem.free(dst)?;
        })*};
    }
    by_warps!(u8 u32 u128);
    Ok(())
}
