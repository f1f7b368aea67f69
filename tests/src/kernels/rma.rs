//! put, get, p, g, put_signal.

use super::at_scope;
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

/// Puts `src` into `dst` on `pe`.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn put<T: Pod>(shmem: Collective, dst: Sym<[T]>, src: Sym<[T]>, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| s.put(dst, src, pe));
}

/// Puts local device memory into `dst` on `pe`.
#[nvshmem_kernel]
pub fn put_global(shmem: Collective, dst: Sym<[u32]>, src: Global<[u32]>, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| s.put(dst, src, pe));
}

/// Gets `src` on `pe` into `dst`.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn get<T: Pod>(shmem: Collective, dst: Sym<[T]>, src: Sym<[T]>, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| s.get(dst, src, pe));
}

/// Gets `src` on `pe` into local device memory.
#[nvshmem_kernel]
pub fn get_global(shmem: Collective, dst: Global<[u32]>, src: Sym<[u32]>, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| s.get(dst, src, pe));
}

shared! {
    /// A tile on its way.
    pub struct Tile {
        tile: [u32; 300],
    }
}

/// Gets 300 elements from `pe` into shared memory, adds one to each, and puts them back.
#[nvshmem_kernel(shared = Tile)]
pub fn through_shared(shmem: Collective, data: Sym<[u32]>, pe: u32) {
    let tile = Tile::of(shmem).tile;
    let block = shmem.block();
    block.get(&tile, data, pe);
    let mut i = thread::in_block();
    while i < tile.len() {
        tile.set(i, tile.get(i) + 1);
        i += thread::per_block();
    }
    block.put(data, &tile, pe);
}

/// Puts a thread's own array.
#[nvshmem_kernel(local)]
pub fn put_private(shmem: Shmem, dst: Sym<[u32]>, value: u32, pe: u32) {
    if thread::in_grid() == 0 {
        let own = [value, value + 1, value + 2, value + 3, value + 4];
        shmem.thread().put(dst, &own, pe);
    }
}

/// Each thread writes its elements by `p`.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn p<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    let values = shmem.local(src);
    let mut i = thread::in_grid();
    while i < dst.len() {
        shmem.thread().p(dst.at(i), values.get(i), pe);
        i += thread::per_grid();
    }
}

/// Each thread reads its elements by `g`.
#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn g<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    let values = shmem.local(dst);
    let mut i = thread::in_grid();
    while i < dst.len() {
        values.set(i, shmem.thread().g(src.at(i), pe));
        i += thread::per_grid();
    }
}

/// Sends `src` to `pe` with a signal, waits for the own signal, and copies what came to `seen`.
#[nvshmem_kernel]
pub fn put_signal(
    shmem: Collective,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    seen: Sym<[u32]>,
    signal: Sym<Signal>,
    scope: u32,
    add: u32,
    value: u64,
    pe: u32,
) {
    let op = if add != 0 { SignalOp::Add(value) } else { SignalOp::Set(value) };
    at_scope!(shmem, scope, |s| {
        s.put_signal(dst, src, signal, op, pe);
        s.wait_until(signal, Cmp::Eq, value);
        let (from, to) = (shmem.local(dst), shmem.local(seen));
        let mut i = s.rank();
        while i < from.len() {
            to.set(i, from.get(i));
            i += s.size();
        }
    });
}
