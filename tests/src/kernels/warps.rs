//! Indices, shuffles, votes, shared memory.

use oxshmem_device::prelude::*;

/// Every thread writes its own number in the grid to its place.
#[nvshmem_kernel]
pub fn numbers(shmem: Shmem, out: Global<[u64]>) {
    shmem.local(out).set(thread::in_grid(), thread::in_grid());
}

/// Per thread, eight results: shuffle from lane 3, down 1, up 1, xor 5 (64-bit), any, all, ballot of odd
/// lanes, warp size.
#[nvshmem_kernel]
pub fn collectives(shmem: Shmem, out: Global<[u64]>) {
    let results = shmem.local(out);
    let at = 8 * thread::in_grid();
    let lane = warp::lane();
    let wide = u64::from(lane) << 33 | 1;
    results.set(at, u64::from(warp::shuffle(lane * 10, 3)));
    results.set(at + 1, u64::from(warp::shuffle_down(lane, 1)));
    results.set(at + 2, u64::from(warp::shuffle_up(lane, 1)));
    results.set(at + 3, warp::shuffle_xor(wide, 5));
    results.set(at + 4, u64::from(warp::any(lane == 2)));
    results.set(at + 5, u64::from(warp::all(lane < 31)));
    results.set(at + 6, u64::from(warp::ballot(lane & 1 == 1)));
    results.set(at + 7, u64::from(warp::size()));
}

shared! {
    /// Fields of several widths.
    pub struct Mixed {
        bytes: [u8; 33],
        one: f64,
        words: [u32; 256],
    }
}

/// Reverses 256 words through shared memory and uses the other fields too.
#[nvshmem_kernel(shared = Mixed, block = 256)]
pub fn reverse(shmem: Shmem, data: Global<[u32]>) {
    let shared = Mixed::of(shmem);
    let (own, i) = (shmem.local(data), thread::in_block());
    shared.words.set(i, own.get(u64::from(i)));
    if i < 33 {
        shared.bytes.set(i, i as u8);
    }
    if i == 0 {
        shared.one.set(0.5);
    }
    shmem.block().sync();
    let extra = u32::from(shared.bytes.get(i % 33)) + (shared.one.get() * 2.0) as u32;
    own.set(u64::from(i), shared.words.get(255 - i) + extra);
}

/// What handles and counters say of themselves: the offset of element 3, whether the words' reach is the node, whether a
/// counter that wrapped has reached its goal, and each thread's lanes that run with it.
#[nvshmem_kernel]
pub fn say(shmem: Shmem, out: Sym<[u64]>, words: Sym<[Atomic<u32>]>, lanes: Sym<[u32]>) {
    let own = shmem.local(out);
    if thread::in_grid() == 0 {
        own.set(0, out.at(3).offset() - out.offset());
        own.set(1, u64::from(words.reach() == Reach::Node));
        own.set(2, u64::from(oxshmem_device::wait::reached(2, u64::MAX - 1)));
        own.set(3, u64::from(oxshmem_device::wait::reached(u64::MAX - 1, 2)));
    }
    shmem.local(lanes).set(thread::in_grid(), warp::active_mask());
}
