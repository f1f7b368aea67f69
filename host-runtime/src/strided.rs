//! Strided operations: what both `iput` and `iget`, blocking and on a stream, check and launch. An element is moved as words of
//! 1, 2, 4, 8 or 16 bytes, as wide as its alignment allows; one of several words takes a kernel for each, all of them strided.

use crate::calls::{Calls, ONE_THREAD};
use crate::driver;
use crate::error::{BadStride, Error, Result};
use crate::memory::{OnDevice, OnHeap, Range};
use crate::shmem::Shmem;
use bytemuck::Pod;
use oxshmem_device::launch::{LaunchConfig, Named};
use oxshmem_device::{Global, Reach, Sym};
use oxshmem_stream_kernels::{order, strided};

/// Most threads of the block, and elements that one of them moves before another is worth it.
const THREADS: u64 = 256;
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
    /// The PE whose copy the symmetric side is.
    pub(crate) pe: u32,
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
    /// [`Error::Strides`] for a stride of 0, or elements that lie outside of a range; those of [`put`](Self::put).
    #[track_caller]
    pub fn iput<T: Pod>(
        &self,
        target: impl OnHeap<T>,
        source: impl OnDevice<T>,
        target_stride: u64,
        source_stride: u64,
        count: u64,
        pe: u32,
    ) -> Result<()> {
        driver::here();
        self.pe().settle()?;
        let strides = Strides { target: target_stride, source: source_stride, count };
        let calls = Calls::blocking(self.pe())?;
        let strided = Strided { by: "iput", target: target.range(), source: source.range(), strides, pe };
        strided.put::<T>(&calls)?;
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
        let strided = Strided { by: "iget", target: target.range(), source: source.range(), strides, pe };
        strided.get::<T>(&calls)?;
        calls.wait()
    }
}

impl Strided<'_> {
    /// Launches a put.
    pub(crate) fn put<T: Pod>(&self, calls: &Calls<'_>) -> Result<()> {
        self.check(calls, (self.pe, calls.pe.me))?;
        if self.is_nothing::<T>() {
            return calls.look();
        }
        let Self { target, source, pe, .. } = self;
        macro_rules! launch {
            ($ty:ty) => {
                for piece in self.pieces::<T, $ty>() {
                    let Strides { target: to, source: from, count } = piece.strides;
                    let target = symmetric::<$ty>(target, piece.at).ok_or_else(nowhere)?;
                    match (symmetric::<$ty>(source, piece.at), local::<$ty>(source, piece.at)) {
                        (Some(source), _) => {
                            strided::iput::<$ty>::launch(
                                calls,
                                self.shape(),
                                target,
                                source,
                                to,
                                from,
                                count,
                                *pe,
                            )?;
                        }
                        (_, Some(source)) => {
                            strided::iput_local::<$ty>::launch(
                                calls,
                                self.shape(),
                                target,
                                source,
                                to,
                                from,
                                count,
                                *pe,
                            )?;
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

    /// Launches a get.
    pub(crate) fn get<T: Pod>(&self, calls: &Calls<'_>) -> Result<()> {
        self.check(calls, (calls.pe.me, self.pe))?;
        if self.is_nothing::<T>() {
            return calls.look();
        }
        let Self { target, source, pe, .. } = self;
        macro_rules! launch {
            ($ty:ty) => {
                for piece in self.pieces::<T, $ty>() {
                    let Strides { target: to, source: from, count } = piece.strides;
                    let source = symmetric::<$ty>(source, piece.at).ok_or_else(nowhere)?;
                    match (symmetric::<$ty>(target, piece.at), local::<$ty>(target, piece.at)) {
                        (Some(target), _) => {
                            strided::iget::<$ty>::launch(
                                calls,
                                self.shape(),
                                target,
                                source,
                                to,
                                from,
                                count,
                                *pe,
                            )?;
                        }
                        (_, Some(target)) => {
                            strided::iget_local::<$ty>::launch(
                                calls,
                                self.shape(),
                                target,
                                source,
                                to,
                                from,
                                count,
                                *pe,
                            )?;
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
    fn check(&self, calls: &Calls<'_>, (to_pe, from_pe): (u32, u32)) -> Result<()> {
        let Self { by, target, source, strides, pe } = *self;
        calls.pe.check_peer(by, pe)?;
        calls.pe.address(by, 0, &target, to_pe)?;
        calls.pe.address(by, 1, &source, from_pe)?;
        let Strides { target: to, source: from, count } = strides;
        BadStride { by, side: "target", count, stride: to, len: target.len }.check()?;
        Ok(BadStride { by, side: "source", count, stride: from, len: source.len }.check()?)
    }

    fn is_nothing<T>(&self) -> bool {
        self.strides.count == 0 || size_of::<T>() == 0
    }

    fn shape(&self) -> LaunchConfig {
        let threads = self.strides.count.div_ceil(PER_THREAD).clamp(1, THREADS).next_multiple_of(32);
        LaunchConfig::blocks(1).threads(threads as u32)
    }

    /// An element `T` as words `U`, whose size divides its.
    fn pieces<T, U>(&self) -> impl Iterator<Item = Piece> {
        let words = (size_of::<T>() / size_of::<U>()) as u64;
        let Strides { target, source, count } = self.strides;
        // Of one element the strides take part in no address.
        let apart = |stride: u64| stride.saturating_mul(words);
        let strides = Strides { target: apart(target), source: apart(source), count };
        (0..words).map(move |at| Piece { at, strides })
    }
}

/// A word of each element.
struct Piece {
    /// Its number in the element.
    at: u64,
    /// In words.
    strides: Strides,
}

/// A range of the heap that was checked, from its word `at` on.
fn symmetric<U: Pod>(range: &Range<'_>, at: u64) -> Option<Sym<[U]>> {
    let Named::Symmetric { offset, bytes, tag } = range.named else { return None };
    let word = size_of::<U>() as u64;
    // SAFETY: words of a handle that was checked to be live, of no higher alignment than its elements.
    Some(unsafe { Sym::from_parts(offset + at * word, bytes / word - at, Reach::World) }.tagged(tag))
}

/// Local memory that was checked, from its word `at` on.
fn local<U: Pod>(range: &Range<'_>, at: u64) -> Option<Global<[U]>> {
    let Named::Local { address, bytes } = range.named else { return None };
    let word = size_of::<U>() as u64;
    // SAFETY: as above.
    Some(unsafe { Global::from_parts(address + at * word, bytes / word - at) })
}

/// A range that is neither on the heap nor local, which no type makes.
pub(crate) fn nowhere() -> Error {
    Error::other("a range names no device memory")
}
