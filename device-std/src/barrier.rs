//! The barriers that poll: of a grid, and of PEs. Both are done by single threads; their scope joins the
//! others to them.

use crate::abi::{Cause, Cmp, Operation, control};
use crate::arch::{Word, atomic, order};
use crate::context::{Context, Shmem};
use crate::fault::Fault;
use crate::poll::{Polled, Until, acquire, flipped, poll, poll_until};
use crate::thread;

/// Heap offset of the launch's grid-barrier word.
#[inline(always)]
pub(crate) fn grid_word(shmem: Shmem) -> u64 {
    control::GRID + control::GRID_STRIDE * u64::from(shmem.abi.grid_slot)
}

/// The grid barrier, by one thread per block. Given up, it has seen how many blocks had come.
///
/// | step | edge |
/// |---|---|
/// | block barrier (caller) | the block's past reaches its first thread |
/// | `atom.acq_rel.gpu.add` on the launch's slot; the first block adds 2^31 less the others | release, and a chain through the other arrivals |
/// | `ld.relaxed` until the top bit has flipped, then `fence.acquire.sys` (sm_80: `ld.acquire.gpu` until then) | acquire of every arrival |
/// | block barrier (caller) | reaches the rest of the block |
///
/// Each round adds exactly 2^31, so any grid size may follow another.
#[inline(always)]
pub(crate) fn grid_barrier(shmem: Shmem) -> Polled {
    let blocks = thread::blocks();
    if blocks == 1 {
        return Polled::Held;
    }
    let address = shmem.abi.heap_base + grid_word(shmem);
    let add = if thread::block() == 0 { (1 << 31) - (blocks - 1) } else { 1 };
    // SAFETY: the slot's word in the own control area.
    let before = unsafe { atomic::arrive_gpu_u32(address, add) };
    // Twice the deadline of a wait: a block that waits for a peer reports that first.
    let polled = poll(shmem, shmem.abi.deadline.saturating_mul(2), || {
        // An acquire of each look would empty the L1 each time.
        // SAFETY: as above.
        let now = unsafe {
            if order::HAS_FENCE_ACQUIRE {
                u32::load_relaxed(address)
            } else {
                atomic::load_acquire_gpu_u32(address)
            }
        };
        (flipped(before, now), u64::from(now))
    });
    order::fence_acquire_sys();
    polled.arrivals(blocks)
}

/// Where a PE stands in a barrier of PEs when it gives up.
#[derive(Default)]
pub(crate) struct BarrierRound {
    epoch: u64,
    /// Heap offset of the round's flag.
    flag: u64,
    from: u32,
}

impl BarrierRound {
    #[inline(always)]
    pub(crate) fn fault(self, operation: Operation) -> Fault {
        let fault = Fault { peer: self.from, ..Fault::new(Cause::Deadline, operation) };
        Fault { cmp: Cmp::Ge as u32, offset: self.flag, expected: self.epoch, ..fault }
    }
}

/// The words of a barrier in every PE's heap, and this PE's number among those that meet.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    /// Heap offset of the epoch.
    pub(crate) epoch: u64,
    /// Heap offset of the first flag.
    pub(crate) flags: u64,
    pub(crate) me: u32,
}

/// Dissemination barrier over the PEs of a context, by one thread of this PE.
///
/// | step | edge |
/// |---|---|
/// | round k: `st.release.sys` of the epoch to flag k of PE `me + 2^k` | release of all that this thread has seen, cumulatively |
/// | round k: `ld.relaxed.sys` of the own flag k until it reaches the epoch, then `fence.acquire.sys` (sm_80: `ld.acquire.sys`) | acquire of PE `me - 2^k` and of what it had acquired |
///
/// The epoch is in the control area, 64-bit and monotonic, so launches, graphs and streams may follow each
/// other without a reset. One caller per PE and epoch at a time.
#[inline(always)]
pub(crate) fn pes_barrier<C: Context>(
    context: C,
    Words { epoch: at, flags, me }: Words,
) -> (Polled, BarrierRound) {
    let (shmem, n) = (context.shmem(), context.pes());
    let base = shmem.abi.heap_base;
    // SAFETY: the own control area; one caller per PE and epoch at a time.
    let epoch = 1 + unsafe { u64::load_relaxed(base + at) };
    // SAFETY: as above.
    unsafe { u64::store_relaxed(base + at, epoch) };
    let (mut flag, mut distance) = (flags, 1u32);
    let mut until = Until::within(shmem.abi.deadline);
    while distance < n {
        let to = if me + distance < n { me + distance } else { me + distance - n };
        let from = if me >= distance { me - distance } else { me + n - distance };
        let peer = shmem.peer_base(context.world_pe(to));
        // SAFETY: a flag in a mapped peer's control area.
        unsafe { u64::store_release(peer + flag, epoch) };
        let polled = poll_until(shmem, &mut until, || {
            // SAFETY: a flag in the own control area.
            let seen = unsafe { u64::load_relaxed(base + flag) };
            (seen >= epoch, seen)
        });
        if !matches!(polled, Polled::Held) {
            return (polled, BarrierRound { epoch, flag, from: context.world_pe(from) });
        }
        // SAFETY: as above.
        unsafe { acquire::<u64>(base + flag) };
        flag += 8;
        distance = distance.wrapping_shl(1);
    }
    (Polled::Held, BarrierRound::default())
}
