//! What a block knows while it collects updates.

use super::UpdateMemory;
use super::inbox::Shape;
use crate::atomic::AtomicWord;
use crate::scope::{Block, Scoped};
use core::marker::PhantomData;

/// A block's updates of words of all PEs' copies of one table. Made by [`updates`](Scoped::updates).
#[must_use = "updates that no `finish` follows are lost, and their inbox is not usable again"]
pub struct Updates<T: AtomicWord, O, C, const BATCH: usize, const PES: usize> {
    pub(super) scope: Scoped<Block, C>,
    pub(super) memory: UpdateMemory<T, BATCH, PES>,
    /// The own copy of the table: address, words that an update may name, and heap offset for reports.
    pub(super) table: u64,
    pub(super) len: u64,
    pub(super) offset: u64,
    /// Heap offset of the block's part of the inbox.
    pub(super) part: u64,
    pub(super) shape: Shape,
    /// The thread's number in the block, and how many there are.
    pub(super) rank: u32,
    pub(super) size: u32,
    /// What stood in the `arrived` word of PE `looks_at` at the last call. It is looked at only in the next one, so that
    /// no call waits for a load.
    pub(super) ahead: u64,
    pub(super) looks_at: u32,
    pub(super) of: PhantomData<fn(O)>,
}

impl<T: AtomicWord, O, C, const BATCH: usize, const PES: usize> core::fmt::Debug
    for Updates<T, O, C, BATCH, PES>
{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Updates({:?}, table of {} at {:#x})", self.memory, self.len, self.offset)
    }
}
