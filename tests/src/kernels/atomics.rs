//! Atomics on u32 and u64.

use oxshmem_device::atomic::{AtomicInteger, AtomicWord};
use oxshmem_device::prelude::*;

/// Every thread adds `value` to word `word` on `pe`, `times` times.
#[nvshmem_kernel(instances(u32, u64))]
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
