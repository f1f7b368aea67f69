//! Symmetric vectors: ranges of the heap that every PE has at the same offset, and the host's access to this
//! PE's copy. Peers' copies are reached by kernels.

use crate::alloc::{Allocation, AllocationId};
use crate::claims::Claim;
use crate::driver::{self, Backing};
use crate::error::{Error, Result};
use crate::fault;
use crate::group::Call;
use crate::pe::Pe;
use crate::shmem::Shmem;
use bytemuck::Pod;
use oxshmem_device::atomic::AtomicWord;
use oxshmem_device::launch::Arg;
use oxshmem_device::sym::Elements;
use oxshmem_device::{Atomic, Mailbox, Packet, Reach, Signal, Sym, Symmetric};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How many bytes are made at a time when a vector is filled by a function.
const FILL_BYTES: usize = 1 << 20;

/// What a symmetric vector can hold: plain data, [`Signal`]s, [`Atomic`]s.
pub trait Element: Symmetric<Len = ()> + 'static {}
impl<T: Symmetric<Len = ()> + 'static> Element for T {}

/// `len` elements of `T` in the symmetric heap, at the same offset on every PE.
///
/// Dropping it never blocks and never communicates: the range is free for others at the next collective heap
/// call after every PE has dropped its vector and what was launched before the drop is over. The host methods
/// access this PE's copy: they wait until everything that *this* PE launched is over, then copy; work of other
/// PEs that still writes the copy is ordered by [`Shmem::barrier_all`].
pub struct SymVec<T: Element> {
    pe: Arc<Pe>,
    allocation: Arc<Allocation>,
    len: usize,
    reach: Reach,
    /// That the memory is registered, if it is the program's.
    claim: Option<Claim>,
    of: PhantomData<fn() -> T>,
}

impl Shmem {
    /// Collective. Allocates `len` zeroed elements on every PE.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::SizeOverflow`], on every PE, and the heap is as before;
    /// [`Error::CallsDiffer`], on every PE, if the PEs do not ask for the same; what stands against further
    /// work; those of a rendezvous.
    #[track_caller]
    pub fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<SymVec<T>> {
        driver::here();
        self.alloc("alloc_zeroed", std::any::type_name::<T>(), len, Reach::World, SymVec::zero)
    }

    /// Collective. `len` elements that hold anything: neither written nor, where memory is taken as it is touched, taken
    /// by this call. For buffers that are written before they are read.
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed).
    #[track_caller]
    pub fn alloc_uninit<T: Pod>(&self, len: usize) -> Result<SymVec<T>> {
        driver::here();
        self.alloc("alloc_uninit", std::any::type_name::<T>(), len, Reach::World, |_| Ok(()))
    }

    /// Collective. Allocates `len` elements on every PE; element `i` of this PE's copy is `element(i)`.
    /// `element` is not called for a type without bytes.
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed).
    #[track_caller]
    pub fn alloc_from_fn<T: Pod>(&self, len: usize, element: impl FnMut(usize) -> T) -> Result<SymVec<T>> {
        driver::here();
        self.alloc("alloc_from_fn", std::any::type_name::<T>(), len, Reach::World, |vector| {
            vector.fill_by(element)
        })
    }

    /// Collective. Allocates as many elements as `values` has, on every PE, and copies `values` into this PE's
    /// copy.
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed).
    #[track_caller]
    pub fn alloc_from_slice<T: Pod>(&self, values: &[T]) -> Result<SymVec<T>> {
        driver::here();
        let holds = std::any::type_name::<T>();
        self.alloc("alloc_from_slice", holds, values.len(), Reach::World, |vector| vector.copy_in(0, values))
    }

    /// Collective. Allocates `len` signals, all 0, on every PE.
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed).
    #[track_caller]
    pub fn alloc_signals(&self, len: usize) -> Result<SymVec<Signal>> {
        driver::here();
        self.alloc("alloc_signals", "u64 signal", len, Reach::World, SymVec::zero)
    }

    /// Collective. Allocates `len` words for atomics, all 0, on every PE. `reach` fixes who may update them.
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed).
    #[track_caller]
    pub fn alloc_atomics<T: AtomicWord>(&self, len: usize, reach: Reach) -> Result<SymVec<Atomic<T>>> {
        driver::here();
        let how = match reach {
            Reach::World => "alloc_atomics(World)",
            Reach::Node => "alloc_atomics(Node)",
        };
        self.alloc(how, T::HOLDS, len, reach, SymVec::zero)
    }

    /// Collective. Allocates `len` packets, all of round 0, on every PE.
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed).
    #[track_caller]
    pub fn alloc_packets<T: Pod>(&self, len: usize) -> Result<SymVec<Packet<T>>> {
        driver::here();
        self.alloc("alloc_packets", std::any::type_name::<T>(), len, Reach::World, SymVec::zero)
    }

    /// Collective. Allocates `len` mailboxes for messages of `N` elements each, all of round 0, on every PE.
    ///
    /// # Errors
    /// As [`alloc_zeroed`](Self::alloc_zeroed).
    #[track_caller]
    pub fn alloc_mailboxes<T: Pod, const N: usize>(&self, len: usize) -> Result<SymVec<Mailbox<T, N>>> {
        driver::here();
        self.alloc("alloc_mailboxes", std::any::type_name::<T>(), len, Reach::World, SymVec::zero)
    }

    fn alloc<T: Element>(
        &self,
        how: &'static str,
        holds: &'static str,
        len: usize,
        reach: Reach,
        fill: impl FnOnce(&SymVec<T>) -> Result<()>,
    ) -> Result<SymVec<T>> {
        let call = Call::Alloc { how, holds, elements: len as u64, element_bytes: T::ELEMENT_BYTES };
        self.alloc_as(call, Ok(Backing::Device), len, reach, fill)
    }

    /// Allocates what `call` says, which all PEs must say alike, as `len` elements. With an error in the place of this PE's
    /// memory it comes to the others to say so.
    pub(crate) fn alloc_as<T: Element>(
        &self,
        call: Call,
        backing: Result<Backing>,
        len: usize,
        reach: Reach,
        fill: impl FnOnce(&SymVec<T>) -> Result<()>,
    ) -> Result<SymVec<T>> {
        let allocation = self.pe().allocate(call, backing)?;
        let (pe, claim) = (self.pe().clone(), None);
        let vector = SymVec { pe, allocation, len, reach, claim, of: PhantomData };
        let filled = fill(&vector);
        // Only then may a peer write into this copy.
        self.pe().meet(Call::Filled(vector.id(), vector.allocation.offset), filled.err(), |_| Ok(None))?;
        Ok(vector)
    }

    /// Collective. Frees a vector on every PE: the range may be handed out again at once. It first waits until
    /// everything that this PE launched is over. Memory at the end of the heap for which the heap grew, and which holds
    /// nothing any more, goes back to the devices: other processes and local memory may have it. A vector that is dropped
    /// instead gives back its range, and its memory with the next `free`.
    ///
    /// # Errors
    /// [`Error::WrongOwner`] if it is another PE's or run's; those of [`barrier_all`](Self::barrier_all).
    #[track_caller]
    pub fn free<T: Element>(&self, vector: SymVec<T>) -> Result<()> {
        driver::here();
        vector.check_owner(self)?;
        let id = vector.id();
        let settled = self.pe().settle();
        drop(vector);
        fault::point("free", self.my_pe());
        let job = &self.pe().job;
        self.pe().meet(Call::Free(id), settled.err(), |heap| {
            // All PEs are here, and what they launched is over.
            heap.shrink();
            job.mapped.store(heap.mapped(), Ordering::Release);
            Ok(None)
        })?;
        Ok(())
    }
}

impl<T: Element> SymVec<T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The handle that kernels take. It does not keep the memory: a launch with the handle of a dropped vector
    /// is an error.
    pub fn handle(&self) -> Sym<[T]>
    where
        [T]: Symmetric<Len = Elements>,
    {
        // SAFETY: the allocation was made for this many elements of T on every PE, aligned to 256 bytes.
        let handle = unsafe { Sym::from_parts(self.allocation.offset, self.len as u64, self.reach) };
        handle.tagged(self.allocation.tag)
    }

    /// A handle to one element. Out of range: a launch that is given it is an error.
    pub fn at(&self, index: usize) -> Sym<T>
    where
        [T]: Symmetric<Len = Elements>,
    {
        self.handle().at(index as u64)
    }

    /// A handle to `count` elements from `start` on. Out of range: as [`at`](Self::at).
    pub fn slice(&self, start: usize, count: usize) -> Sym<[T]>
    where
        [T]: Symmetric<Len = Elements>,
    {
        self.handle().slice(start as u64, count as u64)
    }

    pub(crate) fn owner(&self) -> &Arc<Pe> {
        &self.pe
    }

    /// Address of this PE's copy.
    pub(crate) fn address(&self) -> u64 {
        self.pe.base() + self.allocation.offset
    }

    /// Whether it is in the host's memory.
    pub(crate) fn is_host(&self) -> bool {
        self.allocation.host
    }

    /// Keeps this until it is dropped.
    pub(crate) fn keep(&mut self, claim: Option<Claim>) {
        self.claim = claim;
    }

    pub(crate) fn id(&self) -> AllocationId {
        self.allocation.id
    }

    /// Refuses a vector of another PE or run.
    pub(crate) fn check_owner(&self, shmem: &Shmem) -> Result<()> {
        if Arc::ptr_eq(&self.pe, shmem.pe()) {
            Ok(())
        } else {
            Err(Error::WrongOwner { owner: self.pe.name(), user: shmem.pe().name() })
        }
    }

    /// Zeroes the own copy. Waits for nothing.
    pub(crate) fn zero(&self) -> Result<()> {
        if self.allocation.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the own copy of a live allocation. No kernel of this PE uses it: it is fresh, or they were
        // waited for; that peers do not is what the user is told to order.
        unsafe { self.pe.copies.zero(self.address(), self.allocation.bytes) }
    }

    /// Copies into the own copy, from element `start` on. Waits for nothing.
    fn copy_in<U: Pod>(&self, start: usize, values: &[U]) -> Result<()> {
        let at = self.check_range::<U>(start, values.len())?;
        if values.is_empty() || size_of::<U>() == 0 {
            return Ok(());
        }
        // SAFETY: as in `zero`; the range was checked.
        unsafe { self.pe.copies.write(at, bytemuck::cast_slice(values)) }
    }

    /// Copies out of the own copy, from element `start` on. Waits for nothing.
    fn copy_out<U: Pod>(&self, start: usize, values: &mut [U]) -> Result<()> {
        let at = self.check_range::<U>(start, values.len())?;
        if values.is_empty() || size_of::<U>() == 0 {
            return Ok(());
        }
        // SAFETY: as in `zero`; the range was checked.
        unsafe { self.pe.copies.read(at, bytemuck::cast_slice_mut(values)) }
    }

    /// Device address of element `start`, if `count` elements from there exist.
    fn check_range<U: Pod>(&self, start: usize, count: usize) -> Result<u64> {
        if start > self.len || count > self.len - start {
            let (start, count, len) = (start as u64, count as u64, self.len as u64);
            return Err(Error::OutOfRange { start, count, len });
        }
        Ok(self.address() + (start * size_of::<U>()) as u64)
    }
}

impl<T: Pod> SymVec<T> {
    /// This PE's copy.
    ///
    /// # Errors
    /// What a kernel or another PE failed with; [`Error::Cuda`] if the driver refuses.
    #[track_caller]
    pub fn read(&self) -> Result<Vec<T>> {
        driver::here();
        let mut values = zeroed_values(self.len);
        self.read_into(&mut values)?;
        Ok(values)
    }

    /// Copies the first `values.len()` elements of this PE's copy into `values`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are fewer; those of [`read`](Self::read).
    #[track_caller]
    pub fn read_into(&self, values: &mut [T]) -> Result<()> {
        driver::here();
        self.pe.settle()?;
        self.copy_out(0, values)
    }

    /// Copies `values` into the first elements of this PE's copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there are fewer; those of [`read`](Self::read).
    #[track_caller]
    pub fn write(&self, values: &[T]) -> Result<()> {
        driver::here();
        self.pe.settle()?;
        self.copy_in(0, values)
    }

    /// Makes every element of this PE's copy `value`.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    #[track_caller]
    pub fn fill(&self, value: T) -> Result<()> {
        driver::here();
        self.pe.settle()?;
        self.fill_by(|_| value)
    }

    pub(crate) fn fill_by(&self, mut element: impl FnMut(usize) -> T) -> Result<()> {
        // Of elements without bytes there may be 2^64, and there is nothing to make.
        if size_of::<T>() == 0 {
            return Ok(());
        }
        let at_once = (FILL_BYTES / size_of::<T>()).clamp(1, self.len.max(1));
        let mut values = Vec::with_capacity(at_once);
        for start in (0..self.len).step_by(at_once) {
            values.clear();
            values.extend((start..self.len.min(start + at_once)).map(&mut element));
            self.copy_in(start, &values)?;
        }
        Ok(())
    }
}

/// `len` zeroed elements; of a type without bytes as fast as of any other.
#[expect(clippy::uninit_vec, reason = "elements without bytes are never uninitialised")]
pub(crate) fn zeroed_values<T: Pod>(len: usize) -> Vec<T> {
    if size_of::<T>() > 0 {
        return vec![T::zeroed(); len];
    }
    let mut values = Vec::new();
    // SAFETY: a vector of elements without bytes has room for usize::MAX of them, and any of them, being Pod,
    // is a valid one.
    unsafe { values.set_len(len) };
    values
}

impl SymVec<Signal> {
    /// The values of this PE's signals.
    ///
    /// # Errors
    /// Those of [`SymVec::read`].
    pub fn values(&self) -> Result<Vec<u64>> {
        let mut values = vec![0; self.len];
        self.pe.settle()?;
        self.copy_out(0, &mut values)?;
        Ok(values)
    }

    /// Sets one of this PE's signals.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]; those of [`SymVec::read`].
    pub fn set(&self, index: usize, value: u64) -> Result<()> {
        self.pe.settle()?;
        self.copy_in(index, &[value])
    }
}

impl<T: AtomicWord> SymVec<Atomic<T>> {
    /// The values of this PE's words.
    ///
    /// # Errors
    /// Those of [`SymVec::read`].
    pub fn values(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.len];
        self.pe.settle()?;
        self.copy_out(0, &mut values)?;
        Ok(values)
    }

    /// Sets one of this PE's words.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]; those of [`SymVec::read`].
    pub fn set(&self, index: usize, value: T) -> Result<()> {
        self.pe.settle()?;
        self.copy_in(index, &[value])
    }
}

impl<T: Element> Drop for SymVec<T> {
    fn drop(&mut self) {
        self.pe.release(&self.allocation);
    }
}

impl<T: Element> std::fmt::Debug for SymVec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Allocation { id, offset, holds, .. } = *self.allocation;
        write!(f, "SymVec(#{} on PE {}: {} x {holds:?} at {offset:#x})", id.0, self.pe.me, self.len)
    }
}

impl<T: Element> Arg<Sym<[T]>> for SymVec<T>
where
    [T]: Symmetric<Len = Elements>,
{
    fn to_param(&self) -> Sym<[T]> {
        self.handle()
    }
}

impl<T: Element> Arg<Sym<[T]>> for &SymVec<T>
where
    [T]: Symmetric<Len = Elements>,
{
    fn to_param(&self) -> Sym<[T]> {
        self.handle()
    }
}
