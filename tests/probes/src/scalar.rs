//! Single elements: `p`, `g`, and gets whose values stay in registers.

use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn p<T: Pod + Send>(shmem: Shmem, dst: Sym<T>, value: T, pe: u32) {
    shmem.thread().p(dst, value, pe);
}

#[nvshmem_kernel(instances(u8, u16, u32, u64, u128))]
pub fn g<T: Pod>(shmem: Shmem, out: Global<[T]>, src: Sym<T>, pe: u32) {
    shmem.local(out).set(0, shmem.thread().g(src, pe));
}

#[nvshmem_kernel(instances(u32, u128))]
pub fn g_warp<T: Pod>(shmem: Shmem, out: Global<[T]>, src: Sym<[T]>, pe: u32) {
    shmem.local(out).set(thread::in_grid(), shmem.warp().g(src, pe));
}

#[nvshmem_kernel]
pub fn g_nbi_four(shmem: Shmem, out: Global<[u64]>, src: Sym<[u64]>, pe: u32) {
    let thread = shmem.thread();
    let (a, b) = (thread.g_nbi(src.at(0), pe), thread.g_nbi(src.at(100), pe));
    let (c, d) = (thread.g_nbi(src.at(200), pe), thread.g_nbi(src.at(300), pe));
    shmem.local(out).set(0, a.quiet(thread) + b.quiet(thread) + c.quiet(thread) + d.quiet(thread));
}

#[nvshmem_kernel]
pub fn get_array_nbi(shmem: Shmem, out: Global<[u32]>, src: Sym<[u32]>, pe: u32) {
    let thread = shmem.thread();
    let [a, b, c, d] = thread.get_array_nbi::<u32, 4>(src, pe).quiet(thread);
    shmem.local(out).set(0, a ^ b ^ c ^ d);
}

/// As a producer calls it: in a loop, one PE after another.
#[nvshmem_kernel]
pub fn p_to_all(shmem: Shmem, dst: Sym<[u32]>, value: u32) {
    let mut pe = 0;
    while pe < shmem.n_pes() {
        shmem.thread().p(dst.at(u64::from(shmem.my_pe())), value, pe);
        pe += 1;
    }
}

#[nvshmem_kernel]
pub fn p_on_team(shmem: Shmem, team: Team, dst: Sym<u32>, value: u32, pe: u32) {
    shmem.team(team).thread().p(dst, value, pe);
}
