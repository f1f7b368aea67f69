//! What the emulator provides to a kernel that runs on the host: the two seams and the scheduler's services.
//!
//! The emulator enters a kernel thread with [`enter`], which puts its [`Hooks`] into a thread-local; a
//! device's coroutines never change their operating-system thread. Without hooks every operation panics with
//! a sentence that says to launch the kernel.

pub use super::bulk::BulkQueue;
use crate::abi::{ErrorRecord, Operation};
pub use crate::collective::{Alike, InPlace, Operands};
use crate::together::Together;
use core::panic::Location;
use std::cell::Cell;

/// Bytes of shared memory that every block has besides what its launch gave, for the barriers of its warps.
pub const SCRATCH_BYTES: u32 = 528;

/// Where a kernel thread stands: its indices and the launch's dimensions, x, y, z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Thread index in the block.
    pub thread_idx: [u32; 3],
    /// Block index in the grid.
    pub block_idx: [u32; 3],
    /// Threads per block.
    pub block_dim: [u32; 3],
    /// Blocks in the grid.
    pub grid_dim: [u32; 3],
}

/// The operation seam: one call of a public operation.
#[derive(Clone, Copy, Debug)]
pub struct OperationEvent {
    /// Which threads perform it together.
    pub together: Together,
    /// Which operation.
    pub operation: Operation,
    /// Heap offset in bytes of what it names at the target, 0 where it names nothing.
    pub offset: u64,
    /// Bytes moved by this operation of the whole scope.
    pub bytes: u64,
    /// The PE that it names, or the own one.
    pub pe: u32,
}

/// Where the PEs of a team take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Turn {
    /// The team's handle, as a number.
    pub team: u64,
    /// The channel; another number for the barrier of all PEs.
    pub channel: u32,
    /// The job's number of the team's PE 0: teams that have no PE in common may have the same handle, as those of the PEs of each
    /// GPU do.
    pub first: u32,
}

/// What the PEs of a team do together, as one of them does it.
#[derive(Clone, Copy, Debug)]
pub struct TeamCall {
    /// A barrier or a collective operation.
    pub operation: Operation,
    /// Where.
    pub at: Turn,
    /// How many PEs the team has.
    pub pes: u32,
    /// Of a collective operation what all PEs must give it alike, and the memory that it names here; nothing of a barrier.
    pub data: Option<(Alike, Operands)>,
}

/// The instruction seam: one access or fence that a twin is about to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// A load from global memory.
    Load {
        /// First byte.
        address: u64,
        /// Width in bytes.
        bytes: u32,
        /// How it is ordered.
        order: Order,
    },
    /// A store to global memory.
    Store {
        /// First byte.
        address: u64,
        /// Width in bytes.
        bytes: u32,
        /// How it is ordered.
        order: Order,
    },
    /// A read-modify-write of a word in global memory.
    Atomic {
        /// The word.
        address: u64,
        /// Width in bytes.
        bytes: u32,
        /// How it is ordered.
        order: Order,
    },
    /// `fence.sc.sys`.
    Fence,
    /// `fence.acquire.sys`.
    FenceAcquire,
    /// The arrival at a barrier of some warps, in shared memory.
    Arrive,
}

/// How an access is ordered; scope is `.sys` unless the name says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Weak: may not race.
    Weak,
    /// `.relaxed.sys`.
    Relaxed,
    /// `.acquire.sys`.
    Acquire,
    /// `.release.sys`.
    Release,
    /// `.acq_rel.sys`.
    AcqRel,
    /// `.acquire.gpu`, `.acq_rel.gpu`.
    Gpu,
}

/// One access of global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// First byte.
    pub address: u64,
    /// Width in bytes.
    pub bytes: u32,
    /// How it is ordered.
    pub order: Order,
}

/// What a read-modify-write makes of the bits of a word.
pub type Change = Box<dyn Fn(u64) -> u64>;

/// The memory of a checked run. It carries out every access by itself: late, in another order, or with an older value, as
/// far as the memory model lets it.
pub trait Checked {
    /// A load; of 16 bytes in two halves.
    fn load(&self, access: Access) -> [u64; 2];
    /// A store.
    fn store(&self, access: Access, value: [u64; 2]);
    /// A read-modify-write that returns the old bits.
    fn fetch(&self, access: Access, change: Change) -> u64;
    /// A compare-and-swap that returns the old bits. It writes nothing if they are not `expected`.
    fn compare_swap(&self, access: Access, expected: u64, new: u64) -> u64;
    /// A read-modify-write that returns nothing.
    fn update(&self, access: Access, change: Change);
    /// Comes to an access of shared memory, which follows after this returns.
    fn shared(&self, address: u64, bytes: u32, writes: bool);
    /// A read-modify-write of a word of shared memory that acquires and releases among the block's threads, or a load that
    /// acquires, which follows after this returns.
    fn shared_word(&self, address: u64, writes: bool);
    /// `fence.sc.sys`.
    fn fence(&self);
    /// `fence.acquire.sys`.
    fn fence_acquire(&self);
    /// Comes to an access of memory, or to a join, which belongs to no other operation.
    fn access(&self, together: Together, operation: Operation, at: &'static Location<'static>);
    /// What else the operation that the thread has entered is called with, as a number.
    fn with(&self, value: u64);
    /// Whether the test that the thread is in was true.
    fn tested(&self, holds: bool);
    /// The thread begins, for its PE, what the PEs of a team do together.
    fn collective(&self, call: TeamCall);
    /// The thread has ended it, for its PE.
    fn collective_over(&self, operation: Operation, at: Turn);
    /// The thread fails with this record, and ends.
    fn failed(&self, record: &ErrorRecord);
}

/// Why a thread lets others run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// A communication operation: any other thread may run first.
    Communication,
    /// A poll found its condition false; the thread has nothing to do until some memory changes. `until` is
    /// the time at which the wait expires.
    PollFailed {
        /// Deadline of the wait, in units of [`Hooks::now`].
        until: u64,
    },
}

/// What an emulated device does for the thread that it runs. All calls are made on the device's own
/// operating-system thread.
pub trait Hooks {
    /// Where the running thread stands.
    fn position(&self) -> Position;
    /// The operation seam.
    fn operation(&self, event: OperationEvent, at: &'static Location<'static>);
    /// The instruction seam. The access follows after it returns.
    fn instruction(&self, instruction: Instruction);
    /// A point at which the scheduler may run another thread.
    fn switch(&self, why: Switch);
    /// Waits until every thread of the block that has not exited is here; tells how many predicates were true.
    fn block_barrier(&self, predicate: bool) -> u32;
    /// Waits until every lane of `mask` that has not exited is here with its value, and returns all values by
    /// lane (0 for a lane outside `mask` or gone) and the mask of the lanes that came. `orders`: it is a barrier of theirs,
    /// and not only an exchange.
    fn warp_exchange(&self, mask: u32, value: u64, orders: bool) -> ([u64; 32], u32);
    /// The lanes of the running thread's warp that have not exited.
    fn active_lanes(&self) -> u32;
    /// Address and size in bytes of the block's dynamic shared memory.
    fn shared(&self) -> (u64, u32);
    /// Calls `act` with what the running thread has in flight through the bulk copy engine.
    fn bulk(&self, act: &mut dyn FnMut(&mut BulkQueue));
    /// Address of the block's [`SCRATCH_BYTES`] of shared memory that the launch did not ask for, aligned to 16.
    fn scratch(&self) -> u64;
    /// Address of the block's static shared memory for the place in the program named `site`: the same at every call.
    fn fixed_shared(&self, site: usize, bytes: usize, align: usize) -> u64;
    /// The device's clock, in the unit of [`ContextAbi::deadline`](crate::abi::ContextAbi::deadline).
    fn now(&self) -> u64;
    /// The host's monotonic clock (`CLOCK_MONOTONIC`), in nanoseconds.
    fn host_time(&self) -> u64;
    /// Ends the running thread by unwinding its coroutine.
    fn exit(&self) -> !;
    /// The checker, if the run is checked.
    fn checked(&self) -> Option<&dyn Checked> {
        None
    }
}

thread_local! {
    static CURRENT: Cell<Option<&'static dyn Hooks>> = const { Cell::new(None) };
}

/// Makes `hooks` this operating-system thread's hooks until the guard is dropped.
#[must_use]
pub fn enter(hooks: &'static dyn Hooks) -> Entered {
    Entered { before: CURRENT.replace(Some(hooks)) }
}

/// Restores the hooks that stood before [`enter`].
pub struct Entered {
    before: Option<&'static dyn Hooks>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

impl core::fmt::Debug for Entered {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Entered")
    }
}

/// The hooks of this operating-system thread.
pub(crate) fn current() -> &'static dyn Hooks {
    match CURRENT.get() {
        Some(hooks) => hooks,
        None => panic!(
            "an oxshmem device operation was called outside a kernel: run this kernel through its `launch`, \
             not by calling the function"
        ),
    }
}
