//! The own memory: views of global memory, and shared memory.

use oxshmem_device::bytemuck::Pod;
use oxshmem_device::prelude::*;

#[nvshmem_kernel(instances(u8, u32, u128, [u32; 3]))]
pub fn local_get_set<T: Pod>(shmem: Shmem, dst: Sym<[T]>, src: Sym<[T]>) {
    let i = thread::in_grid();
    shmem.local(dst).set(i, shmem.local(src).get(i));
}

shared! {
    /// One array.
    pub struct Words {
        words: [u128; 64],
    }
}

#[nvshmem_kernel(shared = Words, block = 64)]
pub fn shared_get_set(shmem: Shmem, data: Global<[u128]>) {
    let (words, i) = (Words::of(shmem).words, thread::in_block());
    words.set(i, shmem.local(data).get(u64::from(i)));
    shmem.block().sync();
    shmem.local(data).set(u64::from(i), words.get(63 - i));
}

#[nvshmem_kernel(shared = Words)]
pub fn put_from_shared(shmem: Shmem, dst: Sym<[u128]>, pe: u32) {
    shmem.block().put(dst, &Words::of(shmem).words, pe);
}

#[nvshmem_kernel(shared = Words)]
pub fn get_into_shared(shmem: Shmem, src: Sym<[u128]>, pe: u32) {
    shmem.block().get(&Words::of(shmem).words, src, pe);
}

#[nvshmem_kernel(instances(u8, u32, u128))]
pub fn ptr_store<T: Pod + Send>(shmem: Shmem, dst: Sym<T>, value: T, pe: u32) {
    if let Some(there) = shmem.ptr(dst, pe) {
        there.store(value);
    }
}
