//! Atomics.

use super::suite::{Bench, TWO_BLOCKS};
use crate::kernels::atomics::*;
use oxshmem::Result;
use oxshmem_device::atomic::AtomicWord;
use oxshmem_device::{LaunchConfig, Reach, bf16, f16};

/// Threads of [`TWO_BLOCKS`].
const THREADS: u64 = 2 * 96;

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, u64::from(bench.shmem.n_pes()));
    for reach in [Reach::World, Reach::Node] {
        let narrow = shmem.alloc_atomics::<u32>(3, reach)?;
        let wide = shmem.alloc_atomics::<u64>(3, reach)?;
        let last = shmem.n_pes() - 1;
        let on = |pe: u32, value: u64| if shmem.my_pe() == pe { value } else { 0 };
        bench.row(
            "atomic add from all threads of all PEs adds up, neighbours untouched",
            || format!("u32, {reach:?}"),
            || add::<u32>::launch(shmem, TWO_BLOCKS, &narrow, 1, 3, 5, last),
            || narrow.values(),
            |i| if i == 1 { on(last, 15 * THREADS * n) as u32 } else { 0 },
        )?;
        bench.row(
            "atomic add of u64 carries into the upper half",
            || format!("{reach:?}"),
            || add::<u64>::launch(shmem, TWO_BLOCKS, &wide, 1, 0xffff_ffff, 3, 0),
            || wide.values(),
            |i| if i == 1 { on(0, 0xffff_ffff * 3 * THREADS * n) } else { 0 },
        )?;
        bench.row(
            "atomic add wraps",
            || format!("u32, {reach:?}"),
            || add::<u32>::launch(shmem, LaunchConfig::blocks(1), &narrow, 0, u32::MAX, 1, 0),
            || narrow.values(),
            |i| match i {
                0 => on(0, u64::from(0u32.wrapping_sub(n as u32))) as u32,
                1 => on(last, 15 * THREADS * n) as u32,
                _ => 0,
            },
        )?;
        shmem.free(narrow)?;
        shmem.free(wide)?;
    }
    let word = shmem.alloc_atomics::<u32>(1, Reach::World)?;
    let taken = shmem.alloc_atomics::<u32>((THREADS * n) as usize, Reach::World)?;
    let root = shmem.n_pes() - 1;
    bench.row(
        "fetch_add gives every thread of every PE its own ticket",
        || format!("{} threads", THREADS * n),
        || tickets::launch(shmem, TWO_BLOCKS, word.at(0), &taken, root),
        || taken.values(),
        |_| u32::from(shmem.my_pe() == 0),
    )?;
    shmem.free(word)?;
    shmem.free(taken)?;
    by_compare_swap(bench)?;
    sequences(bench)?;
    integers(bench)?;
    floats(bench)?;
    halves(bench)?;
    orders(bench)
}

fn integers(bench: &Bench<'_>) -> Result<()> {
    let (next, _) = bench.neighbours();
    macro_rules! each_type {
        ($($ty:ident: $(($a:expr, $b:expr)),*;)*) => {
            $({
                let words = bench.shmem.alloc_atomics::<$ty>(3, Reach::World)?;
                let out = bench.shmem.alloc_zeroed::<$ty>(13)?;
                for (a, b) in [$(($a as $ty, $b as $ty)),*] {
                    let mask: $ty = (0x0f0f_0f0f_f0f0_f0f0u64 ^ 0x55) as $ty;
                    let mut w = a.wrapping_add(2).wrapping_add(b).wrapping_add(b);
                    let mut expected = vec![a, a.wrapping_add(2), a.wrapping_add(2), w, w];
                    w = (w ^ mask) | b;
                    expected.extend([w, w]);
                    w = (w & mask) ^ a;
                    expected.extend([w, w]);
                    w = (w | mask) & b;
                    expected.extend([w, w, a, mask]);
                    bench.row(
                        "every atomic of an integer returns the value before and leaves the value after, wrapping",
                        || format!("{}, {a:#x}, {b:#x}", stringify!($ty)),
                        || integer_operations::<$ty>::launch(
                            bench.shmem, LaunchConfig::blocks(1).threads(32), &words, &out, a, b, mask, next,
                        ),
                        || out.read(),
                        |i| expected[i],
                    )?;
                    bench.row(
                        "the words beside an atomic's are untouched",
                        || stringify!($ty).into(),
                        || Ok(()),
                        || words.values(),
                        |i| if i == 1 { mask } else { 0 },
                    )?;
                }
                bench.shmem.free(words)?;
                bench.shmem.free(out)?;
            })*
        };
    }
    // 2^40 and more must not be lost in 64 bits, nor a carry into the upper half.
    each_type! {
        i32: (7, 1 << 20), (i32::MAX, -3), (-1, i32::MIN);
        u32: (7, 1 << 20), (u32::MAX, 0xffff_0000u32), (0x8000_0000u32, 1);
        i64: (7, 1i64 << 40), (i64::MAX, -3), (0xffff_ffffi64, i64::MIN);
        u64: (7, 1u64 << 40), ((1u64 << 40) - 1, 1u64 << 40), (0xffff_ffffu64, u64::MAX), (0xffff_fffeu64, 0x1_0000_0001u64);
        isize: (7, 1i64 << 40), (-1, 1i64 << 40);
        usize: (7, 1u64 << 40), (0xffff_ffffu64, 1u64 << 63);
    }
    Ok(())
}

fn floats(bench: &Bench<'_>) -> Result<()> {
    let (next, _) = bench.neighbours();
    macro_rules! each_type {
        ($($ty:ident: $(($a:expr, $b:expr, $sum:expr)),*;)*) => {
            $({
                let words = bench.shmem.alloc_atomics::<$ty>(3, Reach::World)?;
                let out = bench.shmem.alloc_zeroed::<$ty>(6)?;
                for (a, b, sum) in [$(($a, $b, $sum)),*] {
                    let expected = [a, a, sum, sum, b, a];
                    bench.row(
                        "a floating-point atomic adds rounded to nearest even, bit for bit",
                        || format!("{}, {a:e} + {b:e}", stringify!($ty)),
                        || float_operations::<$ty>::launch(
                            bench.shmem, LaunchConfig::blocks(1).threads(32), &words, &out, a, b, next,
                        ),
                        || Ok(out.read()?.into_iter().map(|value| value.to_bits()).collect()),
                        |i| expected[i].to_bits(),
                    )?;
                    bench.row(
                        "the words beside an atomic's are untouched",
                        || stringify!($ty).into(),
                        || Ok(()),
                        || Ok(words.values()?.into_iter().map(|value| value.to_bits()).collect()),
                        |i| if i == 1 { $ty::from_bits((a + a).to_bits()).to_bits() } else { 0 },
                    )?;
                }
                bench.shmem.free(words)?;
                bench.shmem.free(out)?;
            })*
        };
    }
    let (half, brain) = (f16::from_bits, bf16::from_bits);
    each_type! {
        f32: (1.5, 2.25, 3.75), (16_777_216.0, 1.0, 16_777_216.0), (16_777_216.0, 3.0, 16_777_220.0), (-0.0, 0.0, 0.0);
        f64: (1.5, 2.25, 3.75), (9_007_199_254_740_992.0, 3.0, 9_007_199_254_740_996.0), (5e-324, 5e-324, 1e-323);
        // 1.5 + 2.25; 2048 + 1 is a tie, to the even 2048; 2048 + 3 a tie, to the even 2052; the least subnormal twice;
        // 65504 + 65504 is infinite.
        f16: (half(0x3e00), half(0x4080), half(0x4380)), (half(0x6800), half(0x3c00), half(0x6800)),
            (half(0x6800), half(0x4200), half(0x6802)), (half(0x0001), half(0x0001), half(0x0002)),
            (half(0x7bff), half(0x7bff), half(0x7c00));
        // 1.5 + 2.25; 256 + 1 is a tie, to the even 256; 256 + 3 a tie, to the even 260; the least subnormal twice.
        bf16: (brain(0x3fc0), brain(0x4010), brain(0x4070)), (brain(0x4380), brain(0x3f80), brain(0x4380)),
            (brain(0x4380), brain(0x4040), brain(0x4382)), (brain(0x0001), brain(0x0001), brain(0x0002));
    }
    // The instruction takes subnormal numbers of `f32` for zero.
    let words = bench.shmem.alloc_atomics::<f32>(3, Reach::World)?;
    let out = bench.shmem.alloc_zeroed::<f32>(6)?;
    let (least, half) = (f32::MIN_POSITIVE, -f32::MIN_POSITIVE / 2.0);
    bench.row(
        "an atomic add of f32 takes subnormal numbers for zero",
        || format!("{least:e} + {half:e}"),
        || {
            let config = LaunchConfig::blocks(1).threads(32);
            float_operations::<f32>::launch(bench.shmem, config, &words, &out, half, least, next)
        },
        || Ok(out.read()?.into_iter().map(f32::to_bits).collect()),
        |i| [half, half, least, least, least, half][i].to_bits(),
    )?;
    bench.shmem.free(words)?;
    bench.shmem.free(out)
}

fn halves(bench: &Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, bench.shmem.n_pes());
    let root = n - 1;
    let config = LaunchConfig::blocks(1).threads(32);
    macro_rules! each_type {
        ($($ty:ident)*) => {
            $({
                for start in [0, 1] {
                    let words = shmem.alloc_atomics::<$ty>(6, Reach::World)?;
                    words.set(start, $ty::from_bits(0x1234))?;
                    words.set(start + 3, $ty::from_bits(0xfedc))?;
                    bench.row(
                        "halves of a 32-bit word updated at the same time lose nothing and touch no neighbour",
                        || format!("{}, {} PEs, from word {start}", stringify!($ty), n),
                        || add_side_by_side::<$ty>::launch(shmem, config, words.slice(start, 4), $ty::from_f32(1.0), root),
                        || Ok(words.values()?.into_iter().map(|value| value.to_bits()).collect()),
                        |i| match i {
                            i if i == start => 0x1234,
                            i if i == start + 3 => 0xfedc,
                            i if (i == start + 1 || i == start + 2) && shmem.my_pe() == root => $ty::from_f32(16.0 * n as f32).to_bits(),
                            _ => 0,
                        },
                    )?;
                    shmem.free(words)?;
                }
            })*
        };
    }
    each_type!(f16 bf16);
    macro_rules! sums {
        ($($ty:ident $one:expr;)*) => {
            $({
                let words = shmem.alloc_atomics::<$ty>(3, Reach::World)?;
                bench.row(
                    "atomic add from all threads of all PEs adds up, neighbours untouched",
                    || format!("{}, {} bytes", stringify!($ty), size_of::<$ty>()),
                    || add::<$ty>::launch(shmem, config, &words, 1, $one, 1, root),
                    || words.values(),
                    |i| if i == 1 && shmem.my_pe() == root { sum(32 * n, $one) } else { sum(0, $one) },
                )?;
                shmem.free(words)?;
            })*
        };
    }
    sums! {
        i32 -3;
        i64 -(1 << 40);
        isize -(1 << 40);
        usize 1 << 40;
        f32 1.0;
        f64 0.5;
        f16 f16::from_f32(1.0);
        bf16 bf16::from_f32(1.0);
    }
    Ok(())
}

/// `count` times `one`, which is exact.
fn sum<T: AtomicWord + std::ops::Add<Output = T>>(count: u32, one: T) -> T {
    (0..count).fold(T::zeroed(), |sum, _| sum + one)
}

fn orders(bench: &Bench<'_>) -> Result<()> {
    let (shmem, (next, prev)) = (bench.shmem, bench.neighbours());
    let flags = shmem.alloc_atomics::<u64>(1, Reach::World)?;
    let (slots, seen) = (shmem.alloc_zeroed::<u64>(1)?, shmem.alloc_zeroed::<u64>(2)?);
    for round in 1..=16u64 {
        let how = (round % 4) as u32;
        bench.row(
            "a releasing atomic covers what its thread did before",
            || format!("{} in round {round}", ["set", "add", "fetch_add", "compare_swap"][how as usize]),
            || {
                ordered::launch(
                    shmem,
                    LaunchConfig::blocks(1).threads(32),
                    &slots,
                    &flags,
                    &seen,
                    how,
                    round,
                    next,
                )
            },
            || seen.read(),
            |i| [round, round << 8 | u64::from(prev)][i],
        )?;
    }
    shmem.free(flags)?;
    shmem.free(slots)?;
    shmem.free(seen)
}

fn by_compare_swap(bench: &Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, u64::from(bench.shmem.n_pes()));
    let config = LaunchConfig::blocks(2).threads(40);
    let narrow = shmem.alloc_atomics::<u32>(3, Reach::World)?;
    let wide = shmem.alloc_atomics::<u64>(3, Reach::World)?;
    let first = |i: usize, value: u64| if i == 0 && shmem.my_pe() == 0 { value } else { 0 };
    bench.row(
        "compare_swap loses no update, neighbours untouched",
        || "u32".into(),
        || compare_swap_add::<u32>::launch(shmem, config, &narrow, 7, 0),
        || narrow.values(),
        |i| first(i, 7 * 80 * n) as u32,
    )?;
    bench.row(
        "compare_swap loses no update, neighbours untouched",
        || "u64".into(),
        || compare_swap_add::<u64>::launch(shmem, config, &wide, 1 << 35, 0),
        || wide.values(),
        |i| first(i, (80 * n) << 35),
    )?;
    shmem.free(narrow)?;
    shmem.free(wide)
}

fn sequences(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let (next, _) = bench.neighbours();
    let narrow = (shmem.alloc_atomics::<u32>(3, Reach::World)?, shmem.alloc_zeroed::<u32>(6)?);
    let wide = (shmem.alloc_atomics::<u64>(3, Reach::World)?, shmem.alloc_zeroed::<u64>(6)?);
    let config = LaunchConfig::blocks(1).threads(32);
    let (a, b) = (1000u32, u32::MAX - 3);
    bench.row(
        "set, fetch, swap, fetch_add and compare_swap return the value before",
        || "u32".into(),
        || sequence::<u32>::launch(shmem, config, &narrow.0, &narrow.1, a, b, next),
        || narrow.1.read(),
        |i| [a, a, b, a.wrapping_add(b), a.wrapping_add(b), b][i],
    )?;
    let (a, b) = (1u64 << 40, u64::MAX - 3);
    bench.row(
        "set, fetch, swap, fetch_add and compare_swap return the value before",
        || "u64".into(),
        || sequence::<u64>::launch(shmem, config, &wide.0, &wide.1, a, b, next),
        || wide.1.read(),
        |i| [a, a, b, a.wrapping_add(b), a.wrapping_add(b), b][i],
    )?;
    shmem.free(narrow.0)?;
    shmem.free(narrow.1)?;
    shmem.free(wide.0)?;
    shmem.free(wide.1)
}
