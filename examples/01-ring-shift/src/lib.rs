//! The kernel of the ring shift.

use oxshmem_device::prelude::*;

oxshmem_device::kernels!();

/// Sends `src` to the right neighbour and waits for the left one's data. `round` grows by one per launch.
#[nvshmem_kernel]
pub fn ring_shift(shmem: Collective, dst: Sym<[f32]>, src: Sym<[f32]>, ready: Sym<Signal>, round: u64) {
    let block = shmem.block();
    block.put_signal(dst, src, ready, SignalOp::Set(round), shmem.next_pe());
    block.wait_reached(ready, round);
}
