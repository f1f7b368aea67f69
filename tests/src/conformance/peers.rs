//! Direct loads and stores of a peer's copy.

use super::failures::{Expected, fails};
use super::suite::{Bench, Report, TWO_BLOCKS};
use crate::kernels::peers::*;
use oxshmem::{Result, Shmem};
use oxshmem_device::LaunchConfig;
use oxshmem_device::abi::{Cause, Operation};

/// Every rule of this file but those of failures.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    let (shmem, (next, prev), me) = (bench.shmem, bench.neighbours(), bench.shmem.my_pe());
    let n = shmem.n_pes() as usize;
    let (data, out) = (shmem.alloc_zeroed::<u32>(5)?, shmem.alloc_zeroed::<u32>(n + 4)?);
    bench.row(
        "ptr points at PEs that exist and ranges that do",
        || "all PEs".into(),
        || pointers::launch(shmem, LaunchConfig::blocks(1), &data, &out),
        || out.read(),
        |i| u32::from(i < n || i == n + 3),
    )?;
    shmem.free(out)?;
    macro_rules! each_type {
        ($($ty:ident)*) => {
            $({
                let count = 70;
                let (dst, src) = (shmem.alloc_zeroed::<$ty>(count + 5)?, shmem.alloc_zeroed::<$ty>(count)?);
                let seen = shmem.alloc_zeroed::<$ty>(count)?;
                for kind in 0..4 {
                    let value = |pe: u32, i: usize| ((pe as usize * 7 + i * 3 + kind as usize + 1) % 120) as $ty;
                    src.write(&(0..count).map(|i| value(me, i)).collect::<Vec<_>>())?;
                    seen.fill(0 as $ty)?;
                    let what = || format!("{}, {}", stringify!($ty), ["weak", "relaxed", "ordered", "volatile"][kind as usize]);
                    let config = LaunchConfig::blocks(1).threads(40);
                    bench.row(
                        "a direct store reaches its element of the peer and no other",
                        what,
                        || direct::<$ty>::launch(shmem, config, &dst, &src, &seen, kind, next),
                        || dst.read(),
                        |i| if (3..3 + count).contains(&i) { value(prev, i - 3) } else { 0 as $ty },
                    )?;
                    let rule = "a direct load reads the peer's copy";
                    bench.row(rule, what, || Ok(()), || seen.read(), |i| value(me, i))?;
                }
                shmem.free(dst)?;
                shmem.free(src)?;
                shmem.free(seen)?;
            })*
        };
    }
    each_type!(u8 u16 u32 u64 u128 f32);
    covering(bench)?;
    shmem.free(data)
}

fn covering(bench: &Bench<'_>) -> Result<()> {
    let (shmem, (next, _)) = (bench.shmem, bench.neighbours());
    let (dst, seen) = (shmem.alloc_zeroed::<u32>(333)?, shmem.alloc_zeroed::<u32>(333)?);
    bench.reset_signals()?;
    let mut round = 0;
    for (number, name) in bench.scopes() {
        for fenced in [0, 1] {
            round += 1;
            bench.row(
                "a strong signal, or a weak one after a fence, covers the scope's direct stores",
                || format!("{name} scope, fenced: {fenced}"),
                || {
                    let signal = bench.signals.at(0);
                    covered::launch(shmem, TWO_BLOCKS, &dst, &seen, signal, number, fenced, round, next)
                },
                || seen.read(),
                |i| round as u32 * 1000 + i as u32,
            )?;
        }
    }
    shmem.free(dst)?;
    shmem.free(seen)?;
    bench.reset_signals()
}

/// An access out of range.
pub(super) fn failures(shmem: &Shmem, report: &Report) -> Result<()> {
    let data = shmem.alloc_zeroed::<u32>(64)?;
    let expected = Expected {
        pe: Some(0),
        expected: Some(64),
        seen: Some(64),
        ..Expected::new(Cause::IndexOutOfRange, Operation::Ptr)
    };
    fails(shmem, report, "a direct access out of range is refused", "thread", expected, || {
        if shmem.my_pe() == 0 {
            read_past::launch(shmem, LaunchConfig::blocks(1), &data, 64, shmem.n_pes() - 1)?;
        }
        Ok(())
    })?;
    shmem.free(data)
}
