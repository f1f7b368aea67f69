//! The kernels that use registered memory, and symmetric memory that is not the device's own.

use oxshmem_device::prelude::*;

/// Puts `source` into the next PE's `inbox`, and when all have, gets the previous PE's `inbox` into `target`.
#[nvshmem_kernel]
pub fn exchange(shmem: Collective, inbox: Sym<[f32]>, source: Global<[f32]>, target: Global<[f32]>) {
    let block = shmem.block();
    block.put(inbox, source, shmem.next_pe());
    block.barrier_all();
    block.get(target, inbox, shmem.prev_pe());
}

/// Puts `source` into the next PE's `inbox` in `rounds` rounds, each when the previous PE has put its own.
#[nvshmem_kernel]
pub fn put_in_rounds(
    shmem: Collective,
    inbox: Sym<[u32]>,
    source: Global<[u32]>,
    ready: Sym<Signal>,
    rounds: u64,
) {
    let block = shmem.block();
    let mut round = 1;
    while round <= rounds {
        block.put_signal(inbox, source, ready, SignalOp::Set(round), shmem.next_pe());
        block.wait_reached(ready, round);
        round += 1;
    }
}

/// Puts `source` into the next PE's `inbox`, and waits until the previous PE has put its own.
#[nvshmem_kernel]
pub fn pass_on(shmem: Collective, inbox: Sym<[u32]>, source: Sym<[u32]>, ready: Sym<Signal>) {
    let block = shmem.block();
    block.put_signal(inbox, source, ready, SignalOp::Set(1), shmem.next_pe());
    block.wait_reached(ready, 1);
}
