//! Copies between all pairs of alignments, and with all memory of a thread.

use super::at_scope;
use oxshmem_device::prelude::*;

/// Bytes of a slot.
pub const SLOT: u64 = 128;
/// Bytes that are copied.
pub const BYTES: u64 = 77;

/// Puts (or gets) 77 bytes from every alignment to every alignment: from byte `f` of `src` to byte `t` of slot
/// `16 f + t`.
#[nvshmem_kernel]
pub fn all_alignments(shmem: Collective, dst: Sym<[u8]>, src: Sym<[u8]>, get: u32, scope: u32, pe: u32) {
    at_scope!(shmem, scope, |s| {
        let mut pair = 0;
        while pair < 256 {
            let (from, to) = (pair >> 4, pair & 15);
            let (target, source) = (dst.slice(pair * SLOT + to, BYTES), src.slice(from, BYTES));
            if get != 0 {
                s.get(target, source, pe);
            } else {
                s.put(target, source, pe);
            }
            pair += 1;
        }
    });
}

/// The same with elements of 2, 4 and 8 bytes, whose alignments are fewer.
#[nvshmem_kernel(instances(u16, u32, u64))]
pub fn element_alignments<T: oxshmem_device::bytemuck::Pod>(
    shmem: Collective,
    dst: Sym<[T]>,
    src: Sym<[T]>,
    scope: u32,
    pe: u32,
) {
    at_scope!(shmem, scope, |s| {
        let each = 16 / size_of::<T>() as u64;
        let (slot, count) = (128 / size_of::<T>() as u64, 100 / size_of::<T>() as u64);
        let mut pair = 0;
        while pair < each * each {
            let (from, to) = (pair / each, pair % each);
            s.put(dst.slice(pair * slot + to, count), src.slice(from, count), pe);
            pair += 1;
        }
    });
}

/// One thread gets five elements into an array of its own, changes them, and puts them back without waiting; the array
/// is captured at once.
#[nvshmem_kernel(local)]
pub fn own_array(shmem: Shmem, data: Sym<[u32]>, pe: u32) {
    if thread::in_grid() == 0 {
        let thread = shmem.thread();
        let mut own = [0; 5];
        thread.get(&mut own, data, pe);
        for value in &mut own {
            *value += 1;
        }
        thread.put_nbi(data, &own, pe);
        own = [7; 5];
        thread.put_nbi(data.slice(0, 0), &own[..0], pe);
        thread.quiet();
    }
}
