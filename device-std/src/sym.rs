//! Handles to symmetric memory: an offset into the heap and a length, the same on every PE.
//!
//! Other PEs write that memory at any time, so no reference into it is ever made. A handle that an index out
//! of range made is *invalid*: it carries the index instead of an offset, and the first operation that is
//! given it ends the kernel with [`Cause::IndexOutOfRange`](crate::abi::Cause::IndexOutOfRange).

use crate::launch::{KernelParam, Named};
use bytemuck::Pod;
use core::marker::PhantomData;

/// What can live in symmetric memory: plain data, slices of it, [`Signal`](crate::Signal)s and [`Atomic`](crate::Atomic)s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot live in symmetric memory: it holds `T: bytemuck::Pod`, `Signal`, `Atomic<T>` and slices of these",
    label = "not symmetric data",
    note = "peers read and write its bytes, so it can hold no pointer, no `bool` and nothing that must be dropped"
)]
pub trait Symmetric: sealed::Sealed {
    /// The length that a handle carries: `()` or [`Elements`].
    type Len: Length;
    /// Bytes of one element.
    const ELEMENT_BYTES: u64;
}

/// Number of elements in a slice handle.
pub type Elements = u64;

/// `()` or [`Elements`].
pub trait Length: Copy + Send + Sync + 'static + core::fmt::Debug + PartialEq + Eq {
    /// How many elements.
    #[doc(hidden)]
    fn elements(self) -> u64;
}
impl Length for () {
    #[inline(always)]
    fn elements(self) -> u64 {
        1
    }
}
impl Length for u64 {
    #[inline(always)]
    fn elements(self) -> u64 {
        self
    }
}

pub(crate) mod sealed {
    /// Implemented where [`Symmetric`](super::Symmetric) is.
    pub trait Sealed {}
    impl<T: bytemuck::Pod> Sealed for T {}
    impl<T: Sealed> Sealed for [T] {}
}

/// What `put`, `get`, `p` and `g` move: any `T: bytemuck::Pod`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data: put, get, p and g move `T: bytemuck::Pod`; update a `Signal` by `signal`, an `Atomic<T>` by the atomics",
    label = "not plain data",
    note = "words that PEs synchronise by are written by nothing else, so that no update is lost"
)]
pub trait Data: Pod {}
#[diagnostic::do_not_recommend]
impl<T: Pod> Data for T {}

#[diagnostic::do_not_recommend]
impl<T: Pod> Symmetric for T {
    type Len = ();
    const ELEMENT_BYTES: u64 = size_of::<T>() as u64;
}
impl<T: Symmetric> Symmetric for [T] {
    type Len = Elements;
    const ELEMENT_BYTES: u64 = T::ELEMENT_BYTES;
}

/// Who updates a word by read-modify-write. Fixed when the word is allocated, because GPU and NIC atomics are
/// not mutually atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Every PE of the job.
    #[default]
    World,
    /// PEs that reach the word by load and store only; an update from elsewhere is an error.
    Node,
}

// | bits | of a handle's word |
// |---|---|
// | 63 | reach: set for `Reach::Node` |
// | 62 | invalid: the offset bits hold the index that was out of range, and no arithmetic touches them again |
// | 46..62 | tag of the allocation, by which a launch knows a stale or foreign handle |
// | 0..46 | offset in bytes from the heap's start: 64 TiB |
const REACH_NODE: u64 = 1 << 63;
const INVALID: u64 = 1 << 62;
const TAG_SHIFT: u32 = 46;
const OFFSET: u64 = (1 << TAG_SHIFT) - 1;

/// A handle to a `T` or a `[T]` in the symmetric heap. `Copy`, valid on every PE.
pub struct Sym<T: ?Sized + Symmetric> {
    word: u64,
    len: T::Len,
    of: PhantomData<fn(*const T)>,
}

/// A handle without its type: where it starts, or the index that was out of range.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    word: u64,
}

impl Span {
    /// The start of the heap.
    pub(crate) const START: Self = Self { word: 0 };

    #[inline(always)]
    pub(crate) fn offset(self) -> u64 {
        self.word & OFFSET
    }

    /// The index that was out of range.
    #[inline(always)]
    pub(crate) fn out_of_range(self) -> Option<u64> {
        if self.word & INVALID != 0 { Some(self.word & OFFSET) } else { None }
    }
}

impl<T: ?Sized + Symmetric> Clone for Sym<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized + Symmetric> Copy for Sym<T> {}
impl<T: ?Sized + Symmetric> PartialEq for Sym<T> {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word && self.len == other.len
    }
}
impl<T: ?Sized + Symmetric> Eq for Sym<T> {}
impl<T: ?Sized + Symmetric> core::fmt::Debug for Sym<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (reach, elements) = (self.reach(), self.len.elements());
        match self.span().out_of_range() {
            Some(index) => write!(f, "Sym(index {index} out of range)"),
            None => write!(f, "Sym(offset {:#x}, {elements} elements, {reach:?})", self.span().offset()),
        }
    }
}

impl<T: ?Sized + Symmetric> Sym<T> {
    /// A handle from its parts; `offset` in bytes from the heap's start. The host runtime makes handles of
    /// what it allocated; a handle that names anything else is caught at launch if it is a parameter.
    ///
    /// # Safety
    /// `offset` and `len` name memory that is allocated as `T` on every PE, and aligned for it.
    #[inline(always)]
    pub unsafe fn from_parts(offset: u64, len: T::Len, reach: Reach) -> Self {
        let reach = match reach {
            Reach::Node => REACH_NODE,
            Reach::World => 0,
        };
        Self { word: (offset & OFFSET) | reach, len, of: PhantomData }
    }

    /// The same handle with its allocation's tag. A launch takes only handles whose tag is that of the live
    /// allocation they lie in.
    #[doc(hidden)]
    #[inline(always)]
    pub fn tagged(self, tag: u16) -> Self {
        Self { word: self.word & !(0xffff << TAG_SHIFT) | u64::from(tag) << TAG_SHIFT, ..self }
    }

    /// Offset in bytes from the heap's start.
    #[inline(always)]
    pub fn offset(self) -> u64 {
        self.word & OFFSET
    }

    /// Who may update it, for signals and atomics.
    #[inline(always)]
    pub fn reach(self) -> Reach {
        if self.word & REACH_NODE != 0 { Reach::Node } else { Reach::World }
    }

    /// The same place as `len` of another element, for memory that holds those.
    #[inline(always)]
    pub(crate) fn retyped<U: ?Sized + Symmetric>(self, len: U::Len) -> Sym<U> {
        Sym { word: self.word, len, of: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn span(self) -> Span {
        Span { word: self.word }
    }

    /// The same handle, of which the compiler does not know where it came from: see `arch::order::opaque`.
    #[inline(always)]
    pub(crate) fn opaque(self) -> Self {
        Self { word: crate::arch::order::opaque(self.word), ..self }
    }
}

impl<T: Symmetric> Sym<[T]>
where
    [T]: Symmetric<Len = Elements>,
{
    /// Number of elements.
    #[inline(always)]
    pub fn len(self) -> u64 {
        self.len
    }

    /// Whether it has no element.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The element at `index`. Out of range: the handle is invalid, and the operation that is given it ends
    /// the kernel.
    #[inline(always)]
    pub fn at(self, index: u64) -> Sym<T>
    where
        T: Symmetric<Len = ()>,
    {
        let word =
            if index < self.len { self.word + index * T::ELEMENT_BYTES } else { invalid(self.word, index) };
        Sym { word, len: (), of: PhantomData }
    }

    /// `count` elements from `start` on. Out of range: as [`at`](Self::at).
    #[inline(always)]
    pub fn slice(self, start: u64, count: u64) -> Self {
        let (word, len) = if start <= self.len && count <= self.len - start {
            (self.word + start * T::ELEMENT_BYTES, count)
        } else {
            (invalid(self.word, start.saturating_add(count)), 0)
        };
        Sym { word, len, of: PhantomData }
    }
}

/// The word of an invalid handle; one that was invalid already keeps its first index. An invalid slice has no
/// element, so that nothing is ever added to its word.
#[inline(always)]
fn invalid(word: u64, index: u64) -> u64 {
    if word & INVALID != 0 { word } else { INVALID | if index < OFFSET { index } else { OFFSET } }
}

// SAFETY: the pieces are the handle's own fields; a launcher checks the range that `names` gives.
unsafe impl<T: ?Sized + Symmetric + 'static> KernelParam for Sym<T> {
    type R0 = u64;
    type R1 = T::Len;
    #[inline(always)]
    fn into_raw(self) -> (u64, T::Len) {
        (self.word, self.len)
    }
    #[inline(always)]
    unsafe fn from_raw(word: u64, len: T::Len) -> Self {
        Self { word, len, of: PhantomData }
    }
    fn names(self) -> Named {
        // An invalid handle names a range that no heap has.
        let offset = if self.word & INVALID != 0 { u64::MAX } else { self.offset() };
        let tag = (self.word >> TAG_SHIFT) as u16;
        Named::Symmetric { offset, bytes: self.len.elements().saturating_mul(T::ELEMENT_BYTES), tag }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Signal;

    fn slice(offset: u64, len: u64) -> Sym<[f32]> {
        // SAFETY: the handle is never used to reach memory.
        unsafe { Sym::from_parts(offset, len, Reach::World) }
    }

    #[test]
    fn an_element_and_a_slice_start_where_they_should() {
        let s = slice(256, 10);
        assert_eq!(s.at(3).offset(), 256 + 12);
        assert_eq!(s.slice(4, 6).offset(), 256 + 16);
        assert_eq!(s.slice(4, 6).len(), 6);
        assert_eq!(s.slice(10, 0).span().out_of_range(), None);
    }

    #[test]
    fn an_index_out_of_range_is_remembered() {
        let s = slice(256, 10);
        assert_eq!(s.at(10).span().out_of_range(), Some(10));
        assert_eq!(s.slice(4, 7).span().out_of_range(), Some(11));
        assert_eq!(s.slice(u64::MAX, 2).span().out_of_range(), Some(OFFSET));
        assert_eq!(s.slice(11, 0).slice(0, 0).at(5).span().out_of_range(), Some(11));
        assert_eq!(s.slice(4, 7).len(), 0);
    }

    #[test]
    fn no_arithmetic_makes_an_invalid_handle_valid_again() {
        let wild = slice(256, 10).slice(u64::MAX, 1 << 40);
        for handle in [wild.at(1 << 20).span(), wild.slice(1, 5).at(4).span(), wild.slice(0, 10).at(9).span()]
        {
            assert_eq!(handle.out_of_range(), Some(OFFSET));
        }
        assert_eq!(wild.len(), 0);
    }

    #[test]
    fn a_tag_follows_the_handle_and_not_the_offset() {
        let s = slice(256, 10).tagged(0xabcd);
        for handle in [s, s.slice(3, 4)] {
            assert!(matches!(handle.names(), Named::Symmetric { tag: 0xabcd, .. }));
        }
        assert!(matches!(s.at(9).names(), Named::Symmetric { tag: 0xabcd, offset: 292, bytes: 4 }));
        assert_eq!((s.offset(), s.reach()), (256, Reach::World));
    }

    #[test]
    fn an_invalid_handle_names_nothing_that_exists() {
        assert!(matches!(slice(256, 10).slice(9, 2).names(), Named::Symmetric { offset: u64::MAX, .. }));
    }

    #[test]
    fn reach_is_kept() {
        // SAFETY: as above.
        let s: Sym<[Signal]> = unsafe { Sym::from_parts(512, 4, Reach::Node) };
        assert_eq!(s.at(2).reach(), Reach::Node);
        assert_eq!(s.at(2).offset(), 512 + 16);
    }
}
