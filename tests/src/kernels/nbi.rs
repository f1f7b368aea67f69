//! Non-blocking puts and gets, and what completes them.

use super::at_scope;
use oxshmem_device::prelude::*;

/// Puts `src` without waiting, completes it by `quiet` or `pe_quiet`, and tells `pe` by a weak signal, which covers
/// nothing itself; then waits for the own one and copies what came to `seen`.
#[nvshmem_kernel]
pub fn put_nbi_quiet(
    shmem: Collective,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    seen: Sym<[u32]>,
    signal: Sym<Signal>,
    scope: u32,
    one_pe: u32,
    pe: u32,
) {
    at_scope!(shmem, scope, |s| {
        let pending = s.put_nbi(dst, src, pe);
        assert_plain(pending);
        if one_pe != 0 {
            s.pe_quiet(pe);
        } else {
            s.quiet();
        }
        s.signal_weak(signal, SignalOp::Set(1), pe);
        s.wait_until(signal, Cmp::Eq, 1);
        let (from, to) = (shmem.local(dst), shmem.local(seen));
        let mut i = s.rank();
        while i < from.len() {
            to.set(i, from.get(i));
            i += s.size();
        }
    });
}

/// A pending operation on symmetric memory may be copied and dropped.
#[inline(always)]
fn assert_plain(_: impl Copy) {}

/// Puts `src` without waiting, flushes, overwrites the source with zeros, and completes.
#[nvshmem_kernel]
pub fn put_nbi_flush(shmem: Collective, dst: Sym<[u32]>, src: Global<[u32]>, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| {
        s.put_nbi(dst, src, pe);
        s.flush();
        let own = shmem.local(src);
        let mut i = s.rank();
        while i < own.len() {
            own.set(i, 0);
            i += s.size();
        }
        s.quiet();
    });
}

/// Gets `src` from `pe` without waiting, completes, and adds 1 to every element.
#[nvshmem_kernel]
pub fn get_nbi_quiet(shmem: Collective, dst: Sym<[u32]>, src: Sym<[u32]>, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| {
        s.get_nbi(dst, src, pe);
        s.quiet();
        let own = shmem.local(dst);
        let mut i = s.rank();
        while i < own.len() {
            own.set(i, own.get(i).wrapping_add(1));
            i += s.size();
        }
    });
}

/// Puts `src` with a signal without waiting, waits for the own signal, and copies what came to `seen`.
#[nvshmem_kernel]
pub fn put_signal_nbi(
    shmem: Collective,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    seen: Sym<[u32]>,
    signal: Sym<Signal>,
    scope: u32,
    add: u32,
    pe: u32,
) {
    let op = if add != 0 { SignalOp::Add(1) } else { SignalOp::Set(1) };
    at_scope!(shmem, scope, |s| {
        s.put_signal_nbi(dst, src, signal, op, pe);
        s.wait_until(signal, Cmp::Eq, 1);
        let (from, to) = (shmem.local(dst), shmem.local(seen));
        let mut i = s.rank();
        while i < from.len() {
            to.set(i, from.get(i));
            i += s.size();
        }
        s.flush();
    });
}

/// Puts to both neighbours, orders what goes to `pe` by `pe_fence`, and has the leader tell `pe` by a weak signal.
#[nvshmem_kernel]
pub fn pe_fence(
    shmem: Collective,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    seen: Sym<[u32]>,
    signal: Sym<Signal>,
    scope: u32,
) {
    at_scope!(shmem, scope, |s| {
        let (next, prev) = (shmem.next_pe(), shmem.prev_pe());
        let half = dst.len() / 2;
        s.put(dst.slice(half, half), src.slice(half, half), prev);
        s.put(dst.slice(0, half), src.slice(0, half), next);
        s.pe_fence(next);
        s.signal_weak(signal, SignalOp::Add(1), next);
        s.wait_until(signal, Cmp::Eq, 1);
        let (from, to) = (shmem.local(dst), shmem.local(seen));
        let mut i = s.rank();
        while i < half {
            to.set(i, from.get(i));
            i += s.size();
        }
    });
}

/// Writes to the own memory and through a pointer to `pe`, joins all PEs by `sync_all`, and reads both from there.
#[nvshmem_kernel]
pub fn sync_all(shmem: Collective, words: Sym<[u32]>, seen: Sym<[u32]>, rounds: u32, scope: u32) {
    at_scope!(shmem, scope, |s| {
        let (own, out) = (shmem.local(words), shmem.local(seen));
        let mut round = 0;
        while round < rounds {
            let mut i = s.rank();
            while i < own.len() {
                own.set(i, 1000 * shmem.my_pe() + 10 * round + i as u32);
                i += s.size();
            }
            s.sync_all();
            let mut i = s.rank();
            while i < own.len() {
                let value = shmem.thread().g(words.at(i), shmem.next_pe());
                out.set(i, out.get(i).wrapping_add(value));
                i += s.size();
            }
            // Nobody writes before everybody has read.
            s.sync_all();
            round += 1;
        }
    });
}
