//! Inboxes for updates that kernels send in batches: the host half of `oxshmem_device::updates`.

use crate::driver::Backing;
use crate::error::{Error, Result};
use crate::group::Call;
use crate::shmem::Shmem;
use crate::symmetric::SymVec;
use oxshmem_device::Reach;
use oxshmem_device::atomic::AtomicWord;
use oxshmem_device::launch::Arg;
use oxshmem_device::updates::{Shape, UpdateInbox as Handle};
use std::fmt::{self, Formatter};
use std::marker::PhantomData;

/// Symmetric memory into which the blocks of all PEs send updates of words of type `T`. Passed to a launch, it is the
/// kernel's [`UpdateInbox`](oxshmem_device::updates::UpdateInbox).
///
/// ```
/// use oxshmem_device::prelude::*;
///
/// shared! {
///     /// For up to 8 PEs.
///     struct Layout {
///         buffer: UpdateBuffer<u32, 256, 8>,
///     }
/// }
///
/// /// Counts keys in bins that are spread over the PEs, bin after bin.
/// #[nvshmem_kernel(shared = Layout)]
/// fn histogram(shmem: Collective, bins: Sym<[Atomic<u32>]>, keys: Sym<[u32]>, inbox: UpdateInbox<u32>) {
///     let mut updates = shmem.block().updates(Layout::of(shmem).buffer, updates::Add, bins, inbox);
///     let (own, n) = (shmem.local(keys), shmem.n_pes());
///     // Every thread of the block goes round as often as any.
///     let mut first = thread::in_grid() - u64::from(thread::in_block());
///     while first < own.len() {
///         let i = first + u64::from(thread::in_block());
///         let key = if i < own.len() { Some(own.get(i)) } else { None };
///         updates.add(key.map(|key| Update { index: u64::from(key / n), value: 1, pe: key % n }));
///         first += thread::per_grid();
///     }
///     updates.finish();
/// }
///
/// fn main() -> oxshmem::Result<()> {
///     oxshmem::run_local(3, |shmem| {
///         let keys = shmem.alloc_from_fn(1000, |i| i as u32 % 30)?;
///         let bins = shmem.alloc_atomics::<u32>(10, Reach::Node)?;
///         let inbox = shmem.alloc_update_inbox::<u32>(2, 256)?;
///         histogram::launch(&shmem, LaunchConfig::blocks(2).threads(64), &bins, &keys, &inbox)?;
///         shmem.barrier_all()?;
///         assert_eq!(bins.values()?.iter().sum::<u32>(), [1002, 999, 999][shmem.my_pe() as usize]);
///         Ok(())
///     })?;
///     Ok(())
/// }
/// ```
///
/// Dropping it is as dropping a [`SymVec`].
pub struct UpdateInbox<T: AtomicWord> {
    words: SymVec<u64>,
    shape: Shape,
    of: PhantomData<fn(T)>,
}

impl Shmem {
    /// Collective. An inbox for kernels of at most `blocks` blocks, for batches of `batch` updates: the `BATCH` of the
    /// kernel's `UpdateBuffer`. For each block and PE it takes two batches, of 16 bytes for each update if `T` has 8 bytes, else
    /// of 8, and 32 bytes.
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed); [`Error::Config`] if `blocks` or `batch` is more than 16,777,215, or
    /// `batch` is 0.
    pub fn alloc_update_inbox<T: AtomicWord>(&self, blocks: u32, batch: u32) -> Result<UpdateInbox<T>> {
        let shape = Shape::new(self.n_pes(), blocks, batch).filter(|_| batch > 0);
        // The PEs meet also if it is too large, so that all have the error.
        let element_bytes = shape.map_or(u64::MAX, Shape::block_bytes::<T>);
        let elements = u64::from(blocks);
        let call =
            Call::Alloc { how: "alloc_update_inbox", holds: "update inbox block", elements, element_bytes };
        let len = elements.saturating_mul(element_bytes / 8) as usize;
        // Of a shape that there is not the PEs still meet, and agree on the error.
        let words =
            self.alloc_as(call, Ok(Backing::Device), len, Reach::World, SymVec::zero).map_err(|error| {
                match error {
                    Error::SizeOverflow { .. } if shape.is_none() => inbox_shape(blocks, batch),
                    error => error,
                }
            })?;
        match shape {
            Some(shape) => Ok(UpdateInbox { words, shape, of: PhantomData }),
            None => Err(inbox_shape(blocks, batch)),
        }
    }

    /// Collective. Empties an inbox, as after its allocation: for one that a failed kernel has left, after
    /// [`recover`](Self::recover). It first waits until everything that any PE launched is over.
    ///
    /// # Errors
    /// [`Error::WrongOwner`] if it is another PE's or run's; those of
    /// [`barrier_all`](Self::barrier_all).
    pub fn reset_update_inbox<T: AtomicWord>(&self, inbox: &UpdateInbox<T>) -> Result<()> {
        inbox.words.check_owner(self)?;
        self.barrier_all()?;
        inbox.words.zero()?;
        self.barrier_all()
    }

    /// Collective. Frees an inbox on every PE, as [`free`](Self::free) does a vector.
    ///
    /// # Errors
    /// Those of [`free`](Self::free).
    pub fn free_update_inbox<T: AtomicWord>(&self, inbox: UpdateInbox<T>) -> Result<()> {
        self.free(inbox.words)
    }
}

/// What is wrong with the shape of an inbox.
fn inbox_shape(blocks: u32, batch: u32) -> Error {
    let what = format!(
        "an update inbox is for at most 16777215 blocks and batches of 1 to 16777215 updates, not for {blocks} blocks and \
         batches of {batch}"
    );
    Error::Config { what }
}

impl<T: AtomicWord> UpdateInbox<T> {
    /// Most blocks of a kernel that uses it.
    pub fn blocks(&self) -> u32 {
        self.shape.blocks()
    }

    /// Updates in a batch.
    pub fn batch(&self) -> u32 {
        self.shape.batch()
    }

    /// The handle that kernels take. It does not keep the memory: a launch with the handle of a dropped inbox is an error.
    pub fn handle(&self) -> Handle<T> {
        // SAFETY: the allocation was made for this shape on every PE, zeroed, and aligned to 256 bytes.
        unsafe { Handle::from_parts(self.words.handle(), self.shape) }
    }
}

impl<T: AtomicWord> fmt::Debug for UpdateInbox<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "UpdateInbox({} blocks, batches of {}: {:?})", self.blocks(), self.batch(), self.words)
    }
}

#[diagnostic::do_not_recommend]
impl<T: AtomicWord> Arg<Handle<T>> for UpdateInbox<T> {
    fn to_param(&self) -> Handle<T> {
        self.handle()
    }
}

#[diagnostic::do_not_recommend]
impl<T: AtomicWord> Arg<Handle<T>> for &UpdateInbox<T> {
    fn to_param(&self) -> Handle<T> {
        self.handle()
    }
}
