//! Ranges of addresses with nothing behind them until physical memory is mapped.

use super::physical::Charge;
use super::{GRANULARITY, Physical, Range, Table, failed, whole};
use crate::error::Error;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A reserved range of addresses. Dropping it unmaps everything and gives the addresses back; kernels that
/// use it must have ended.
#[derive(Debug)]
pub struct Reservation {
    table: Arc<Table>,
    start: u64,
    bytes: u64,
    /// By offset.
    pieces: Mutex<BTreeMap<u64, Piece>>,
}

#[derive(Debug)]
struct Piece {
    bytes: u64,
    /// Counted against its device as long as it is mapped.
    _charge: Option<Arc<Charge>>,
}

impl Reservation {
    pub(crate) fn new(table: Arc<Table>, bytes: u64, wish: u64) -> Result<Self, Error> {
        let bytes = whole(bytes)?;
        let length = bytes as usize;
        let slack = GRANULARITY as usize;
        let none = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let wish = core::ptr::without_provenance_mut(wish as usize);
        // SAFETY: a fresh map at an address of the system's choice: the wish displaces nothing.
        let at = unsafe { mmap_anonymous(wish, length + slack, ProtFlags::empty(), none) }
            .map_err(|errno| failed("reserving addresses", bytes, errno))?;
        let begin = at.expose_provenance();
        let start = begin.next_multiple_of(slack);
        for (from, to) in [(begin, start), (start + length, begin + length + slack)] {
            if from < to {
                // SAFETY: the unaligned ends of the fresh map, which nothing uses. Should it fail, they stay
                // reserved, which harms nobody.
                let _ = unsafe { munmap(core::ptr::with_exposed_provenance_mut(from), to - from) };
            }
        }
        Ok(Self { table, start: start as u64, bytes, pieces: Mutex::default() })
    }

    /// The first address; a multiple of [`GRANULARITY`].
    pub fn address(&self) -> u64 {
        self.start
    }

    /// Bytes reserved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn pieces(&self) -> MutexGuard<'_, BTreeMap<u64, Piece>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrong(&self, offset: u64, bytes: u64, problem: &'static str) -> Error {
        Error::Mapping { offset, bytes, reserved: self.bytes, problem }
    }

    /// Puts all of `physical` at `offset` bytes into the reservation; every device may access it from then on.
    /// The mapping keeps the memory alive.
    ///
    /// # Errors
    /// [`Error::Mapping`] if the offset is no multiple of [`GRANULARITY`], the range does not fit or overlaps
    /// what is mapped; [`Error::System`] if the system refuses.
    pub fn map(&self, offset: u64, physical: &Physical) -> Result<(), Error> {
        let bytes = physical.bytes();
        if !offset.is_multiple_of(GRANULARITY) {
            return Err(self.wrong(offset, bytes, "the offset must be a multiple of 2 MiB"));
        }
        let Some(end) = offset.checked_add(bytes).filter(|&end| end <= self.bytes) else {
            return Err(self.wrong(offset, bytes, "the range ends outside of the reservation"));
        };
        let mut pieces = self.pieces();
        if pieces.range(..end).next_back().is_some_and(|(at, piece)| at + piece.bytes > offset) {
            return Err(self.wrong(offset, bytes, "the range overlaps what is mapped; unmap that first"));
        }
        let start = self.start + offset;
        // SAFETY: the range lies in this reservation, and nothing is mapped there, so no one uses it.
        unsafe {
            mmap(
                core::ptr::with_exposed_provenance_mut(start as usize),
                bytes as usize,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::FIXED,
                physical.as_fd(),
                0,
            )
        }
        .map_err(|errno| failed("mapping device memory", bytes, errno))?
        .expose_provenance();
        pieces.insert(offset, Piece { bytes, _charge: physical.charge() });
        self.table.insert(Range { start, end: start + bytes, owner: physical.device() });
        Ok(())
    }

    /// Takes away what was mapped in exactly `bytes` from `offset` on: one or more whole mappings. Kernels that
    /// use it must have ended.
    ///
    /// # Errors
    /// [`Error::Mapping`] if the range is not made of whole mappings; [`Error::System`] if the system refuses.
    pub fn unmap(&self, offset: u64, bytes: u64) -> Result<(), Error> {
        let not_whole = || self.wrong(offset, bytes, "no whole mappings fill this range");
        let mut pieces = self.pieces();
        let end = offset.checked_add(bytes).ok_or_else(not_whole)?;
        let found: Vec<u64> = pieces.range(offset..end).map(|(&at, _)| at).collect();
        let filled: u64 = found.iter().map(|at| pieces[at].bytes).sum();
        if found.first() != Some(&offset) || filled != bytes {
            return Err(not_whole());
        }
        found.iter().for_each(|at| self.table.remove(self.start + at));
        self.cover(offset, bytes).map_err(|errno| failed("unmapping device memory", bytes, errno))?;
        found.iter().for_each(|at| drop(pieces.remove(at)));
        Ok(())
    }

    /// Makes a part of the range inaccessible and keeps it reserved.
    fn cover(&self, offset: u64, bytes: u64) -> rustix::io::Result<()> {
        // SAFETY: the range lies in this reservation; the caller of `unmap` vouches that nothing uses it.
        unsafe {
            mmap_anonymous(
                core::ptr::with_exposed_provenance_mut((self.start + offset) as usize),
                bytes as usize,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED,
            )
        }
        .map(drop)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        for &at in self.pieces().keys() {
            self.table.remove(self.start + at);
        }
        // SAFETY: the whole range is this reservation's, and its owner, who drops it, uses it no more. Should
        // it fail, the addresses stay reserved.
        let _ = unsafe {
            munmap(core::ptr::with_exposed_provenance_mut(self.start as usize), self.bytes as usize)
        };
    }
}
