//! Copies between global memories through shared memory, by the bulk copy engine: one thread drives it, and no data
//! passes through registers.
//!
//! | step, chunk `c`, by the leader | why |
//! |---|---|
//! | `wait_group.read 1` | the store of chunk `c - 2` has read the buffer that chunk `c + 2` takes |
//! | load of chunk `c + 2` | two loads and two stores are in flight |
//! | wait for chunk `c` on its barrier, store it, commit | |
//!
//! After the last one `wait_group 0`: the target is written, and visible to the leader; the scope barrier and what
//! releases after it make it visible to others.

use crate::abi::Operation;
use crate::arch::bulk;
use crate::context::{Context, Shmem};
use crate::fault::Fault;
use crate::poll::Polled;
use crate::rma::WithinBlock;
use crate::scope::{Scope, Scoped};
use crate::shared::{SharedField, wide};
use crate::tile::{arrived, late, prepare};
use core::marker::PhantomData;
use core::mem::offset_of;

const BUFFERS: u64 = 4;

/// A layout's field: `BYTES` of shared memory, a multiple of 64, for copies through it. 64 KiB let one block move as
/// much as its loads and stores do; less is slower.
#[repr(C, align(16))]
#[expect(missing_debug_implementations, reason = "names a layout; there is no value of it")]
pub struct BulkStage<const BYTES: usize> {
    buffers: [u8; BYTES],
    barriers: [u64; BUFFERS as usize],
}

/// The memory of a [`Stage`], before it is made ready.
#[derive(Debug)]
pub struct StageMemory {
    buffers: u64,
    barriers: u64,
    /// Bytes of one buffer.
    chunk: u32,
}

impl<const BYTES: usize> SharedField for BulkStage<BYTES> {
    type Handle = StageMemory;
    const ENGINE: bool = true;
    #[inline(always)]
    fn handle(address: u32, _: Shmem) -> StageMemory {
        const { assert!(BYTES > 0 && BYTES.is_multiple_of(64), "a stage has a multiple of 64 bytes") };
        let barriers = wide(address + offset_of!(Self, barriers) as u32);
        StageMemory { buffers: wide(address), barriers, chunk: (BYTES as u64 / BUFFERS) as u32 }
    }
}

impl<S: Scope, C: Context> Scoped<S, C> {
    /// Makes a stage ready, for this scope alone. All threads of the scope call it, once per launch.
    #[inline(always)]
    pub fn stage(self, memory: StageMemory) -> Stage<S>
    where
        S: WithinBlock,
    {
        prepare(self, memory.barriers, BUFFERS);
        Stage { memory, parities: 0, scope: PhantomData }
    }
}

/// Shared memory of one scope through which the bulk engine copies.
#[derive(Debug)]
pub struct Stage<S> {
    memory: StageMemory,
    /// One bit per barrier: the parity of the phase that its next load goes into.
    parities: u32,
    scope: PhantomData<fn(S)>,
}

impl<S: WithinBlock> Stage<S> {
    /// Copies `bytes`, a multiple of 16, by the leader; joins the scope before and after. Afterwards the target is
    /// written, and visible to the scope.
    ///
    /// # Safety
    /// Both ranges are valid global memory, aligned to 16, and do not overlap in part; nothing else accesses the target
    /// meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn copy<C: Context>(
        &mut self,
        scope: Scoped<S, C>,
        target: u64,
        source: u64,
        bytes: u64,
        operation: Operation,
    ) {
        let shmem = scope.shmem();
        bulk::fence_global();
        scope.meet();
        let chunk = u64::from(self.memory.chunk);
        let chunks = bytes.div_ceil(chunk);
        let mut polled = Polled::Held;
        if scope.is_leader() {
            bulk::fence_global();
            // SAFETY: passed on.
            polled = unsafe { self.drive(shmem, target, source, bytes, chunks) };
            bulk::wait_stores();
        }
        // Each barrier has seen one load of every fourth chunk.
        let mut buffer = 0;
        while buffer < BUFFERS {
            let loads = (chunks + BUFFERS - 1 - buffer) / BUFFERS;
            self.parities ^= ((loads & 1) as u32) << buffer;
            buffer += 1;
        }
        scope.scope.join(shmem, polled, Fault { operation, ..late(shmem) });
    }

    /// # Safety
    /// As [`copy`](Self::copy).
    #[inline(always)]
    unsafe fn drive(&self, shmem: Shmem, target: u64, source: u64, bytes: u64, chunks: u64) -> Polled {
        let chunk = u64::from(self.memory.chunk);
        let place = |c: u64| {
            let buffer = c % BUFFERS;
            let (at, rest) = (c * chunk, bytes - c * chunk);
            let length = if rest < chunk { rest } else { chunk } as u32;
            (at, length, self.memory.buffers + buffer * chunk, self.memory.barriers + 8 * buffer)
        };
        let load = |c: u64| {
            let (at, length, buffer, barrier) = place(c);
            // SAFETY: a part of the source, and a buffer that is free.
            unsafe {
                bulk::barrier_expect(barrier, length);
                bulk::load(buffer, source + at, length, barrier);
            }
        };
        load(0);
        if chunks > 1 {
            load(1);
        }
        let mut parities = self.parities;
        let mut c = 0;
        while c < chunks {
            if c + 2 < chunks {
                bulk::wait_reads_but_last();
                load(c + 2);
            }
            let (at, length, buffer, barrier) = place(c);
            let bit = (c % BUFFERS) as u32;
            let polled = arrived(shmem, barrier, parities >> bit & 1);
            if !matches!(polled, Polled::Held) {
                return polled;
            }
            parities ^= 1 << bit;
            // SAFETY: a part of the target, and the buffer that has arrived.
            unsafe { bulk::store(target + at, buffer, length) };
            bulk::commit();
            c += 1;
        }
        Polled::Held
    }
}
