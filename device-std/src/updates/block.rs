//! A block's updates, from `updates` to `finish`.

use super::buffer::Peer;
use super::entry::Carried;
use super::inbox::PRESENT;
use super::rounds::Trouble;
use super::state::Updates;
use super::{UpdateInbox, UpdateMemory, UpdateOp};
use crate::abi::{Cause, Operation};
use crate::arch::{Word, atomic};
use crate::atomic::{Atomic, AtomicWord};
use crate::context::{Context, MayWait};
use crate::fault::{Fault, fail};
use crate::poll::{Polled, Until};
use crate::scope::{Block, Scope as _, Scoped};
use crate::sym::Sym;
use crate::thread;
use core::marker::PhantomData;
use core::mem::offset_of;

/// An update of one word.
#[derive(Clone, Copy, Debug)]
pub struct Update<T> {
    /// The word's index in the table.
    pub index: u64,
    /// What the word is updated with.
    pub value: T,
    /// The PE whose copy of the table it is.
    pub pe: u32,
}

impl<C: Context> Scoped<Block, C> {
    /// Begins updates by `op` of words of `table` on any PE, collected in `buffer` and received in `inbox`. All threads of
    /// the block call it.
    ///
    /// The blocks of this number on *all* PEs of the job (through a team: of the team) do it together, with the same table,
    /// operation and inbox: each of them then calls [`finish`](Updates::finish), however many updates it has. A block uses
    /// an inbox once at a time; a launch, and another `updates` after `finish`, may use it again. Updates are exclusive
    /// with all other atomics on the words, and in no order.
    ///
    /// Ends the kernel with an error record if the inbox was made for fewer blocks ([`Cause::InboxBlocks`]) or for another
    /// `BATCH` ([`Cause::InboxBatch`]), if there are more PEs than `PES` ([`Cause::UpdateBins`]), or if a block that did not
    /// finish has left the inbox ([`Cause::InboxInUse`]).
    #[inline(always)]
    #[track_caller]
    pub fn updates<T: AtomicWord, O: UpdateOp<T>, const BATCH: usize, const PES: usize>(
        self,
        buffer: UpdateMemory<T, BATCH, PES>,
        op: O,
        table: Sym<[Atomic<T>]>,
        inbox: UpdateInbox<T>,
    ) -> Updates<T, O, C, BATCH, PES>
    where
        C: MayWait,
    {
        let (shmem, UpdateInbox { start, shape, .. }) = (self.shmem(), inbox);
        let (pes, _) = (self.context.pes(), op);
        let _recorded = self.enter_here(Operation::Updates, start.offset(), 0);
        let refuse = |cause, expected: u32, seen: u64| -> ! {
            let fault = Fault { peer: shmem.my_pe(), ..Fault::new(cause, Operation::Updates) };
            fail(shmem, Fault { offset: start.offset(), expected: expected.into(), seen, ..fault })
        };
        if thread::block() >= shape.blocks() {
            refuse(Cause::InboxBlocks, shape.blocks(), thread::blocks().into());
        }
        if shape.batch() as usize != BATCH {
            refuse(Cause::InboxBatch, shape.batch(), BATCH as u64);
        }
        if pes as usize > PES {
            refuse(Cause::UpdateBins, pes, PES as u64);
        }
        let own = shmem.own_address(start.span(), Operation::Updates);
        let indices = <T::Bits as Carried>::INDICES;
        let updates = Updates {
            scope: self,
            memory: buffer,
            table: shmem.own_address(table.span(), Operation::Updates),
            len: if table.len() < indices { table.len() } else { indices },
            offset: table.offset(),
            part: start.offset() + u64::from(thread::block()) * shape.block_bytes::<T>(),
            shape,
            rank: thread::in_block(),
            size: thread::per_block(),
            ahead: 0,
            looks_at: thread::in_block(),
            of: PhantomData,
        };
        let mut pe = updates.rank;
        while pe < pes {
            // A peer that cannot be reached ends the kernel before anything is sent.
            self.remote(start.span(), pe, Operation::Updates);
            updates.begin(pe);
            pe += updates.size;
        }
        let mut user = 0;
        let in_use = own + (updates.part - start.offset());
        if self.is_leader() {
            // SAFETY: the part's first word, which this thread alone reads and writes; the block's own shared memory.
            user = unsafe {
                u32::store_shared(updates.memory.woken(), 0);
                u64::load_global(in_use)
            };
        }
        let polled = if user == 0 { Polled::Held } else { Polled::Expired(user) };
        let fault = Fault { peer: shmem.my_pe(), ..Fault::new(Cause::InboxInUse, Operation::Updates) };
        self.scope.join(shmem, polled, Fault { offset: updates.part, ..fault });
        if self.is_leader() {
            // SAFETY: as above.
            unsafe { u64::store_global(in_use, u64::from(shmem.abi.launch)) };
        }
        updates
    }
}

impl<T: AtomicWord, O: UpdateOp<T>, C: MayWait, const BATCH: usize, const PES: usize>
    Updates<T, O, C, BATCH, PES>
{
    /// Takes an update of each thread that has one, to be applied at any time until [`finish`](Self::finish) has returned on
    /// the block of this number there. All threads of the block call it together, also those that have none. It sends
    /// batches that are full, and applies what has come from others; where a receiver is behind by two batches it waits.
    ///
    /// An index out of range, or a PE that does not exist, ends the kernel with an error record, and nothing of this update
    /// is sent. A table of values of up to 4 bytes can be updated in its first 2^32 words.
    #[inline(always)]
    #[track_caller]
    pub fn add(&mut self, update: Option<Update<T>>) {
        let shmem = self.scope.shmem();
        let _recorded = self.scope.enter_here(Operation::Updates, self.offset, size_of::<T>() as u64);
        let (mut pending, index, value, pe) = match update {
            Some(Update { index, value, pe }) => (true, index, value, pe),
            None => (false, 0, bytemuck::Zeroable::zeroed(), 0),
        };
        let pes = self.scope.context.pes();
        let no_pe = pending & (pe >= pes);
        let no_word = pending & !no_pe & (index >= self.len);
        pending &= !(no_pe | no_word);
        if pending && self.other(pe).is_none() {
            // SAFETY: a word of the own copy of the table, whose index was checked.
            unsafe { O::apply(self.table + index * size_of::<T>() as u64, value) };
            pending = false;
        }
        let (mut until, mut failed, mut sent) = (Until::within(shmem.abi.deadline), 0u32, 0);
        loop {
            let mut full = false;
            if pending {
                // SAFETY: a counter of the block's own shared memory.
                let place = unsafe {
                    atomic::fetch_add_shared_u32(self.memory.address(pe, offset_of!(Peer, fill)), 1)
                };
                if place < BATCH as u32 {
                    // SAFETY: a place of the bin, which no other thread was given.
                    unsafe { Word::store_shared(self.memory.place(pe, place), value.bits().pack(index)) };
                    pending = false;
                    full = place == BATCH as u32 - 1;
                }
            }
            let incoming = self.incoming();
            if !self.scope.any(pending | full | incoming | no_pe | no_word) {
                return;
            }
            let mut polled = Polled::Held;
            if no_pe | no_word {
                polled = Polled::Expired(if no_pe { pe.into() } else { index });
            } else if pending {
                // Its bin is emptied in the round that follows, unless the bin's owner is gone.
                let now = self.memory.get(pe, offset_of!(Peer, sent));
                if failed == 0 || now != sent {
                    (until, failed, sent) = (Until::within(shmem.abi.deadline), 0, now);
                }
                polled = until.over(shmem, failed, sent.into());
                failed = failed.wrapping_add(1);
            }
            let cause = match (no_pe, no_word) {
                (true, _) => Cause::PeOutOfRange,
                (_, true) => Cause::IndexOutOfRange,
                _ => Cause::Deadline,
            };
            self.serve(false, polled, Trouble { cause, pe });
        }
    }

    /// Sends what is left, and applies what comes until the blocks of this number on all PEs have finished. All threads of
    /// the block call it.
    ///
    /// Afterwards all updates of this PE's copy of the table by blocks of this number, of all PEs, have been applied, and are
    /// visible to the block. Those of all blocks have been when all blocks of this PE have returned: after a grid barrier,
    /// or the kernel. A PE reads another one's copy after a [`barrier_all`](Scoped::barrier_all).
    ///
    /// Does not return if the deadline passes, between two batches of a PE, or a peer fails.
    #[inline(always)]
    #[track_caller]
    pub fn finish(mut self) {
        let shmem = self.scope.shmem();
        let _recorded = self.scope.enter_here(Operation::Updates, self.offset, 0);
        self.serve(true, Polled::Held, Trouble { cause: Cause::Deadline, pe: 0 });
        let mut pe = self.rank;
        while pe < self.scope.context.pes() {
            self.end(pe);
            pe += self.size;
        }
        if self.scope.is_leader() {
            // SAFETY: the part's first word, which this thread alone reads and writes.
            unsafe { u64::store_global(shmem.abi.heap_base + self.part, 0) };
        }
        self.scope.meet();
    }

    /// Whether a batch had arrived at the last call from the PE that this thread looked at then. Looks at the next of those
    /// that it owns.
    #[inline(always)]
    fn incoming(&mut self) -> bool {
        let pes = self.scope.context.pes();
        if self.rank >= pes {
            return false;
        }
        let had = self.batch(self.looks_at, self.ahead) & PRESENT != 0;
        let next = self.looks_at + self.size;
        self.looks_at = if next < pes { next } else { self.rank };
        self.ahead = match self.other(self.looks_at) {
            // SAFETY: a mapped, aligned word of the own inbox; only atomic accesses reach it.
            Some(world) => unsafe { u64::load_relaxed(self.arrived(self.looks_at, world)) },
            None => 0,
        };
        had
    }
}
