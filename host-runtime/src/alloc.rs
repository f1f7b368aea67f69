//! The symmetric heap's bookkeeping, one for the whole job because all PEs allocate alike: which ranges are
//! taken, by what, and how many PEs have released each. Of PEs that are threads the last to arrive at a collective call
//! runs it; each PE that is a process keeps its own, and as all do the same in the same order, all books are alike.

use crate::config::HEAP_UNIT as UNIT;
use crate::debug;
use crate::driver::Backing;
use crate::error::{Error, Result};
use crate::failure::Place;
use crate::intern::intern;
use crate::ranges::Ranges;
use crate::space::AddressSpace;
use oxshmem_device::abi::collective::reserved;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::debug;

/// Number of an allocation in the order of allocation, from 0. Never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AllocationId(pub(crate) u64);

/// A range of every PE's heap.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) id: AllocationId,
    /// Byte offset from the heap's start.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) element_bytes: u64,
    /// What it holds, for reports.
    pub(crate) holds: &'static str,
    /// What handles carry, so that one of a freed vector or of another run is known: never 0, and different for
    /// 65,535 allocations in a row.
    pub(crate) tag: u16,
    /// Whether the memory is the host's, which reaches it at the PE's own segment.
    pub(crate) host: bool,
}

/// Where the tags of a heap's allocations come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tags {
    /// From a count that all heaps of this process share.
    Shared,
    /// From a count of this heap's that starts here, so that it is the same in every process of the job.
    From(u64),
}

impl Tags {
    fn next(&mut self) -> u16 {
        static SHARED: AtomicU64 = AtomicU64::new(0);
        let turn = match self {
            Self::Shared => SHARED.fetch_add(1, Ordering::Relaxed),
            Self::From(next) => {
                *next = next.wrapping_add(1);
                *next
            }
        };
        1 + (turn % u64::from(u16::MAX)) as u16
    }
}

/// A range that was taken, and what the heap must have memory for before it is used.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) allocation: Arc<Allocation>,
    /// Where the segments must end, if they must grow.
    pub(crate) goal: Option<u64>,
}

/// The heap of the job.
#[derive(Debug)]
pub(crate) struct Heap {
    space: AddressSpace,
    /// Free ranges in units: of what is mapped, device memory alone, and all that is not mapped.
    ranges: Ranges,
    /// In units, what nothing holds and other memory than the device's is mapped behind. Free when that is unmapped.
    holes: Vec<Range<u64>>,
    taken: BTreeMap<AllocationId, Taken>,
    next: AllocationId,
    n_pes: u32,
    /// Bytes for allocations.
    limit: u64,
    tags: Tags,
}

#[derive(Debug)]
struct Taken {
    allocation: Arc<Allocation>,
    /// In units; empty for an allocation of no bytes.
    range: Range<u64>,
    /// Whether it is a whole growth of its own, because its memory is not plain memory of the device.
    apart: bool,
    /// How many PEs have released it.
    released: u32,
}

impl Taken {
    fn bytes(&self) -> u64 {
        (self.range.end - self.range.start) * UNIT
    }
}

impl Heap {
    /// A heap with nothing mapped yet. Behind what is the runtime's own is room for allocations, of `limit` bytes at most.
    pub(crate) fn new(space: AddressSpace, n_pes: u32, limit: Option<u64>, tags: Tags) -> Self {
        let (own, all) = (reserved(n_pes), space.reserved());
        let limit = limit.map_or(all - own, |limit| limit.min(all - own));
        let ranges = Ranges::new(own / UNIT..(own + limit) / UNIT);
        let (taken, next) = (BTreeMap::new(), AllocationId(0));
        Self { space, ranges, holes: Vec::new(), taken, next, n_pes, limit, tags }
    }

    /// The segments.
    pub(crate) fn space(&mut self) -> &mut AddressSpace {
        &mut self.space
    }

    /// Puts memory behind the first `bytes` of every segment, all of which are of this process, or changes nothing. `of_pe`
    /// says what memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if a device has not got it; those of [`Reservation::create`](crate::driver::Reservation::create).
    pub(crate) fn grow_here(&mut self, bytes: u64, of_pe: impl Fn(u32) -> Backing) -> Result<()> {
        let Some(goal) = self.space.growth_to(bytes) else { return Ok(()) };
        self.space.take(goal, of_pe)?;
        self.space.map().inspect_err(|_| self.space.give_back())?;
        self.space.grown(goal);
        debug!(target: debug::HEAP, mapped = goal, n_pes = self.n_pes, "the heaps have grown");
        Ok(())
    }

    /// Takes a range on every PE, for which [`Begun::goal`] says whether memory is still needed. What is not plain device
    /// memory gets a growth of its own, all of it.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`]; the heap is as before then.
    pub(crate) fn begin(
        &mut self,
        holds: &'static str,
        elements: u64,
        element_bytes: u64,
        backing: Backing,
    ) -> Result<Begun> {
        let overflow = || Error::SizeOverflow { elements, element_bytes };
        let bytes = elements.checked_mul(element_bytes).ok_or_else(overflow)?;
        let units = bytes.checked_next_multiple_of(UNIT).ok_or_else(overflow)? / UNIT;
        let apart = backing != Backing::Device && units > 0;
        let range = match units {
            0 => reserved(self.n_pes) / UNIT..reserved(self.n_pes) / UNIT,
            _ if apart => self.take_growth(bytes)?,
            units => match self.ranges.take(units) {
                Some(range) => range,
                None => return Err(self.out_of_memory("symmetric heap per PE", bytes, self.used())),
            },
        };
        let (id, offset, goal) = (self.next, range.start * UNIT, self.space.growth_to(range.end * UNIT));
        let (tag, host) = (self.tags.next(), backing == Backing::Host);
        let allocation = Arc::new(Allocation { id, offset, bytes, element_bytes, holds, tag, host });
        self.taken.insert(id, Taken { allocation: allocation.clone(), range, apart, released: 0 });
        self.next = AllocationId(id.0 + 1);
        Ok(Begun { allocation, goal })
    }

    /// Takes the range of the next growth, of at least `bytes` bytes.
    fn take_growth(&mut self, bytes: u64) -> Result<Range<u64>> {
        let (start, granule) = (self.space.mapped(), self.space.granule());
        let end = bytes.checked_next_multiple_of(granule).and_then(|bytes| start.checked_add(bytes));
        if let Some(end) = end
            && self.ranges.take_at(start / UNIT..end / UNIT)
        {
            return Ok(start / UNIT..end / UNIT);
        }
        let available = (self.ranges.end() * UNIT).saturating_sub(start) / granule * granule;
        let what = "symmetric heap per PE, behind all that it has memory for";
        Err(Error::OutOfMemory { what, asked: bytes, available, limit: self.limit })
    }

    /// Gives a range back that was begun and for which there is no memory.
    pub(crate) fn cancel(&mut self, allocation: &Allocation) {
        if let Some(taken) = self.taken.remove(&allocation.id) {
            self.ranges.give(taken.range);
        }
    }

    /// The error of device memory that ran out for a range that was begun, with what the user asked for and could have had;
    /// other errors as they are. `pe` is named if it is not any PE.
    pub(crate) fn for_user(&self, allocation: &Allocation, pe: Option<u32>, error: Error) -> Error {
        let Error::OutOfMemory { .. } = error else { return error };
        let taken = self.taken.get(&allocation.id);
        if taken.is_some_and(|taken| taken.apart) {
            return error;
        }
        let begun = taken.map_or(0, Taken::bytes);
        let what = pe.map_or("symmetric heap per PE", |pe| intern(&format!("symmetric heap of PE {pe}")));
        self.out_of_memory(what, allocation.bytes, self.used() - begun)
    }

    fn out_of_memory(&self, what: &'static str, bytes: u64, used: u64) -> Error {
        let limit = self.limit;
        let physical =
            (self.space.mapped() + self.space.free_per_pe()).saturating_sub(reserved(self.n_pes) + used);
        let (asked, available) = (bytes.next_multiple_of(UNIT), limit.saturating_sub(used).min(physical));
        Error::OutOfMemory { what, asked, available, limit }
    }

    /// Notes that one more PE has released an allocation, which is returned when all have. Its range is free then, or, if
    /// the memory behind is not the device's, when that was given back.
    pub(crate) fn release(&mut self, id: AllocationId) -> Option<Arc<Allocation>> {
        let taken = self.taken.get_mut(&id)?;
        taken.released += 1;
        if taken.released < self.n_pes {
            return None;
        }
        let Taken { allocation, range, apart, .. } = self.taken.remove(&id)?;
        if apart {
            self.holes.push(range);
        } else {
            self.ranges.give(range);
        }
        Some(allocation)
    }

    /// Gives memory back to the devices that is behind the last range taken, as far as it came by growths that now hold
    /// nothing. No kernel of any PE runs, and every PE does this at the same time.
    pub(crate) fn shrink(&mut self) {
        let used = self.taken.values().map(|taken| taken.range.end * UNIT).max();
        self.space.shrink_to(used.unwrap_or(0));
        let mapped = self.space.mapped() / UNIT;
        for hole in self.holes.extract_if(.., |hole| hole.start >= mapped) {
            self.ranges.give(hole);
        }
    }

    /// What stands at a heap offset.
    pub(crate) fn place(&self, offset: u64) -> Place {
        if let Some(place) = Place::control(offset, self.n_pes) {
            return place;
        }
        let holds = |taken: &&Taken| {
            let allocation = &taken.allocation;
            offset >= allocation.offset && offset - allocation.offset < allocation.bytes
        };
        match self.taken.values().find(holds) {
            Some(Taken { allocation, .. }) => Place::Allocation {
                number: allocation.id.0,
                holds: allocation.holds,
                element: (offset - allocation.offset) / allocation.element_bytes.max(1),
            },
            None => Place::Nothing,
        }
    }

    /// Address of each PE's segment.
    pub(crate) fn bases(&self) -> Vec<u64> {
        self.space.bases()
    }

    /// From each of them to the next.
    pub(crate) fn stride(&self) -> u64 {
        self.space.stride()
    }

    /// Bytes that are mapped at the start of each PE's segment.
    pub(crate) fn mapped(&self) -> u64 {
        self.space.mapped()
    }

    fn used(&self) -> u64 {
        self.taken.values().map(Taken::bytes).sum()
    }
}
