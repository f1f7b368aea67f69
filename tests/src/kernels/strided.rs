//! Elements at a stride, by their numbers, and several in flight.

use super::at_scope;
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

/// `iput`, and with `nbi` its non-blocking form.
#[nvshmem_kernel(instances(u32, [u16; 3], u128))]
pub fn iput<T: Pod>(
    shmem: Collective,
    dst: Sym<[T]>,
    src: Sym<[T]>,
    strides: u64,
    count: u64,
    nbi: u32,
    scope: u32,
    pe: u32,
) {
    let (to, from) = (strides >> 32, strides & 0xffff_ffff);
    at_scope!(shmem, scope, |s| {
        if nbi != 0 {
            s.iput_nbi(dst, src, to, from, count, pe);
            s.quiet();
        } else {
            s.iput(dst, src, to, from, count, pe);
        }
    });
}

/// `iget`, and with `nbi` its non-blocking form.
#[nvshmem_kernel(instances(u8, [u16; 3], u64))]
pub fn iget<T: Pod>(
    shmem: Collective,
    dst: Sym<[T]>,
    src: Sym<[T]>,
    strides: u64,
    count: u64,
    nbi: u32,
    scope: u32,
    pe: u32,
) {
    let (to, from) = (strides >> 32, strides & 0xffff_ffff);
    at_scope!(shmem, scope, |s| {
        if nbi != 0 {
            s.iget_nbi(dst, src, to, from, count, pe);
            s.quiet();
        } else {
            s.iget(dst, src, to, from, count, pe);
        }
    });
}

/// `gather` with 32-bit numbers, and with `nbi` its non-blocking form.
#[nvshmem_kernel(instances(u16, [u32; 3]))]
pub fn gather<T: Pod>(
    shmem: Collective,
    dst: Sym<[T]>,
    src: Sym<[T]>,
    indices: Global<[u32]>,
    nbi: u32,
    scope: u32,
    pe: u32,
) {
    at_scope!(shmem, scope, |s| {
        if nbi != 0 {
            s.gather_nbi(dst, src, indices, pe);
            s.quiet();
        } else {
            s.gather(dst, src, indices, pe);
        }
    });
}

/// `gather` with 64-bit numbers that stand in symmetric memory.
#[nvshmem_kernel]
pub fn gather_wide(
    shmem: Collective,
    dst: Global<[u32]>,
    src: Sym<[u32]>,
    indices: Sym<[u64]>,
    scope: u32,
    pe: u32,
) {
    at_scope!(shmem, scope, |s| s.gather(dst, src, indices, pe));
}

/// Every thread reads four elements, whose loads are in flight together, and writes their sum.
#[nvshmem_kernel(instances(u32, u64))]
pub fn four_in_flight<T: Pod + core::ops::Add<Output = T>>(
    shmem: Shmem,
    dst: Sym<[T]>,
    src: Sym<[T]>,
    pe: u32,
) {
    let (thread, out) = (shmem.thread(), shmem.local(dst));
    let mut i = thread::in_grid();
    while i < dst.len() {
        let (a, b) = (thread.g_nbi(src.at(i), pe), thread.g_nbi(src.at(i + 1), pe));
        let (c, d) = (thread.g_nbi(src.at(i + 2), pe), thread.g_nbi(src.at(i + 3), pe));
        out.set(i, a.quiet(thread) + b.quiet(thread) + c.quiet(thread) + d.quiet(thread));
        i += thread::per_grid();
    }
}

/// Every thread reads eight neighbouring elements into an array of its own, and writes them elsewhere, last one first.
#[nvshmem_kernel]
pub fn eight_in_flight(shmem: Shmem, dst: Sym<[u32]>, src: Sym<[u32]>, pe: u32) {
    let (thread, out) = (shmem.thread(), shmem.local(dst));
    let mut i = thread::in_grid();
    while 8 * i < dst.len() {
        let values = thread.get_array_nbi::<u32, 8>(src.slice(8 * i, 8), pe);
        let [a, b, c, d, e, f, g, h] = values.quiet(thread);
        let at = 8 * i;
        out.set(at, h);
        out.set(at + 1, g);
        out.set(at + 2, f);
        out.set(at + 3, e);
        out.set(at + 4, d);
        out.set(at + 5, c);
        out.set(at + 6, b);
        out.set(at + 7, a);
        i += thread::per_grid();
    }
}

/// Each warp reads its elements together.
#[nvshmem_kernel(instances(u8, u32, u128))]
pub fn warp_g<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>, pe: u32) {
    let (warp, out) = (shmem.warp(), shmem.local(dst));
    let first = thread::in_grid() - u64::from(warp::lane());
    let value = warp.g(src.slice(first, warp.size()), pe);
    out.set(thread::in_grid(), value);
}
