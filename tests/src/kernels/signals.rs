//! Signals, waits and tests.

use super::at_scope;
use oxshmem_device::prelude::*;

/// How a kernel sends its signal.
pub mod how {
    /// A strong signal.
    pub const STRONG: u32 = 0;
    /// A weak signal after a fence of the same scope.
    pub const FENCE_WEAK: u32 = 1;
    /// A weak signal after a quiet of the same scope.
    pub const QUIET_WEAK: u32 = 2;
}

/// Puts `src` to `pe`, signals there as `how` says, waits for the own signal and copies what came to `seen`.
#[nvshmem_kernel]
pub fn message(
    shmem: Collective,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    seen: Sym<[u32]>,
    signal: Sym<Signal>,
    scope: u32,
    how: u32,
    value: u64,
    pe: u32,
) {
    at_scope!(shmem, scope, |s| {
        s.put(dst, src, pe);
        match how {
            how::STRONG => s.signal(signal, SignalOp::Set(value), pe),
            how::FENCE_WEAK => {
                s.fence();
                s.signal_weak(signal, SignalOp::Set(value), pe);
            }
            _ => {
                s.quiet();
                s.signal_weak(signal, SignalOp::Set(value), pe);
            }
        }
        s.wait_reached(signal, value);
        let (from, to) = (shmem.local(dst), shmem.local(seen));
        let mut i = s.rank();
        while i < from.len() {
            to.set(i, from.get(i));
            i += s.size();
        }
    });
}

/// Every PE adds `value` to `signal` on PE `root`, strongly or weakly; the root waits for the sum.
#[nvshmem_kernel]
pub fn add_from_all(shmem: Collective, signal: Sym<Signal>, scope: u32, weak: u32, value: u64, root: u32) {
    at_scope!(shmem, scope, |s| {
        if weak != 0 {
            s.signal_weak(signal, SignalOp::Add(value), root);
        } else {
            s.signal(signal, SignalOp::Add(value), root);
        }
        if shmem.my_pe() == root {
            s.wait_until(signal, Cmp::Ge, value * u64::from(shmem.n_pes()));
        }
    });
}

/// Waits for each comparison in turn against the own signal, which holds `held`; each must hold already.
/// Writes 1 to `passed` at the end.
#[nvshmem_kernel]
pub fn comparisons(shmem: Collective, signal: Sym<Signal>, passed: Sym<[u32]>, scope: u32, held: u64) {
    at_scope!(shmem, scope, |s| {
        s.wait_until(signal, Cmp::Eq, held);
        s.wait_until(signal, Cmp::Ne, held + 1);
        s.wait_until(signal, Cmp::Gt, held - 1);
        s.wait_until(signal, Cmp::Ge, held);
        s.wait_until(signal, Cmp::Lt, held + 1);
        s.wait_until(signal, Cmp::Le, held);
        s.wait_reached(signal, held);
        if s.is_leader() {
            shmem.local(passed).set(0, 1);
        }
    });
}

/// Writes to `answers` what `test` says of each comparison with `value`, then what `signal_fetch` returns.
#[nvshmem_kernel]
pub fn tests(shmem: Collective, signal: Sym<Signal>, answers: Sym<[u64]>, scope: u32, value: u64) {
    at_scope!(shmem, scope, |s| {
        let out = shmem.local(answers);
        let cmps = [Cmp::Eq, Cmp::Ne, Cmp::Gt, Cmp::Ge, Cmp::Lt, Cmp::Le];
        macro_rules! one {
            ($($i:literal)*) => {$(
                let answer = s.test(signal, cmps[$i], value);
                if s.is_leader() {
                    out.set($i, u64::from(answer));
                }
            )*};
        }
        one!(0 1 2 3 4 5);
        if s.is_leader() {
            out.set(6, shmem.thread().signal_fetch(signal));
        }
    });
}

/// Signals back and forth with `pe`, `rounds` times; the lower PE begins.
#[nvshmem_kernel]
pub fn ping_pong(shmem: Collective, signal: Sym<Signal>, scope: u32, rounds: u64, pe: u32) {
    at_scope!(shmem, scope, |s| {
        let mut round = 1;
        while round <= rounds {
            if shmem.my_pe() < pe {
                s.signal(signal, SignalOp::Set(round), pe);
                s.wait_reached(signal, round);
            } else {
                s.wait_reached(signal, round);
                s.signal(signal, SignalOp::Set(round), pe);
            }
            round += 1;
        }
    });
}
