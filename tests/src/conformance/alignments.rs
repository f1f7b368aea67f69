//! Copies between all pairs of alignments, and with all memory of a thread.

use super::element::Element;
use super::suite::{Bench, RAGGED};
use crate::kernels::alignments::*;
use oxshmem::Result;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    bytes(bench)?;
    elements::<u16>(bench, |b, dst, src, scope, pe| {
        element_alignments::<u16>::launch(b.shmem, RAGGED, dst, src, scope, pe)
    })?;
    elements::<u32>(bench, |b, dst, src, scope, pe| {
        element_alignments::<u32>::launch(b.shmem, RAGGED, dst, src, scope, pe)
    })?;
    elements::<u64>(bench, |b, dst, src, scope, pe| {
        element_alignments::<u64>::launch(b.shmem, RAGGED, dst, src, scope, pe)
    })?;
    private(bench)
}

fn bytes(bench: &Bench<'_>) -> Result<()> {
    let room = 256 * SLOT as usize;
    let (src, dst) = (bench.shmem.alloc_zeroed::<u8>(256)?, bench.shmem.alloc_zeroed::<u8>(room)?);
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        for (get, rule) in [
            (0, "put copies bytes from every alignment to every alignment"),
            (1, "get copies bytes from every alignment to every alignment"),
        ] {
            src.write(&(0..256).map(|i| u8::value(me, i, number)).collect::<Vec<_>>())?;
            dst.fill(0)?;
            let origin = if get == 0 { prev } else { next };
            bench.row(
                rule,
                || format!("{name} scope"),
                || all_alignments::launch(bench.shmem, RAGGED, &dst, &src, get, number, next),
                || dst.read(),
                |i| {
                    let (pair, at) = (i / SLOT as usize, i % SLOT as usize);
                    let (from, to) = (pair >> 4, pair & 15);
                    let inside = at >= to && at < to + BYTES as usize;
                    if inside { u8::value(origin, at - to + from, number) } else { 0 }
                },
            )?;
        }
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}

fn elements<T: Element>(
    bench: &Bench<'_>,
    launch: impl Fn(&Bench<'_>, oxshmem_device::Sym<[T]>, oxshmem_device::Sym<[T]>, u32, u32) -> Result<()>,
) -> Result<()> {
    let size = size_of::<T>();
    let (each, slot, count) = (16 / size, 128 / size, 100 / size);
    let (src, dst) =
        (bench.shmem.alloc_zeroed::<T>(256)?, bench.shmem.alloc_zeroed::<T>(each * each * slot)?);
    let ((next, prev), me) = (bench.neighbours(), bench.shmem.my_pe());
    for (number, name) in bench.scopes() {
        src.write(&(0..256).map(|i| T::value(me, i, number)).collect::<Vec<_>>())?;
        dst.fill(T::zeroed())?;
        bench.row(
            "put copies elements from every alignment to every alignment",
            || format!("{} at {name} scope", T::NAME),
            || launch(bench, dst.slice(0, dst.len()), src.slice(0, src.len()), number, next),
            || dst.read(),
            |i| {
                let (pair, at) = (i / slot, i % slot);
                let (from, to) = (pair / each, pair % each);
                let inside = at >= to && at < to + count;
                if inside { T::value(prev, at - to + from, number) } else { T::zeroed() }
            },
        )?;
    }
    bench.shmem.free(src)?;
    bench.shmem.free(dst)
}

fn private(bench: &Bench<'_>) -> Result<()> {
    let data = bench.shmem.alloc_zeroed::<u32>(5)?;
    let me = bench.shmem.my_pe();
    data.write(&[me, me + 10, me + 20, me + 30, me + 40])?;
    let next = bench.neighbours().0;
    bench.row(
        "get fills a thread's own array, and put_nbi captures one at once",
        || "five elements".into(),
        || own_array::launch(bench.shmem, RAGGED, &data, next),
        || data.read(),
        |i| me + 10 * i as u32 + 1,
    )?;
    bench.shmem.free(data)
}
