//! Direct loads and stores of a peer's copy.

use super::at_scope;
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

/// Every kind of store.
pub mod kind {
    /// Weak.
    pub const WEAK: u32 = 0;
    /// Relaxed.
    pub const RELAXED: u32 = 1;
    /// Acquire and release.
    pub const ORDERED: u32 = 2;
    /// Volatile.
    pub const VOLATILE: u32 = 3;
}

/// Copies `src` into the middle of `dst` on `pe` by direct stores of `kind`, all PEs meet, and reads it back from there
/// into `seen` by direct loads.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128, f32))]
pub fn direct<T: Pod + Send>(
    shmem: Collective,
    dst: Sym<[T]>,
    src: Sym<[T]>,
    seen: Sym<[T]>,
    kind: u32,
    pe: u32,
) {
    let block = shmem.block();
    let Some(to) = shmem.ptr(dst, pe) else { return };
    let (own, back) = (shmem.local(src), shmem.local(seen));
    let to = to.slice(3, own.len());
    let mut i = block.rank();
    while i < own.len() {
        let (at, value) = (to.at(i), own.get(i));
        match kind {
            kind::WEAK => at.store(value),
            kind::RELAXED => at.store_relaxed(value),
            kind::ORDERED => at.store_release(value),
            _ => at.store_volatile(value),
        }
        i += block.size();
    }
    block.barrier_all();
    let mut i = block.rank();
    while i < own.len() {
        let at = to.at(i);
        let value = match kind {
            kind::WEAK => at.load(),
            kind::RELAXED => at.load_relaxed(),
            kind::ORDERED => at.load_acquire(),
            _ => at.load_volatile(),
        };
        back.set(i, value);
        i += block.size();
    }
}

/// Stores to `pe` directly, then a strong signal, or a fence and a weak one; the other side waits and copies what came.
#[nvshmem_kernel]
pub fn covered(
    shmem: Collective,
    dst: Sym<[u32]>,
    seen: Sym<[u32]>,
    signal: Sym<Signal>,
    scope: u32,
    fenced: u32,
    round: u64,
    pe: u32,
) {
    at_scope!(shmem, scope, |s| {
        if let Some(to) = shmem.ptr(dst, pe) {
            let mut i = s.rank();
            while i < to.len() {
                to.at(i).store(round as u32 * 1000 + i as u32);
                i += s.size();
            }
        }
        if fenced != 0 {
            s.fence();
            s.signal_weak(signal, SignalOp::Set(round), pe);
        } else {
            s.signal(signal, SignalOp::Set(round), pe);
        }
        s.wait_reached(signal, round);
        let (from, to) = (shmem.local(dst), shmem.local(seen));
        let mut i = s.rank();
        while i < from.len() {
            to.set(i, from.get(i));
            i += s.size();
        }
    });
}

/// Which of PE 0 to `n_pes() + 1`, of an index that is none and of an element have a pointer.
#[nvshmem_kernel]
pub fn pointers(shmem: Shmem, data: Sym<[u32]>, out: Sym<[u32]>) {
    if thread::in_grid() != 0 {
        return;
    }
    let out = shmem.local(out);
    let mut pe = 0;
    while pe < shmem.n_pes() + 2 {
        let points = shmem.ptr(data, pe).is_some_and(|p| p.len() == data.len() && p.pe() == pe);
        out.set(u64::from(pe), u32::from(points));
        pe += 1;
    }
    out.set(u64::from(pe), u32::from(shmem.ptr(data.at(data.len()), 0).is_some()));
    out.set(u64::from(pe) + 1, u32::from(shmem.ptr(data.at(0), 0).is_some_and(|p| p.len() == 1)));
}

/// Reads past the end of a peer's copy.
#[nvshmem_kernel]
pub fn read_past(shmem: Shmem, data: Sym<[u32]>, index: u64, pe: u32) {
    if let Some(peer) = shmem.ptr(data, pe) {
        peer.at(index).load();
    }
}
