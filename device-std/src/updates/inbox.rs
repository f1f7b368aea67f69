//! The inbox: where batches arrive. One range of symmetric memory, cut alike on every PE.
//!
//! A block's part, in 64-bit words, where `P` is the number of the job's PEs:
//!
//! | words | content | written by |
//! |---|---|---|
//! | 1 | 0, or the number of the launch whose block uses it | the block |
//! | `P` | of each PE: batches sent there, and in the upper half those applied from there, when the last use ended | the block |
//! | `P` | of each PE: batches that it has taken from this block | that PE |
//! | 2 `P` | of each PE and slot: number of the batch in the upper half, then [`PRESENT`], [`LAST`] and the count | that PE |
//! | to 16 bytes | nothing | |
//! | 2 `P` batches | of each PE and slot: the updates | that PE |

use super::entry::Carried;
use crate::atomic::AtomicWord;
use crate::launch::{KernelParam, Named};
use crate::sym::Sym;
use core::marker::PhantomData;

/// In an `arrived` word: there is a batch.
pub(super) const PRESENT: u32 = 1 << 30;
/// In an `arrived` word: it is the block's last one.
pub(super) const LAST: u32 = 1 << 31;
/// In an `arrived` word: how many updates there are.
pub(super) const COUNT: u32 = (1 << BATCH_BITS) - 1;

const PES_BITS: u32 = 16;
const BLOCKS_BITS: u32 = 24;
const BATCH_BITS: u32 = 24;

/// What an inbox was made for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pes: u32,
    blocks: u32,
    batch: u32,
}

#[doc(hidden)]
impl Shape {
    /// `None` if it is more than a handle can say: 65,535 PEs, 16,777,215 blocks, 16,777,215 updates a batch.
    pub const fn new(pes: u32, blocks: u32, batch: u32) -> Option<Self> {
        if pes >> PES_BITS != 0 || blocks >> BLOCKS_BITS != 0 || batch >> BATCH_BITS != 0 {
            return None;
        }
        Some(Self { pes, blocks, batch })
    }

    #[inline(always)]
    const fn packed(self) -> u64 {
        self.pes as u64 | (self.blocks as u64) << PES_BITS | (self.batch as u64) << (PES_BITS + BLOCKS_BITS)
    }

    #[inline(always)]
    const fn unpacked(bits: u64) -> Self {
        Self {
            pes: bits as u32 & ((1 << PES_BITS) - 1),
            blocks: (bits >> PES_BITS) as u32 & ((1 << BLOCKS_BITS) - 1),
            batch: (bits >> (PES_BITS + BLOCKS_BITS)) as u32,
        }
    }

    /// How many blocks may use it.
    #[inline(always)]
    pub const fn blocks(self) -> u32 {
        self.blocks
    }

    /// Updates in a batch.
    #[inline(always)]
    pub const fn batch(self) -> u32 {
        self.batch
    }

    /// Bytes of a block's part.
    #[inline(always)]
    pub fn block_bytes<T: AtomicWord>(self) -> u64 {
        (self.slot::<T>(self.pes, 0) + 15) & !15
    }

    /// From a block's part to its word of PE `pe`'s counts; behind the last PE's stand the `taken` words.
    #[inline(always)]
    pub(super) const fn counts(self, pe: u32) -> u64 {
        8 * (1 + pe as u64)
    }

    /// From a block's part to the word in which PE `pe` says how many batches it has taken.
    #[inline(always)]
    pub(super) const fn taken(self, pe: u32) -> u64 {
        self.counts(self.pes) + 8 * pe as u64
    }

    /// From a block's part to the word of PE `pe`'s slot `slot`.
    #[inline(always)]
    pub(super) const fn arrived(self, pe: u32, slot: u32) -> u64 {
        self.taken(self.pes) + 8 * (2 * pe as u64 + slot as u64)
    }

    /// From a block's part to the updates in PE `pe`'s slot `slot`.
    #[inline(always)]
    pub(super) fn slot<T: AtomicWord>(self, pe: u32, slot: u32) -> u64 {
        let entry = size_of::<<T::Bits as Carried>::Entry>() as u64;
        let first = (self.arrived(self.pes, 0) + 15) & !15;
        first + (2 * u64::from(pe) + u64::from(slot)) * u64::from(self.batch) * entry
    }
}

/// A handle to an inbox, as a kernel takes it: `Copy`, the same on every PE. The host's `UpdateInbox` is passed to a launch
/// for it.
pub struct UpdateInbox<T> {
    pub(super) start: Sym<u64>,
    pub(super) shape: Shape,
    of: PhantomData<fn(T)>,
}

impl<T> Clone for UpdateInbox<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for UpdateInbox<T> {}
impl<T> core::fmt::Debug for UpdateInbox<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Shape { pes, blocks, batch } = self.shape;
        write!(f, "UpdateInbox({:?}, {pes} PEs, {blocks} blocks, batches of {batch})", self.start)
    }
}

impl<T: AtomicWord> UpdateInbox<T> {
    /// A handle from its parts. The host runtime makes handles of what it allocated.
    ///
    /// # Safety
    /// `words` are [`block_bytes`](Shape::block_bytes) for each of the shape's blocks, on every PE, aligned to 16 and zero
    /// before the first use.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn from_parts(words: Sym<[u64]>, shape: Shape) -> Self {
        // SAFETY: passed on; `Shape` says how much there is.
        unsafe { Self::from_raw(words.into_raw().0, shape.packed()) }
    }
}

#[diagnostic::do_not_recommend]
// SAFETY: the pieces are the handle's own fields; a launcher checks the range that `names` gives.
unsafe impl<T: AtomicWord> KernelParam for UpdateInbox<T> {
    type R0 = u64;
    type R1 = u64;
    #[inline(always)]
    fn into_raw(self) -> (u64, u64) {
        (self.start.into_raw().0, self.shape.packed())
    }
    #[inline(always)]
    unsafe fn from_raw(start: u64, shape: u64) -> Self {
        // SAFETY: passed on.
        let start = unsafe { Sym::from_raw(start, ()) };
        Self { start, shape: Shape::unpacked(shape), of: PhantomData }
    }
    fn names(self) -> Named {
        match self.start.names() {
            Named::Symmetric { offset, tag, .. } => {
                let bytes = self.shape.block_bytes::<T>().saturating_mul(self.shape.blocks.into());
                Named::Symmetric { offset, bytes, tag }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sym::Reach;

    #[test]
    fn the_parts_of_a_block_follow_each_other_and_do_not_overlap() {
        fn check<T: AtomicWord>(entry: u64) {
            for (pes, batch) in [(1, 1), (1, 4), (2, 1), (3, 5), (8, 64)] {
                let shape = Shape::new(pes, 7, batch).unwrap();
                let last = pes - 1;
                assert_eq!(shape.counts(0), 8);
                assert_eq!(shape.taken(0), shape.counts(last) + 8);
                assert_eq!(shape.arrived(0, 0), shape.taken(last) + 8);
                assert!(shape.slot::<T>(0, 0) >= shape.arrived(last, 1) + 8);
                assert!(
                    shape.slot::<T>(0, 0).is_multiple_of(16) && shape.block_bytes::<T>().is_multiple_of(16)
                );
                let batch_bytes = u64::from(batch) * entry;
                assert_eq!(shape.slot::<T>(0, 1), shape.slot::<T>(0, 0) + batch_bytes);
                assert!(shape.block_bytes::<T>() >= shape.slot::<T>(last, 1) + batch_bytes);
            }
        }
        check::<u32>(8);
        check::<i64>(16);
        check::<crate::f16>(8);
    }

    #[test]
    fn a_handle_is_the_same_after_a_launch_has_taken_it_apart() {
        let shape = Shape::new(65_535, 0xff_ffff, 0xff_fffe).unwrap();
        assert_eq!(Shape::unpacked(shape.packed()), shape);
        assert_eq!(Shape::new(65_536, 1, 1), None);
        assert_eq!(Shape::new(1, 1 << 24, 1), None);
        assert_eq!(Shape::new(1, 1, 1 << 24), None);
        let shape = Shape::new(2, 3, 4).unwrap();
        // SAFETY: the handle is never used to reach memory.
        let inbox = unsafe { UpdateInbox::<u32>::from_parts(Sym::from_parts(512, 0, Reach::World), shape) };
        let (start, bits) = inbox.into_raw();
        // SAFETY: as above.
        let again = unsafe { UpdateInbox::<u32>::from_raw(start, bits) };
        assert_eq!((again.start.offset(), again.shape), (512, shape));
        let bytes = 3 * shape.block_bytes::<u32>();
        assert_eq!(again.names(), Named::Symmetric { offset: 512, bytes, tag: 0 });
    }
}
