//! What operations of the host take: ranges of symmetric and of local device memory, and the host's own memory.

use crate::error::{Error, Result};
use crate::host_vec::HostVec;
use crate::local::DeviceVec;
use crate::named::Live;
use crate::pe::Pe;
use crate::registered::SourceVec;
use crate::symmetric::SymVec;
use bytemuck::Pod;
use oxshmem_device::launch::{KernelParam, Named};
use oxshmem_device::{Global, Reach, Sym};
use std::sync::Arc;

/// A range of the symmetric heap that holds `T`, which a PE number says whose copy it is: a `&SymVec<T>`, or a handle to
/// part of one ([`SymVec::slice`]).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no range of symmetric memory of `{T}`: pass `&vector`, or `vector.slice(start, count)`",
    label = "not a symmetric range of `{T}`"
)]
pub trait OnHeap<T: Pod>: sealed::OnDevice<T> {}

/// Device memory that holds `T` and that this PE reaches: a range of its symmetric heap ([`OnHeap`]), a `&DeviceVec<T>`, or
/// a handle to one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no device memory of `{T}`: operations on a stream take a symmetric vector, a `DeviceVec`, or a handle to one",
    label = "not device memory of `{T}`",
    note = "host memory is moved by the blocking forms, `put` and `get`, or as a `HostVec`",
    note = "a `SourceVec` is read-only: it can be a source, and no target"
)]
pub trait OnDevice<T: Pod>: sealed::OnDevice<T> {}

/// Device memory that holds `T` and that an operation on a stream can read: [`OnDevice`], or a `&SourceVec<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no device memory of `{T}`: operations on a stream take a symmetric vector, a `DeviceVec`, or a handle to one",
    label = "not device memory of `{T}`",
    note = "host memory is moved by the blocking forms, `put` and `get`, or as a `HostVec`"
)]
pub trait SourceOnDevice<T: Pod>: sealed::OnDevice<T> {}

/// What a blocking put can read: host slices, arrays and vectors by reference, and [`OnDevice`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be put as `{T}`: pass a slice or device memory of `{T}`",
    label = "not a source of `{T}`"
)]
pub trait Source<T: Pod>: sealed::Source<T> {}

/// What a blocking get can write: host slices, arrays and vectors by mutable reference, and [`OnDevice`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot receive a get of `{T}`: pass `&mut` of a slice, or device memory of `{T}`",
    label = "not a destination of `{T}`"
)]
pub trait Destination<T: Pod>: sealed::Destination<T> {}

/// A range of device memory, and who has allocated it, if that is known.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    pub(crate) named: Named,
    /// In elements.
    pub(crate) len: u64,
    owner: Option<&'a Arc<Pe>>,
}

/// What a put reads.
#[derive(Debug)]
pub enum Data<'a, T> {
    /// Device memory.
    Device(Range<'a>),
    /// Host memory.
    Host(&'a [T]),
}

/// What a get writes.
#[derive(Debug)]
pub enum DataMut<'a, T> {
    /// Device memory.
    Device(Range<'a>),
    /// Host memory.
    Host(&'a mut [T]),
}

mod sealed {
    use super::{Data, DataMut, Range};

    pub trait OnDevice<T> {
        fn range(&self) -> Range<'_>;
    }
    pub trait Source<T> {
        fn data(&self) -> Data<'_, T>;
    }
    pub trait Destination<T> {
        fn data(&mut self) -> DataMut<'_, T>;
    }
}

/// Device memory that is read.
macro_rules! source_on_device {
    ($($what:ty: |$this:ident| $range:expr;)*) => {
        $(
            impl<T: Pod> sealed::OnDevice<T> for $what {
                fn range(&self) -> Range<'_> {
                    let $this = *self;
                    $range
                }
            }
            impl<T: Pod> SourceOnDevice<T> for $what {}
            impl<T: Pod> sealed::Source<T> for $what {
                fn data(&self) -> Data<'_, T> {
                    Data::Device(sealed::OnDevice::range(self))
                }
            }
            impl<T: Pod> Source<T> for $what {}
        )*
    };
}
source_on_device! {
    &SourceVec<T>: |vector| of_vector(&vector.0);
}

/// Device memory that is read and written.
macro_rules! on_device {
    ($($what:ty: |$this:ident| $range:expr;)*) => {
        source_on_device! { $($what: |$this| $range;)* }
        $(
            impl<T: Pod> OnDevice<T> for $what {}
            impl<T: Pod> sealed::Destination<T> for $what {
                fn data(&mut self) -> DataMut<'_, T> {
                    DataMut::Device(sealed::OnDevice::range(self))
                }
            }
            impl<T: Pod> Destination<T> for $what {}
        )*
    };
}
on_device! {
    Sym<[T]>: |handle| Range { named: handle.names(), len: handle.len(), owner: None };
    &SymVec<T>: |vector| Range {
        named: vector.handle().names(),
        len: vector.len() as u64,
        owner: Some(vector.owner()),
    };
    Global<[T]>: |handle| Range { named: handle.names(), len: handle.len(), owner: None };
    &DeviceVec<T>: |vector| of_vector(vector);
    &HostVec<T>: |vector| of_vector(&vector.0);
}

fn of_vector<T: Pod>(vector: &DeviceVec<T>) -> Range<'_> {
    Range { named: vector.handle().names(), len: vector.len() as u64, owner: Some(vector.owner()) }
}
impl<T: Pod> OnHeap<T> for Sym<[T]> {}
impl<T: Pod> OnHeap<T> for &SymVec<T> {}

macro_rules! on_host {
    ($($what:ty $(, $n:ident)?;)*) => {
        $(
            impl<T: Pod $(, const $n: usize)?> sealed::Source<T> for &$what {
                fn data(&self) -> Data<'_, T> {
                    Data::Host(&self[..])
                }
            }
            impl<T: Pod $(, const $n: usize)?> Source<T> for &$what {}
            impl<T: Pod $(, const $n: usize)?> sealed::Destination<T> for &mut $what {
                fn data(&mut self) -> DataMut<'_, T> {
                    DataMut::Host(&mut self[..])
                }
            }
            impl<T: Pod $(, const $n: usize)?> Destination<T> for &mut $what {}
        )*
    };
}
on_host! {
    [T];
    [T; N], N;
    Vec<T>;
}

impl Range<'_> {
    /// One element of the heap.
    pub(crate) fn element<T: Pod>(handle: Sym<T>) -> Self {
        Self { named: handle.names(), len: 1, owner: None }
    }

    /// One word that is no plain data.
    pub(crate) fn word(named: Named) -> Self {
        Self { named, len: 1, owner: None }
    }

    /// The same place as bytes of the heap, if it is on it and was checked.
    pub(crate) fn heap_bytes(&self) -> Option<Sym<[u8]>> {
        self.heap_words(0)
    }

    /// The same place as bytes of local memory, if it is there and was checked.
    pub(crate) fn local_bytes(&self) -> Option<Global<[u8]>> {
        self.local_words(0)
    }

    /// As [`heap_bytes`](Self::heap_bytes), in words of no higher alignment than its elements, from the one of number `at` on.
    pub(crate) fn heap_words<U: Pod>(&self, at: u64) -> Option<Sym<[U]>> {
        let Named::Symmetric { offset, bytes, tag } = self.named else { return None };
        let word = size_of::<U>() as u64;
        let offset = if bytes == 0 { 0 } else { offset + at * word };
        // SAFETY: words of a handle that was checked to be live.
        Some(unsafe { Sym::from_parts(offset, bytes / word - at, Reach::World) }.tagged(tag))
    }

    /// As [`heap_words`](Self::heap_words), of local memory.
    pub(crate) fn local_words<U: Pod>(&self, at: u64) -> Option<Global<[U]>> {
        let Named::Local { address, bytes } = self.named else { return None };
        let word = size_of::<U>() as u64;
        // SAFETY: as above.
        Some(unsafe { Global::from_parts(address + at * word, bytes / word - at) })
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self.named {
            Named::Symmetric { bytes, .. } | Named::Local { bytes, .. } => bytes,
            _ => 0,
        }
    }
}

impl Pe {
    /// Refuses a PE that the job has not got.
    pub(crate) fn check_peer(&self, by: &'static str, pe: u32) -> Result<()> {
        let n_pes = self.job.n_pes;
        if pe < n_pes { Ok(()) } else { Err(Error::NoSuchPe { by, pe, n_pes }) }
    }

    /// Device address of a range that operation `by` was given as its parameter of this number; of PE `pe`'s copy, if it is
    /// on the heap.
    pub(crate) fn address(
        self: &Arc<Self>,
        by: &'static str,
        parameter: u32,
        range: &Range<'_>,
        pe: u32,
    ) -> Result<u64> {
        if let Some(owner) = range.owner.filter(|owner| !Arc::ptr_eq(owner, self)) {
            return Err(Error::WrongOwner { owner: owner.name(), user: self.name() });
        }
        let state = self.lock();
        Live::of(&state).check(range.named).map_err(|wrong| wrong.into_error(by, parameter))?;
        Ok(match range.named {
            Named::Symmetric { bytes: 0, .. } => self.job.bases[pe as usize],
            Named::Symmetric { offset, .. } => self.job.bases[pe as usize] + offset,
            Named::Local { address, .. } => address,
            _ => 0,
        })
    }
}

/// The PE whose copy an operation names, of its target or of its source; the other one is this PE's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Far {
    Target(u32),
    Source(u32),
}

impl Far {
    pub(crate) fn pe(self) -> u32 {
        match self {
            Self::Target(pe) | Self::Source(pe) => pe,
        }
    }

    /// Whose copies an operation of PE `me` takes, as target and as source.
    pub(crate) fn pes(self, me: u32) -> (u32, u32) {
        match self {
            Self::Target(pe) => (pe, me),
            Self::Source(pe) => (me, pe),
        }
    }
}

/// A range that is neither on the heap nor local, which no type makes.
pub(crate) fn nowhere() -> Error {
    Error::other("a range names no device memory")
}

/// Refuses lengths that differ.
pub(crate) fn same_length(by: &'static str, target: u64, source_len: u64) -> Result<()> {
    if target == source_len { Ok(()) } else { Err(Error::LengthsDiffer { by, target, source_len }) }
}

/// Refuses ranges of this many bytes that overlap in part; whether there is anything to move.
pub(crate) fn moves(by: &'static str, to: u64, from: u64, bytes: u64) -> Result<bool> {
    if bytes == 0 || to == from {
        return Ok(false);
    }
    if to.abs_diff(from) < bytes { Err(Error::Overlap { by }) } else { Ok(true) }
}
