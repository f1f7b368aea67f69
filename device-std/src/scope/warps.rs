//! Some warps of a block.
//!
//! They join by polling a word in shared memory, not at a hardware barrier: one with a thread count does not promise
//! to count out threads that have exited, so a thread that failed would leave the others there for good.
//!
//! | step | edge |
//! |---|---|
//! | warp barrier | each warp's past reaches its first lane |
//! | `atom.acq_rel.cta.shared.add` on the group's word; the first warp adds 2^31 less the others | release, and a chain through the other arrivals |
//! | `ld.acquire.cta.shared` until the top bit has flipped | acquire of every arrival |
//! | warp barrier | reaches the rest of the warp |

use super::{Scope, Warp};
use crate::abi::{Cause, Operation};
use crate::arch::{Word, atomic, shared, thread, warp};
use crate::context::Shmem;
use crate::fault::{Expired, Fault, fail};
use crate::poll::{Polled, flipped, poll};
use crate::together::Together;
use crate::{thread as indices, warp as lanes};

/// Some neighbouring warps of one block: see [`warps`](crate::Shmem::warps).
#[derive(Clone, Copy, Debug)]
pub struct Warps {
    /// Warps in a group, at least 1.
    n: u32,
}

impl Warps {
    /// Called by the whole block.
    #[inline(always)]
    pub(super) fn new(shmem: Shmem, n: u32) -> Self {
        if n == 0 {
            let fault = Fault { peer: shmem.my_pe(), ..Fault::new(Cause::Zero, Operation::WarpsSync) };
            fail(shmem, Fault { expected: u64::from(warps_of_block()), ..fault });
        }
        thread::block_barrier();
        if Warp.leads() {
            // SAFETY: the slot of this warp; nobody else touches it between the two barriers.
            unsafe { u32::store_shared(shared::scratch(indices::in_block() >> 5), 0) };
        }
        thread::block_barrier();
        Self { n }
    }

    /// The group's first warp.
    #[inline(always)]
    fn first(self) -> u32 {
        let warp = indices::in_block() >> 5;
        warp - warp % self.n
    }

    /// Warps in this group.
    #[inline(always)]
    fn count(self) -> u32 {
        let rest = warps_of_block() - self.first();
        if self.n < rest { self.n } else { rest }
    }

    /// Shared-memory address of the group's barrier word; 8 bytes later stands the value that its leader shares.
    #[inline(always)]
    fn slot(self) -> u64 {
        shared::scratch(self.first())
    }

    /// By the first lane of each warp.
    #[inline(always)]
    fn arrive(self, shmem: Shmem) -> Polled {
        let (warps, word) = (self.count(), self.slot());
        if warps == 1 {
            return Polled::Held;
        }
        let add = if self.leads() { (1 << 31) - (warps - 1) } else { 1 };
        // SAFETY: the group's word, which `new` prepared.
        let before = unsafe { atomic::arrive_shared_u32(word, add) };
        // Twice the deadline of a wait: the leader that waits for a peer reports that first.
        let polled = poll(shmem, shmem.abi.deadline.saturating_mul(2), || {
            // SAFETY: as above.
            let now = unsafe { atomic::load_acquire_shared_u32(word) };
            (flipped(before, now), u64::from(now))
        });
        polled.arrivals(warps)
    }
}

/// Warps in a block.
#[inline(always)]
fn warps_of_block() -> u32 {
    (indices::per_block() + 31) >> 5
}

impl Scope for Warps {
    type Worker = Self;
    #[inline(always)]
    fn worker(self) -> Self {
        self
    }
    const TOGETHER: Together = Together::SomeWarps;
    #[inline(always)]
    fn rank(self) -> u64 {
        u64::from(indices::in_block() - 32 * self.first())
    }
    #[inline(always)]
    fn size(self) -> u64 {
        let (threads, rest) = (32 * self.count(), indices::per_block() - 32 * self.first());
        u64::from(if threads < rest { threads } else { rest })
    }
    #[inline(always)]
    fn leads(self) -> bool {
        self.rank() == 0
    }
    #[inline(always)]
    fn polls(self) -> bool {
        self.leads()
    }
    #[inline(always)]
    fn sync(self, shmem: Shmem) {
        warp::sync(lanes::mask());
        let polled = if Warp.leads() { self.arrive(shmem) } else { Polled::Held };
        let fault = Fault::new(Cause::Deadline, Operation::WarpsSync);
        let expected = u64::from(self.count());
        Warp.join(shmem, polled, Fault { peer: shmem.my_pe(), expected, ..fault });
    }
    #[inline(always)]
    fn join(self, shmem: Shmem, polled: Polled, expired: impl Expired) {
        // If the leader gave up, its warp ends here, and the others at the barrier, as soon as they see the alarm.
        Warp.join(shmem, polled, expired);
        self.sync(shmem);
    }
    #[inline(always)]
    fn share(self, shmem: Shmem, value: u64) -> u64 {
        let address = self.slot() + 8;
        if self.leads() {
            // SAFETY: the group's own slot, read by its threads between the two barriers only.
            unsafe { u64::store_shared(address, value) };
        }
        self.sync(shmem);
        // SAFETY: as above.
        let value = unsafe { u64::load_shared(address) };
        self.sync(shmem);
        value
    }
}
