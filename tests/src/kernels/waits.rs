//! Waits and tests of one word and of several, of every type.

use super::at_scope;
use oxshmem_device::atomic::AtomicInteger;
use oxshmem_device::prelude::*;
use oxshmem_device::wait::{Counter, WaitWord};

/// What a kernel asks of several words.
pub mod form {
    /// Every word.
    pub const ALL: u32 = 0;
    /// One word.
    pub const ANY: u32 = 1;
    /// Those that hold.
    pub const SOME: u32 = 2;
    /// With a value per word.
    pub const VECTOR: u32 = 4;
    /// Waits, where without it tests.
    pub const WAIT: u32 = 8;
}

/// An index as a number.
pub const NONE: u64 = u64::MAX;

fn number(index: Option<u64>) -> u64 {
    match index {
        Some(index) => index,
        None => NONE,
    }
}

/// Of each comparison of the own `word` with `value` writes to `answers` what `test` says, and if it holds 2 after a
/// `wait_until` of it.
#[nvshmem_kernel(instances(i32, u32, i64, u64, isize, usize))]
pub fn compare<T: AtomicInteger + Send>(
    shmem: Collective,
    word: Sym<Atomic<T>>,
    answers: Sym<[u64]>,
    scope: u32,
    value: T,
) {
    at_scope!(shmem, scope, |s| {
        let out = shmem.local(answers);
        let mut number = 0;
        while let Some(cmp) = Cmp::from_number(number) {
            let mut answer = u64::from(s.test(word, cmp, value));
            if answer != 0 {
                s.wait_until(word, cmp, value);
                answer = 2;
            }
            if s.is_leader() {
                out.set(u64::from(number), answer);
            }
            number += 1;
        }
    });
}

/// Whether the own `word` has reached `goal`: writes to `answers` what each thread was told, and 2 after waiting.
#[nvshmem_kernel(instances(u32, u64))]
pub fn counted<T: AtomicInteger + Send>(
    shmem: Collective,
    word: Sym<Atomic<T>>,
    answers: Sym<[u64]>,
    scope: u32,
    goal: T,
) where
    Atomic<T>: Counter<Value = T>,
{
    at_scope!(shmem, scope, |s| {
        let mut answer = u64::from(s.test_reached(word, goal));
        if answer != 0 {
            s.wait_reached(word, goal);
            answer = 2;
        }
        shmem.local(answers).set(s.rank(), answer);
    });
}

/// Asks `form` of `words`, with all lists in symmetric memory. Every thread writes what it was told to `answers`.
#[nvshmem_kernel(instances(i32))]
pub fn several<T: AtomicInteger + Send>(
    shmem: Collective,
    words: Sym<[Atomic<T>]>,
    status: Sym<[u32]>,
    values: Sym<[T]>,
    indices: Sym<[u64]>,
    answers: Sym<[u64]>,
    scope: u32,
    form: u32,
    cmp: u32,
    last: u64,
) {
    let cmp = Cmp::from_number(cmp).unwrap_or(Cmp::Eq);
    let last = if last == NONE { None } else { Some(last) };
    let vector = form & form::VECTOR != 0;
    let value = shmem.local(values).get(0);
    at_scope!(shmem, scope, |s| {
        let what = form & 3;
        let answer = if form & form::WAIT == 0 {
            match (what, vector) {
                (form::ALL, false) => u64::from(s.test_all(words, status, cmp, value)),
                (form::ALL, true) => u64::from(s.test_all_vector(words, status, cmp, values)),
                (form::ANY, false) => number(s.test_any(words, status, cmp, value, last)),
                (form::ANY, true) => number(s.test_any_vector(words, status, cmp, values, last)),
                (_, false) => s.test_some(words, indices, status, cmp, value),
                (_, true) => s.test_some_vector(words, indices, status, cmp, values),
            }
        } else {
            match (what, vector) {
                (form::ALL, false) => {
                    s.wait_until_all(words, status, cmp, value);
                    1
                }
                (form::ALL, true) => {
                    s.wait_until_all_vector(words, status, cmp, values);
                    1
                }
                (form::ANY, false) => number(s.wait_until_any(words, status, cmp, value, last)),
                (form::ANY, true) => number(s.wait_until_any_vector(words, status, cmp, values, last)),
                (_, false) => s.wait_until_some(words, indices, status, cmp, value),
                (_, true) => s.wait_until_some_vector(words, indices, status, cmp, values),
            }
        };
        shmem.local(answers).set(s.rank(), answer);
    });
}

shared! {
    /// The lists of one call.
    pub struct Lists {
        status: [u32; 4],
        values: [u64; 4],
        indices: [u64; 4],
    }
}

/// `wait_until_some_vector` of four signals with all lists in shared memory, which the block fills and reads. Word 1 is
/// ignored.
#[nvshmem_kernel(shared = Lists)]
pub fn lists_in_shared(shmem: Collective, words: Sym<[Signal]>, out: Sym<[u64]>) {
    let lists = Lists::of(shmem);
    let (block, i) = (shmem.block(), thread::in_block());
    if i < 4 {
        lists.status.set(i, u32::from(i == 1));
        lists.values.set(i, 10 + u64::from(i));
    }
    let count = block.wait_until_some_vector(words, &lists.indices, &lists.status, Cmp::Ge, &lists.values);
    let out = shmem.local(out);
    if u64::from(i) < count {
        out.set(1 + u64::from(i), lists.indices.get(i));
    }
    if i == 5 {
        out.set(0, count);
    }
}

/// The same by one thread with its own arrays, and with local device memory.
#[nvshmem_kernel(local)]
pub fn lists_of_a_thread(shmem: Collective, words: Sym<[Signal]>, out: Sym<[u64]>) {
    if thread::in_grid() != 0 {
        return;
    }
    let (t, out) = (shmem.thread(), shmem.local(out));
    let (status, values, mut indices) = ([0, 1, 0, 0], [10, 11, 12, 13], [NONE; 4]);
    out.set(0, t.wait_until_some_vector(words, &mut indices, &status, Cmp::Ge, &values));
    let mut i = 0;
    while i < 4 {
        out.set(1 + i as u64, indices[i]);
        i += 1;
    }
}

/// The same by a warp, with all lists in local device memory.
#[nvshmem_kernel]
pub fn lists_in_global(
    shmem: Collective,
    words: Sym<[Signal]>,
    status: Global<[u32]>,
    values: Global<[u64]>,
    indices: Global<[u64]>,
    out: Sym<[u64]>,
) {
    if thread::in_grid() < 32 {
        let (warp, out) = (shmem.warp(), shmem.local(out));
        let count = warp.wait_until_some_vector(words, indices, status, Cmp::Ge, values);
        if warp.rank() < count {
            out.set(1 + warp.rank(), shmem.local(indices).get(warp.rank()));
        }
        if warp.rank() == 31 {
            out.set(0, count);
        }
    }
}

/// `calls` times the next satisfied word, counted in `counts`, and the answers in `order`.
#[nvshmem_kernel]
pub fn fair(
    shmem: Collective,
    words: Sym<[Signal]>,
    status: Sym<[u32]>,
    order: Sym<[u64]>,
    scope: u32,
    waits: u32,
) {
    at_scope!(shmem, scope, |s| {
        let order = shmem.local(order);
        let (mut last, mut call) = (None, 0);
        while call < order.len() {
            last = if waits != 0 {
                s.wait_until_any(words, status, Cmp::Ge, 1, last)
            } else {
                s.test_any(words, status, Cmp::Ge, 1, last)
            };
            if s.is_leader() {
                order.set(call, number(last));
            }
            call += 1;
        }
    });
}

/// Every PE puts its number and the round to each PE and signals the word of its own there; takes what came as `form`
/// says, and copies it to `seen` when its word says that it is there. `taken` is the status.
#[nvshmem_kernel]
pub fn gather(
    shmem: Collective,
    words: Sym<[Signal]>,
    taken: Sym<[u32]>,
    indices: Sym<[u64]>,
    slots: Sym<[u64]>,
    seen: Sym<[u64]>,
    scope: u32,
    form: u32,
    round: u64,
) {
    at_scope!(shmem, scope, |s| {
        let (me, n) = (u64::from(shmem.my_pe()), shmem.n_pes());
        let mut pe = 0;
        while pe < n {
            if s.is_leader() {
                shmem.thread().p(slots.at(me), me << 32 | round, pe);
            }
            s.signal(words.at(me), SignalOp::Set(round), pe);
            pe += 1;
        }
        let (own, out, mark) = (shmem.local(slots), shmem.local(seen), shmem.local(taken));
        // The last thread of the scope reads, so that it must have been joined to those that polled.
        let reads = s.rank() + 1 == s.size();
        match form {
            form::ALL => {
                s.wait_until_all(words, Every, Cmp::Ge, round);
                let mut i = s.rank();
                while i < own.len() {
                    out.set(i, own.get(i));
                    i += s.size();
                }
            }
            form::ANY => {
                let mut last = None;
                loop {
                    last = s.wait_until_any(words, taken, Cmp::Ge, round, last);
                    let Some(i) = last else { break };
                    if reads {
                        out.set(i, own.get(i));
                        mark.set(i, 1);
                    }
                }
            }
            _ => loop {
                let count = s.wait_until_some(words, indices, taken, Cmp::Ge, round);
                if count == 0 {
                    break;
                }
                if reads {
                    let mut k = 0;
                    while k < count {
                        let i = shmem.local(indices).get(k);
                        out.set(i, own.get(i));
                        mark.set(i, 1);
                        k += 1;
                    }
                }
            },
        }
    });
}

/// Waits for `words` as `form` says; they never compare.
#[nvshmem_kernel]
pub fn several_for_ever(
    shmem: Collective,
    words: Sym<[Atomic<i64>]>,
    status: Sym<[u32]>,
    indices: Sym<[u64]>,
    scope: u32,
    form: u32,
    value: i64,
) {
    at_scope!(shmem, scope, |s| match form {
        form::ALL => s.wait_until_all(words, status, Cmp::Eq, value),
        form::ANY => {
            s.wait_until_any(words, status, Cmp::Eq, value, None);
        }
        _ => {
            s.wait_until_some(words, indices, status, Cmp::Eq, value);
        }
    });
}

/// One of each wait, at block scope on signals: what a kernel that waits for several costs.
#[nvshmem_kernel]
pub fn block_waits(shmem: Collective, words: Sym<[Signal]>, goal: u64) {
    wait_all_of(shmem, words, goal);
}

fn wait_all_of<W: WaitWord>(shmem: Collective, words: Sym<[W]>, goal: W::Value) {
    shmem.block().wait_until_all(words, Every, Cmp::Ge, goal);
}
