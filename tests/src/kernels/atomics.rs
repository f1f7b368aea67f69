//! Atomics, of every type and order.

use oxshmem_device::atomic::{AtomicInteger, AtomicWord};
use oxshmem_device::prelude::*;

/// Every thread adds `value` to word `word` on `pe`, `times` times.
#[nvshmem_kernel(instances(i32, u32, i64, u64, isize, usize, f32, f64, f16, bf16))]
pub fn add<T: AtomicWord + Send>(
    shmem: Shmem,
    words: Sym<[Atomic<T>]>,
    word: u64,
    value: T,
    times: u32,
    pe: u32,
) {
    let mut i = 0;
    while i < times {
        shmem.thread().atomic_add(words.at(word), value, pe);
        i += 1;
    }
}

/// Every thread takes a ticket from word 0 on `pe` and marks it in `taken` on PE 0.
#[nvshmem_kernel]
pub fn tickets(shmem: Shmem, word: Sym<Atomic<u32>>, taken: Sym<[Atomic<u32>]>, pe: u32) {
    let ticket = shmem.thread().atomic_fetch_add(word, 1, pe);
    shmem.thread().atomic_add(taken.at(u64::from(ticket)), 1, 0);
}

/// Every thread adds `value` to word 0 on `pe` by compare-and-swap.
#[nvshmem_kernel(instances(u32, u64))]
pub fn compare_swap_add<T>(shmem: Collective, words: Sym<[Atomic<T>]>, value: T, pe: u32)
where
    T: AtomicInteger + Send + core::ops::Add<Output = T>,
{
    let t = shmem.thread();
    let word = words.at(0);
    let mut seen = t.atomic_fetch(word, pe);
    loop {
        let old = t.atomic_compare_swap(word, seen, seen + value, pe);
        if old == seen {
            break;
        }
        seen = old;
    }
}

/// One thread: set, fetch, swap, fetch_add, compare_swap that fails, compare_swap that succeeds; what each
/// returned goes to `out`.
#[nvshmem_kernel(instances(u32, u64))]
pub fn sequence<T: AtomicInteger + Send>(
    shmem: Shmem,
    words: Sym<[Atomic<T>]>,
    out: Sym<[T]>,
    a: T,
    b: T,
    pe: u32,
) {
    if thread::in_grid() != 0 {
        return;
    }
    let (t, out, word) = (shmem.thread(), shmem.local(out), words.at(1));
    t.atomic_set(word, a, pe);
    t.quiet();
    out.set(0, t.atomic_fetch(word, pe));
    out.set(1, t.atomic_swap(word, b, pe));
    out.set(2, t.atomic_fetch_add(word, a, pe));
    out.set(3, t.atomic_compare_swap(word, a, a, pe));
    let held = t.atomic_fetch(word, pe);
    out.set(4, t.atomic_compare_swap(word, held, b, pe));
    out.set(5, t.atomic_fetch(word, pe));
}

/// One thread: every operation of integers on word 1 on `pe`, one after another; what each returned or left goes to
/// `out`.
#[nvshmem_kernel(instances(i32, u32, i64, u64, isize, usize))]
pub fn integer_operations<T: AtomicInteger + Send>(
    shmem: Shmem,
    words: Sym<[Atomic<T>]>,
    out: Sym<[T]>,
    a: T,
    b: T,
    mask: T,
    pe: u32,
) {
    if thread::in_grid() != 0 {
        return;
    }
    let (t, out, word) = (shmem.thread(), shmem.local(out), words.at(1));
    t.atomic_set(word, a, pe);
    t.quiet();
    out.set(0, t.atomic_fetch_inc(word, pe));
    t.atomic_inc(word, pe);
    t.quiet();
    out.set(1, t.atomic_fetch(word, pe));
    out.set(2, t.atomic_fetch_add(word, b, pe));
    t.atomic_add(word, b, pe);
    t.quiet();
    out.set(3, t.atomic_fetch(word, pe));
    out.set(4, t.atomic_fetch_xor(word, mask, pe));
    t.atomic_or(word, b, pe);
    t.quiet();
    out.set(5, t.atomic_fetch(word, pe));
    out.set(6, t.atomic_fetch_and(word, mask, pe));
    t.atomic_xor(word, a, pe);
    t.quiet();
    out.set(7, t.atomic_fetch(word, pe));
    out.set(8, t.atomic_fetch_or(word, mask, pe));
    t.atomic_and(word, b, pe);
    t.quiet();
    out.set(9, t.atomic_fetch(word, pe));
    out.set(10, t.atomic_swap(word, a, pe));
    out.set(11, t.atomic_compare_swap(word, a, mask, pe));
    out.set(12, t.atomic_fetch(word, pe));
}

/// One thread: every operation of floating-point words on word 1 on `pe`; as `integer_operations`.
#[nvshmem_kernel(instances(f32, f64, f16, bf16))]
pub fn float_operations<T: AtomicWord + Send>(
    shmem: Shmem,
    words: Sym<[Atomic<T>]>,
    out: Sym<[T]>,
    a: T,
    b: T,
    pe: u32,
) {
    if thread::in_grid() != 0 {
        return;
    }
    let (t, out, word) = (shmem.thread(), shmem.local(out), words.at(1));
    t.atomic_set(word, a, pe);
    t.quiet();
    out.set(0, t.atomic_fetch(word, pe));
    out.set(1, t.atomic_fetch_add(word, b, pe));
    out.set(2, t.atomic_fetch(word, pe));
    t.atomic_set(word, b, pe);
    t.quiet();
    t.atomic_add(word, a, pe);
    t.quiet();
    out.set(3, t.atomic_swap(word, b, pe));
    out.set(4, t.acq_rel().atomic_swap(word, a, pe));
    out.set(5, t.acq_rel().atomic_fetch_add(word, a, pe));
}

/// Every thread adds 1 to the word of its lane, 1 or 2, on `pe`: words that share 32 bits are updated at the same time.
#[nvshmem_kernel(instances(f16, bf16))]
pub fn add_side_by_side<T: AtomicWord + Send>(shmem: Shmem, words: Sym<[Atomic<T>]>, one: T, pe: u32) {
    let word = words.at(1 + u64::from(warp::lane() & 1));
    shmem.thread().atomic_add(word, one, pe);
}

/// Sends `value` to `slots` and then says so by a releasing atomic on `flag` of `pe`, `how` of four; waits for the own
/// flag and reads, after acquiring, what came.
#[nvshmem_kernel]
pub fn ordered(
    shmem: Collective,
    slots: Sym<[u64]>,
    flags: Sym<[Atomic<u64>]>,
    seen: Sym<[u64]>,
    how: u32,
    round: u64,
    pe: u32,
) {
    if thread::in_grid() != 0 {
        return;
    }
    let (t, flag) = (shmem.thread(), flags.at(0));
    t.p(slots.at(0), round << 8 | u64::from(shmem.my_pe()), pe);
    match how {
        0 => t.release().atomic_set(flag, round, pe),
        1 => t.release().atomic_add(flag, 1, pe),
        2 => {
            t.acq_rel().atomic_fetch_add(flag, 1, pe);
        }
        _ => {
            t.release().atomic_compare_swap(flag, round - 1, round, pe);
        }
    }
    t.wait_reached(flag, round);
    let arrived = t.acquire().atomic_fetch(flag, shmem.my_pe());
    let out = shmem.local(seen);
    out.set(0, arrived);
    out.set(1, shmem.local(slots).get(0));
}
