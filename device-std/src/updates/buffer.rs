//! What a block keeps in shared memory.

use super::entry::Carried;
use crate::arch::Word;
use crate::atomic::AtomicWord;
use crate::context::Shmem;
use crate::shared::{SharedField, wide};
use core::marker::PhantomData;
use core::mem::offset_of;

/// A layout's field: for each of up to `PES` PEs a bin of `BATCH` updates of `T`s. An update takes 16 bytes if `T` has 8,
/// else 8; a PE takes 24 bytes more.
///
/// A batch should be at least as large as a block, so that sending one is worth the release that it costs.
#[repr(C, align(16))]
#[expect(missing_debug_implementations, reason = "names a layout; there is no value of it")]
pub struct UpdateBuffer<T: AtomicWord, const BATCH: usize, const PES: usize> {
    bins: [[<T::Bits as Carried>::Entry; BATCH]; PES],
    peers: [Peer; PES],
    woken: u32,
}

/// What is known of a PE. All but `fill` is written by its owner alone.
#[repr(C)]
pub(super) struct Peer {
    /// Places of its bin that were asked for; more than there are if some were not given.
    pub(super) fill: u32,
    /// The batch that has arrived from it and is applied in this round: the lower half of its `arrived` word, or 0.
    pub(super) ready: u32,
    /// The batch that is sent to it in this round, likewise.
    pub(super) go: u32,
    /// Batches sent to it.
    pub(super) sent: u32,
    /// Batches applied from it.
    pub(super) applied: u32,
    /// [`FROM_IT`] and [`TO_IT`].
    pub(super) ended: u32,
}

/// In [`Peer::ended`]: its last batch has been applied.
pub(super) const FROM_IT: u32 = 1;
/// In [`Peer::ended`]: the last batch has been sent to it.
pub(super) const TO_IT: u32 = 2;

/// The memory of an [`UpdateBuffer`], before [`updates`](crate::Scoped::updates) makes it ready.
pub struct UpdateMemory<T, const BATCH: usize, const PES: usize> {
    address: u64,
    of: PhantomData<fn(T)>,
}

// Not derived: `T` need not be `Debug`.
impl<T, const BATCH: usize, const PES: usize> core::fmt::Debug for UpdateMemory<T, BATCH, PES> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "UpdateMemory({:#x}, {PES} bins of {BATCH})", self.address)
    }
}

impl<T: AtomicWord, const BATCH: usize, const PES: usize> SharedField for UpdateBuffer<T, BATCH, PES> {
    type Handle = UpdateMemory<T, BATCH, PES>;
    #[inline(always)]
    fn handle(address: u32, _: Shmem) -> UpdateMemory<T, BATCH, PES> {
        const { assert!(BATCH > 0 && PES > 0, "an update buffer has bins, and they have room") };
        UpdateMemory { address: wide(address), of: PhantomData }
    }
}

/// Accesses of the parts. The block's barriers order them.
impl<T: AtomicWord, const BATCH: usize, const PES: usize> UpdateMemory<T, BATCH, PES> {
    /// Address of place `place` of PE `pe`'s bin.
    #[inline(always)]
    pub(super) fn place(&self, pe: u32, place: u32) -> u64 {
        let entry = size_of::<<T::Bits as Carried>::Entry>() as u64;
        self.address + (u64::from(pe) * BATCH as u64 + u64::from(place)) * entry
    }

    /// Address of the word by which threads that wait wake each other.
    #[inline(always)]
    pub(super) fn woken(&self) -> u64 {
        self.address + offset_of!(UpdateBuffer<T, BATCH, PES>, woken) as u64
    }

    /// Address of a field of what is known of PE `pe`.
    #[inline(always)]
    pub(super) fn address(&self, pe: u32, field: usize) -> u64 {
        let peers = offset_of!(UpdateBuffer<T, BATCH, PES>, peers) as u64;
        self.address + peers + u64::from(pe) * size_of::<Peer>() as u64 + field as u64
    }

    /// Reads a field of what is known of PE `pe`, which is less than `PES`.
    #[inline(always)]
    pub(super) fn get(&self, pe: u32, field: usize) -> u32 {
        // SAFETY: a field of the block's layout, which `base_of` checked.
        unsafe { u32::load_shared(self.address(pe, field)) }
    }

    /// Writes it.
    #[inline(always)]
    pub(super) fn set(&self, pe: u32, field: usize, value: u32) {
        // SAFETY: as in `get`.
        unsafe { u32::store_shared(self.address(pe, field), value) }
    }
}
