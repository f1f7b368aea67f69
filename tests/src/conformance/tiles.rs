//! Shared memory, the bulk copy engine, and the requests that lend it.

use super::element::Element;
use super::suite::{Bench, Vecs};
use crate::kernels::scope;
use crate::kernels::tiles::*;
use oxshmem::Result;
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::{LaunchConfig, bf16, f16};

/// The scopes that lie within a block.
const WITHIN: [(u32, &str); 4] =
    [(scope::THREAD, "thread"), (scope::WARP, "warp"), (scope::WARPS, "warps"), (scope::BLOCK, "block")];
/// Three warps, of which the last is not full.
const CONFIG: LaunchConfig = LaunchConfig::blocks(1).threads(80);
const ROOM: usize = 2 * TILE;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    let vecs = Vecs::new(bench.shmem, ROOM)?;
    there_and_back(bench, &vecs)?;
    in_flight(bench, &vecs)?;
    dropped(bench, &vecs)?;
    with_signal(bench, &vecs)?;
    vecs.free(bench.shmem)?;
    macro_rules! stages {
        ($($ty:ty)*) => {$(
            through_a_stage::<$ty>(bench, |b, dst, src, get, scope, pe| {
                staged::<$ty>::launch(b.shmem, CONFIG, dst, src, get, scope, pe)
            })?;
        )*};
    }
    stages!(u8 [u32; 3] u128);
    macro_rules! sums {
        ($($ty:ty: $kernel:ident, $of:expr;)*) => {$(
            added::<$ty>(bench, $of, |b, dst, src, scope| $kernel::launch(b.shmem, CONFIG, dst, src, scope))?;
        )*};
    }
    sums! {
        u32: add_u32, |n| n;
        u64: add_u64, u64::from;
        f32: add_f32, |n| n as f32;
        f16: add_f16, |n| f16::from_f32(n as f32);
        bf16: add_bf16, |n| bf16::from_f32(n as f32);
    }
    Ok(())
}

/// Small whole numbers, of which every type has the exact sum.
fn added<T: Pod + PartialEq + std::fmt::Debug>(
    bench: &Bench<'_>,
    of: impl Fn(u32) -> T,
    launch: impl Fn(&Bench<'_>, oxshmem_device::Sym<[T]>, oxshmem_device::Sym<[T]>, u32) -> Result<()>,
) -> Result<()> {
    const COUNT: usize = 301;
    let (src, dst) = (bench.shmem.alloc_zeroed::<T>(COUNT + 1)?, bench.shmem.alloc_zeroed::<T>(COUNT + 1)?);
    let (me, n) = (bench.shmem.my_pe(), bench.shmem.n_pes());
    for (number, name) in bench.scopes_of(&WITHIN) {
        for start in STARTS {
            src.write(&(0..=COUNT).map(|i| of((me + i as u32) % 3)).collect::<Vec<_>>())?;
            dst.write(&[of(1); COUNT + 1])?;
            bench.row(
                "put_add adds the tiles of all PEs, and touches no other element",
                || format!("{} at {name} scope, from {start}", std::any::type_name::<T>()),
                || launch(bench, dst.slice(start, COUNT), src.slice(start, COUNT), number),
                || dst.read(),
                |i| {
                    let inside = i >= start && i < start + COUNT;
                    let sum: u32 = (0..n).map(|pe| 2 * ((pe + i as u32) % 3)).sum();
                    of(if inside { 1 + sum } else { 1 })
                },
            )?;
        }
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}

/// Where a tile lies in the heap: on the 16-byte grid, where the engine moves it, and off it.
const STARTS: [usize; 2] = [0, 1];

fn there_and_back(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes_of(&WITHIN) {
        for start in STARTS {
            vecs.fill(me, number)?;
            bench.reset_signals()?;
            bench.row(
                "a tile is sent whole and may be written when put returns, and get fills it, again and again",
                || format!("{name} scope, from {start}"),
                || {
                    let (dst, src) = (vecs.dst.slice(start, TILE), vecs.src.slice(start, TILE));
                    let (seen, signal) = (vecs.seen.slice(0, TILE), bench.signals.at(0));
                    tile_there_and_back::launch(bench.shmem, CONFIG, dst, src, seen, signal, number, next)
                },
                || Ok(vecs.seen.read()?[..TILE].to_vec()),
                |i| u32::value(prev, i + start, number).wrapping_add(u32::value(next, i + start, number)),
            )?;
        }
    }
    Ok(())
}

fn in_flight(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes_of(&WITHIN) {
        for start in STARTS {
            vecs.fill(me, number)?;
            let count = ROOM - start;
            bench.row(
                "lent shared memory comes back by its request, when it may be used",
                || format!("{name} scope, from {start}"),
                || {
                    let (dst, src) = (vecs.dst.slice(start, count), vecs.src.slice(start, count));
                    tiles_in_flight::launch(bench.shmem, CONFIG, dst, src, number, next)
                },
                || vecs.dst.read(),
                |i| {
                    let inside = i >= start && i < start + TILE + 200;
                    if inside { u32::value(prev, i, number).wrapping_mul(2) } else { 0 }
                },
            )?;
        }
    }
    Ok(())
}

fn dropped(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes_of(&WITHIN) {
        vecs.fill(me, number)?;
        bench.row(
            "a request that is dropped has let go of its memory",
            || format!("{name} scope"),
            || {
                let (dst, src) = (vecs.dst.slice(0, TILE), vecs.src.slice(0, TILE));
                dropped_request::launch(bench.shmem, CONFIG, dst, src, number, next)
            },
            || vecs.dst.read(),
            |i| if i < TILE { u32::value(prev, i, number) } else { 0 },
        )?;
    }
    Ok(())
}

fn with_signal(bench: &Bench<'_>, vecs: &Vecs) -> Result<()> {
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes_of(&WITHIN) {
        for start in STARTS {
            vecs.fill(me, number)?;
            bench.reset_signals()?;
            bench.row(
                "whoever sees the signal of a tile's put_signal_nbi sees the tile",
                || format!("{name} scope, from {start}"),
                || {
                    let (dst, src) = (vecs.dst.slice(start, TILE), vecs.src.slice(start, TILE));
                    let (seen, signal) = (vecs.seen.slice(0, TILE), bench.signals.at(3));
                    tile_signal::launch(bench.shmem, CONFIG, dst, src, seen, signal, number, next)
                },
                || Ok(vecs.seen.read()?[..TILE].to_vec()),
                |i| u32::value(prev, i + start, number),
            )?;
        }
    }
    Ok(())
}

fn through_a_stage<T: Element>(
    bench: &Bench<'_>,
    launch: impl Fn(&Bench<'_>, oxshmem_device::Sym<[T]>, oxshmem_device::Sym<[T]>, u32, u32, u32) -> Result<()>,
) -> Result<()> {
    let room = 5 * STAGE + 64;
    let (src, dst) = (bench.shmem.alloc_zeroed::<T>(room)?, bench.shmem.alloc_zeroed::<T>(room)?);
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    let chunk = (STAGE / 4).div_ceil(size_of::<T>());
    // Nothing, less than a word, one chunk and its neighbours, many; on the grid, off it alike, off it differently.
    let counts = [0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk + 5, 4 * chunk, 9 * chunk + 2];
    for (number, name) in bench.scopes_of(&WITHIN) {
        for count in counts {
            for (to, from) in [(0, 0), (3, 3), (1, 2)] {
                for (get, rule) in [
                    (0, "put_staged writes the target's range and nothing else"),
                    (1, "get_staged reads the source's range and writes nothing else"),
                ] {
                    src.write(&(0..room).map(|i| T::value(me, i, number)).collect::<Vec<_>>())?;
                    dst.fill(T::zeroed())?;
                    let origin = if get == 0 { prev } else { next };
                    bench.row(
                        rule,
                        || format!("{} at {name} scope, {count} elements from {from} to {to}", T::NAME),
                        || launch(bench, dst.slice(to, count), src.slice(from, count), get, number, next),
                        || dst.read(),
                        |i| {
                            let inside = i >= to && i < to + count;
                            if inside { T::value(origin, i - to + from, number) } else { T::zeroed() }
                        },
                    )?;
                }
            }
        }
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}
