//! Atomics on one word. The value before goes to local memory where one is given.

use oxshmem_device::atomic::{AtomicInteger, AtomicWord};
use oxshmem_device::prelude::*;

/// What is done to the word, as a number. Those from [`FETCH`](op::FETCH) on give the value before.
pub mod op {
    /// Stores the value.
    pub const SET: u32 = 0;
    /// Adds it.
    pub const ADD: u32 = 1;
    /// Bitwise and.
    pub const AND: u32 = 2;
    /// Bitwise or.
    pub const OR: u32 = 3;
    /// Bitwise exclusive or.
    pub const XOR: u32 = 4;
    /// Reads the word.
    pub const FETCH: u32 = 8;
    /// Stores the value.
    pub const SWAP: u32 = 9;
    /// Stores the value if the word has the expected one.
    pub const COMPARE_SWAP: u32 = 10;
    /// Adds the value.
    pub const FETCH_ADD: u32 = 11;
    /// Bitwise and.
    pub const FETCH_AND: u32 = 12;
    /// Bitwise or.
    pub const FETCH_OR: u32 = 13;
    /// Bitwise exclusive or.
    pub const FETCH_XOR: u32 = 14;
}

/// One update of an integer; `complete`, if not 0, has it done at the target when the kernel ends.
#[nvshmem_kernel(instances(u32, u64))]
pub fn integer<T: AtomicInteger + Send>(
    shmem: Shmem,
    word: Sym<Atomic<T>>,
    what: u32,
    value: T,
    expected: T,
    before: Global<[T]>,
    complete: u32,
    pe: u32,
) {
    let thread = shmem.thread();
    let mut old = None;
    match what {
        op::SET => thread.atomic_set(word, value, pe),
        op::ADD => thread.atomic_add(word, value, pe),
        op::AND => thread.atomic_and(word, value, pe),
        op::OR => thread.atomic_or(word, value, pe),
        op::XOR => thread.atomic_xor(word, value, pe),
        op::FETCH => old = Some(thread.atomic_fetch(word, pe)),
        op::SWAP => old = Some(thread.atomic_swap(word, value, pe)),
        op::COMPARE_SWAP => old = Some(thread.atomic_compare_swap(word, expected, value, pe)),
        op::FETCH_ADD => old = Some(thread.atomic_fetch_add(word, value, pe)),
        op::FETCH_AND => old = Some(thread.atomic_fetch_and(word, value, pe)),
        op::FETCH_OR => old = Some(thread.atomic_fetch_or(word, value, pe)),
        _ => old = Some(thread.atomic_fetch_xor(word, value, pe)),
    }
    conclude(shmem, old, before, complete);
}

/// As [`integer`](fn@integer), of a floating-point word: set, add, fetch, swap and fetch_add.
#[nvshmem_kernel(instances(f32, f64, f16, bf16))]
pub fn float<T: AtomicWord + Send>(
    shmem: Shmem,
    word: Sym<Atomic<T>>,
    what: u32,
    value: T,
    before: Global<[T]>,
    complete: u32,
    pe: u32,
) {
    let thread = shmem.thread();
    let mut old = None;
    match what {
        op::SET => thread.atomic_set(word, value, pe),
        op::ADD => thread.atomic_add(word, value, pe),
        op::FETCH => old = Some(thread.atomic_fetch(word, pe)),
        op::SWAP => old = Some(thread.atomic_swap(word, value, pe)),
        _ => old = Some(thread.atomic_fetch_add(word, value, pe)),
    }
    conclude(shmem, old, before, complete);
}

/// Leaves the value before, if there is one, and has the update done if that is asked for.
#[inline(always)]
fn conclude<T: AtomicWord>(shmem: Shmem, old: Option<T>, before: Global<[T]>, complete: u32) {
    if let Some(old) = old {
        shmem.local(before).set(0, old);
    }
    if complete != 0 {
        shmem.thread().quiet();
    }
}
