//! What the tests move, and the check afterwards, by kernels: sources hold a pattern that a seed fixes, targets are
//! poisoned before and compared element by element after.

use super::collective::form;
use oxshmem_device::Atomic;
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

/// Elements of the tests.
pub trait Pattern: Pod + Send + Sync + PartialEq {
    /// What no check takes for data; a target holds it before.
    const POISON: Self;
    /// Element `i` of the pattern of `seed`.
    fn element(seed: u32, i: u64) -> Self;
}

impl Pattern for u32 {
    const POISON: Self = 0xdead_beef;
    #[inline(always)]
    fn element(seed: u32, i: u64) -> Self {
        mix(i << 32 | u64::from(seed)) as u32
    }
}

impl Pattern for u64 {
    const POISON: Self = 0xdead_beef_dead_beef;
    #[inline(always)]
    fn element(seed: u32, i: u64) -> Self {
        mix(i << 32 | u64::from(seed))
    }
}

/// A permutation of the 64-bit numbers whose bits all depend on all (the finalizer of S. Vigna's splitmix64).
#[inline(always)]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// Words of the check's result.
pub mod found {
    /// How many elements are wrong.
    pub const WRONG: usize = 0;
    /// The number of one of them, if there is any.
    pub const WHERE: usize = 1;
    /// How many words there are.
    pub const WORDS: usize = 2;
}

/// Every element of the own `data` becomes what `value` says of its number, by the whole grid.
#[inline(always)]
fn set_each<T: Pod>(shmem: Shmem, data: Sym<[T]>, value: impl Fn(u64) -> T) {
    let own = shmem.local(data);
    let mut i = thread::in_grid();
    while i < own.len() {
        own.set(i, value(i));
        i += thread::per_grid();
    }
}

/// Element `i` of the own `data` becomes that of the pattern of `seed`.
#[nvshmem_kernel(instances(u32, u64))]
pub fn fill<T: Pattern>(shmem: Shmem, data: Sym<[T]>, seed: u32) {
    set_each(shmem, data, |i| T::element(seed, i));
}

/// Poisons the own `data`.
#[nvshmem_kernel(instances(u32, u64))]
pub fn poison<T: Pattern>(shmem: Shmem, data: Sym<[T]>) {
    set_each(shmem, data, |_| T::POISON);
}

/// Element `i` of the own `data` becomes the number of the next one, the last one's is 0.
#[nvshmem_kernel]
pub fn chain(shmem: Shmem, data: Sym<[u64]>) {
    set_each(shmem, data, |i| if i + 1 == data.len() { 0 } else { i + 1 });
}

/// The numbers that a gather reads: their own, or (`random` not 0) any less than their count, fixed by `seed`.
#[nvshmem_kernel]
pub fn number(shmem: Shmem, indices: Sym<[u32]>, seed: u32, random: u32) {
    set_each(shmem, indices, |i| {
        let index = if random != 0 { u64::element(seed, i) % indices.len() } else { i };
        index as u32
    });
}

/// Compares the own `target` with `count` elements of the pattern of `seed` from element `first` on; behind them it is
/// still poisoned.
#[nvshmem_kernel(instances(u32, u64))]
pub fn check<T: Pattern>(
    shmem: Shmem,
    target: Sym<[T]>,
    count: u64,
    seed: u32,
    first: u64,
    result: Sym<[Atomic<u64>]>,
) {
    let own = shmem.local(target);
    check_each(shmem, own.len(), result, |i| {
        own.get(i) == if i < count { T::element(seed, first + i) } else { T::POISON }
    });
}

/// Compares the own `target` with the elements of the pattern of `seed` that `indices` names.
#[nvshmem_kernel]
pub fn check_gathered(
    shmem: Shmem,
    target: Sym<[u64]>,
    indices: Sym<[u32]>,
    seed: u32,
    result: Sym<[Atomic<u64>]>,
) {
    let (own, indices) = (shmem.local(target), shmem.local(indices));
    check_each(shmem, own.len(), result, |i| {
        own.get(i) == if i < indices.len() { u64::element(seed, indices.get(i).into()) } else { u64::POISON }
    });
}

/// Compares the own `words`: every `stride`-th one of the first `count` such is `each`, the others are 0. A stride of 0
/// means word 0 alone.
#[nvshmem_kernel]
pub fn check_words(
    shmem: Shmem,
    words: Sym<[Atomic<u64>]>,
    stride: u64,
    count: u64,
    each: u64,
    result: Sym<[Atomic<u64>]>,
) {
    let one = shmem.thread();
    check_each(shmem, words.len(), result, |i| {
        let counts = if stride == 0 { i == 0 } else { i.is_multiple_of(stride) && i / stride < count };
        one.atomic_fetch(words.at(i), shmem.my_pe()) == if counts { each } else { 0 }
    });
}

/// Compares the own `target` with what a collective operation leaves there, to which PE i gave elements of the pattern of
/// `seed` + i: see [`form`](super::collective). `count` elements come from each; behind them all it is still poisoned.
#[nvshmem_kernel]
pub fn check_collected(
    shmem: Shmem,
    target: Sym<[u32]>,
    count: u64,
    form: u32,
    seed: u32,
    result: Sym<[Atomic<u64>]>,
) {
    let own = shmem.local(target);
    let (me, n) = (u64::from(shmem.my_pe()), shmem.n_pes());
    let given = |pe: u64, i: u64| u32::element(seed.wrapping_add(pe as u32), i);
    let parts = if form == form::FCOLLECT || form == form::ALLTOALL { n.into() } else { 1 };
    check_each(shmem, own.len(), result, |i| {
        if i >= parts * count {
            return own.get(i) == u32::POISON;
        }
        let (part, within) = (i / count, i % count);
        let right = if form == form::BROADCAST {
            given(0, i)
        } else if form == form::FCOLLECT {
            given(part, within)
        } else if form == form::ALLTOALL {
            given(part, me * count + within)
        } else {
            let (mut sum, mut pe) = (0u32, 0);
            while pe < n {
                sum = sum.wrapping_add(given(pe.into(), i));
                pe += 1;
            }
            sum
        };
        own.get(i) == right
    });
}

/// Adds all of the own `words` to `sum` here.
#[nvshmem_kernel]
pub fn sum(shmem: Shmem, words: Sym<[Atomic<u64>]>, sum: Sym<Atomic<u64>>) {
    let one = shmem.thread();
    let (mut total, mut i) = (0u64, thread::in_grid());
    while i < words.len() {
        total = total.wrapping_add(one.atomic_fetch(words.at(i), shmem.my_pe()));
        i += thread::per_grid();
    }
    one.atomic_add(sum, total, shmem.my_pe());
}

/// Counts in `result` the numbers less than `len` that are not `right`, by the whole grid.
#[inline(always)]
fn check_each(shmem: Shmem, len: u64, result: Sym<[Atomic<u64>]>, right: impl Fn(u64) -> bool) {
    let (mut wrong, mut at) = (0, 0);
    let mut i = thread::in_grid();
    while i < len {
        if !right(i) {
            (wrong, at) = (wrong + 1, i);
        }
        i += thread::per_grid();
    }
    if wrong > 0 {
        let (one, me) = (shmem.thread(), shmem.my_pe());
        one.atomic_add(result.at(found::WRONG as u64), wrong, me);
        one.atomic_set(result.at(found::WHERE as u64), at, me);
    }
}
