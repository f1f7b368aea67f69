//! Strided operations: what both `iput` and `iget`, blocking and on a stream, check and launch. An element is moved as words of
//! 1, 2, 4, 8 or 16 bytes, as wide as its alignment allows; one of several words takes a kernel for each, all of them strided.

use crate::calls::{Calls, ONE_THREAD, block_for};
use crate::driver;
use crate::error::{BadStride, Result};
use crate::memory::{Far, OnDevice, OnHeap, Range, SourceOnDevice, nowhere};
use crate::shmem::Shmem;
use bytemuck::Pod;
use oxshmem_stream_kernels::{order, strided};

/// Elements that a thread of the block moves before another is worth it.
const PER_THREAD: u64 = 4;

/// Which elements: those of the target and of the source, `apart` from each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strides {
    pub(crate) target: u64,
    pub(crate) source: u64,
    pub(crate) count: u64,
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided<'a> {
    pub(crate) by: &'static str,
    pub(crate) target: Range<'a>,
    pub(crate) source: Range<'a>,
    pub(crate) strides: Strides,
    pub(crate) far: Far,
}

/// # Strided access
impl Shmem {
    /// Writes `count` elements of `source`, each `source_stride` elements after the one before, to `target` on `pe`, each
    /// `target_stride` elements after the one before, and returns when they are there. Elements between them are not touched.
    /// The source is device memory, and must not overlap the target; as [`put`](Self::put) otherwise. (OpenSHMEM 1.6, 9.6.)
    ///
    /// ```
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(2, |shmem| {
    ///     let (column, row) = (shmem.alloc_zeroed::<u32>(12)?, shmem.device_from_slice(&[1, 2, 3])?);
    ///     // Into the first column of a matrix of three rows, on the other PE.
    ///     shmem.iput(&column, &row, 4, 1, 3, 1 - shmem.my_pe())?;
    ///     shmem.barrier_all()?;
    ///     assert_eq!(column.read()?, [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Strides`](crate::Error::Strides) for a stride of 0, or elements that lie outside of a range; those of
    /// [`put`](Self::put).
    #[track_caller]
    pub fn iput<T: Pod>(
        &self,
        target: impl OnHeap<T>,
        source: impl SourceOnDevice<T>,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        self.pe().settle()?;
        let strides = Strides { target: target_stride, source: source_stride, count };
        let calls = Calls::blocking(self.pe())?;
        let strided = Strided {
            by: "iput",
            target: target.range(),
            source: source.range(),
            strides,
            far: Far::Target(pe),
        };
        strided.launch::<T>(&calls)?;
        order::quiet::launch(&calls, ONE_THREAD)?;
        calls.wait()
    }

    /// Reads `count` elements of `source` on `pe`, each `source_stride` elements after the one before, into `target`, each
    /// `target_stride` elements after the one before, and returns when they are there. As [`iput`](Self::iput) otherwise.
    ///
    /// # Errors
    /// Those of [`iput`](Self::iput).
    #[track_caller]
    pub fn iget<T: Pod>(
        &self,
        target: impl OnDevice<T>,
        source: impl OnHeap<T>,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        self.pe().settle()?;
        let strides = Strides { target: target_stride, source: source_stride, count };
        let calls = Calls::blocking(self.pe())?;
        let strided = Strided {
            by: "iget",
            target: target.range(),
            source: source.range(),
            strides,
            far: Far::Source(pe),
        };
        strided.launch::<T>(&calls)?;
        calls.wait()
    }
}

impl Strided<'_> {
    /// Checks and launches it.
    pub(crate) fn launch<T: Pod>(&self, calls: &Calls<'_>) -> Result<()> {
        self.check(calls)?;
        let Self { target, source, strides, far, .. } = self;
        if strides.count == 0 || size_of::<T>() == 0 {
            return calls.look();
        }
        let shape = block_for(strides.count, PER_THREAD);
        macro_rules! launch {
            ($ty:ty) => {
                for (at, Strides { target: to, source: from, count }) in self.words::<T, $ty>() {
                    let on_heap = (target.heap_words::<$ty>(at), source.heap_words::<$ty>(at));
                    // One of the two at most.
                    let local = target.local_words(at).or(source.local_words(at));
                    match (far, on_heap.0, on_heap.1, local) {
                        (Far::Target(pe), Some(target), Some(source), _) => {
                            strided::iput::<$ty>::launch(calls, shape, target, source, to, from, count, *pe)?
                        }
                        (Far::Target(pe), Some(target), _, Some(source)) => {
                            strided::iput_local::<$ty>::launch(
                                calls, shape, target, source, to, from, count, *pe,
                            )?
                        }
                        (Far::Source(pe), Some(target), Some(source), _) => {
                            strided::iget::<$ty>::launch(calls, shape, target, source, to, from, count, *pe)?
                        }
                        (Far::Source(pe), _, Some(source), Some(target)) => {
                            strided::iget_local::<$ty>::launch(
                                calls, shape, target, source, to, from, count, *pe,
                            )?
                        }
                        _ => return Err(nowhere()),
                    }
                }
            };
        }
        match align_of::<T>() {
            1 => launch!(u8),
            2 => launch!(u16),
            4 => launch!(u32),
            8 => launch!(u64),
            _ => launch!(u128),
        }
        Ok(())
    }

    /// Refuses what cannot be: the PE, ranges that are not there, elements that lie outside of them.
    fn check(&self, calls: &Calls<'_>) -> Result<()> {
        let Self { by, target, source, strides, far } = *self;
        let (to_pe, from_pe) = far.pes(calls.pe.me);
        calls.pe.check_peer(by, far.pe())?;
        calls.pe.address(by, 0, &target, to_pe)?;
        calls.pe.address(by, 1, &source, from_pe)?;
        let Strides { target: to, source: from, count } = strides;
        BadStride { by, side: "target", count, stride: to, len: target.len }.check()?;
        Ok(BadStride { by, side: "source", count, stride: from, len: source.len }.check()?)
    }

    /// Each word `U` of an element `T`, by its number in the element, and how far apart the words of that number are, in words.
    /// The size of a word divides the element's.
    fn words<T, U>(&self) -> impl Iterator<Item = (u64, Strides)> {
        let words = (size_of::<T>() / size_of::<U>()) as u64;
        let Strides { target, source, count } = self.strides;
        // Of one element the strides take part in no address.
        let apart = |stride: u64| stride.saturating_mul(words);
        let strides = Strides { target: apart(target), source: apart(source), count };
        (0..words).map(move |at| (at, strides))
    }
}
