//! Read-modify-writes of symmetric words.

use oxshmem_device::atomic::{AtomicInteger, AtomicWord};
use oxshmem_device::prelude::*;

#[nvshmem_kernel(instances(u32, i64, u64, f16, f32, f64))]
pub fn atomic_add<T: AtomicWord + Send>(shmem: Shmem, word: Sym<Atomic<T>>, value: T, pe: u32) {
    shmem.thread().atomic_add(word, value, pe);
}

#[nvshmem_kernel(instances(u32, i64, u64, f16, f32, f64))]
pub fn atomic_fetch_add<T: AtomicWord + Send>(
    shmem: Shmem,
    out: Global<[T]>,
    word: Sym<Atomic<T>>,
    value: T,
    pe: u32,
) {
    shmem.local(out).set(0, shmem.thread().atomic_fetch_add(word, value, pe));
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_swap<T: AtomicWord + Send>(
    shmem: Shmem,
    out: Global<[T]>,
    word: Sym<Atomic<T>>,
    value: T,
    pe: u32,
) {
    shmem.local(out).set(0, shmem.thread().atomic_swap(word, value, pe));
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_compare_swap<T: AtomicInteger + Send>(
    shmem: Shmem,
    out: Global<[T]>,
    word: Sym<Atomic<T>>,
    expected: T,
    value: T,
    pe: u32,
) {
    shmem.local(out).set(0, shmem.thread().atomic_compare_swap(word, expected, value, pe));
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_set<T: AtomicWord + Send>(shmem: Shmem, word: Sym<Atomic<T>>, value: T, pe: u32) {
    shmem.thread().atomic_set(word, value, pe);
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_fetch<T: AtomicWord>(shmem: Shmem, out: Global<[T]>, word: Sym<Atomic<T>>, pe: u32) {
    shmem.local(out).set(0, shmem.thread().atomic_fetch(word, pe));
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_and<T: AtomicInteger + Send>(shmem: Shmem, word: Sym<Atomic<T>>, value: T, pe: u32) {
    shmem.thread().atomic_and(word, value, pe);
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_fetch_and<T: AtomicInteger + Send>(
    shmem: Shmem,
    out: Global<[T]>,
    word: Sym<Atomic<T>>,
    value: T,
    pe: u32,
) {
    shmem.local(out).set(0, shmem.thread().atomic_fetch_and(word, value, pe));
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_or<T: AtomicInteger + Send>(shmem: Shmem, word: Sym<Atomic<T>>, value: T, pe: u32) {
    shmem.thread().atomic_or(word, value, pe);
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_fetch_or<T: AtomicInteger + Send>(
    shmem: Shmem,
    out: Global<[T]>,
    word: Sym<Atomic<T>>,
    value: T,
    pe: u32,
) {
    shmem.local(out).set(0, shmem.thread().atomic_fetch_or(word, value, pe));
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_xor<T: AtomicInteger + Send>(shmem: Shmem, word: Sym<Atomic<T>>, value: T, pe: u32) {
    shmem.thread().atomic_xor(word, value, pe);
}

#[nvshmem_kernel(instances(u32, u64))]
pub fn atomic_fetch_xor<T: AtomicInteger + Send>(
    shmem: Shmem,
    out: Global<[T]>,
    word: Sym<Atomic<T>>,
    value: T,
    pe: u32,
) {
    shmem.local(out).set(0, shmem.thread().atomic_fetch_xor(word, value, pe));
}

#[nvshmem_kernel]
pub fn atomic_set_release(shmem: Shmem, word: Sym<Atomic<u64>>, value: u64, pe: u32) {
    shmem.thread().release().atomic_set(word, value, pe);
}

#[nvshmem_kernel]
pub fn atomic_add_release(shmem: Shmem, word: Sym<Atomic<u64>>, value: u64, pe: u32) {
    shmem.thread().release().atomic_add(word, value, pe);
}

#[nvshmem_kernel]
pub fn atomic_fetch_acquire(shmem: Shmem, out: Global<[u64]>, word: Sym<Atomic<u64>>, pe: u32) {
    shmem.local(out).set(0, shmem.thread().acquire().atomic_fetch(word, pe));
}

#[nvshmem_kernel]
pub fn atomic_fetch_add_acq_rel(shmem: Shmem, out: Global<[u64]>, word: Sym<Atomic<u64>>, pe: u32) {
    shmem.local(out).set(0, shmem.thread().acq_rel().atomic_fetch_add(word, 1, pe));
}
