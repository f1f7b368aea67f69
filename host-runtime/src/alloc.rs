//! The symmetric heap's bookkeeping, one for the whole job because all PEs allocate alike: which ranges are
//! taken, by what, and how many PEs have released each. Run by the last PE to arrive at a collective call.

use crate::error::{Error, Result};
use crate::failure::Place;
use crate::space::AddressSpace;
use oxshmem_device::abi::control;
use range_alloc::RangeAllocator;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the unit in which ranges are handed out: every allocation is aligned to it.
pub(crate) const UNIT: u64 = 256;

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
    /// 65,535 allocations of the process in a row.
    pub(crate) tag: u16,
}

fn next_tag() -> u16 {
    static TAGS: AtomicU64 = AtomicU64::new(0);
    let turn = TAGS.fetch_add(1, Ordering::Relaxed) % u64::from(u16::MAX);
    1 + turn as u16
}

/// The heap of the job.
#[derive(Debug)]
pub(crate) struct Heap {
    space: AddressSpace,
    /// Free ranges in units.
    ranges: RangeAllocator<u64>,
    taken: BTreeMap<AllocationId, Taken>,
    next: AllocationId,
    n_pes: u32,
    /// Bytes for allocations.
    limit: u64,
}

#[derive(Debug)]
struct Taken {
    allocation: Arc<Allocation>,
    /// In units; empty for an allocation of no bytes.
    range: Range<u64>,
    /// How many PEs have released it.
    released: u32,
}

impl Heap {
    /// Maps the control area; what is reserved behind it, `limit` bytes at most, is for allocations.
    pub(crate) fn new(mut space: AddressSpace, n_pes: u32, limit: Option<u64>) -> Result<Self> {
        space.grow_to(control::BYTES)?;
        let reserved = space.reserved() - control::BYTES;
        let limit = limit.map_or(reserved, |limit| limit.min(reserved));
        let ranges = RangeAllocator::new(control::BYTES / UNIT..(control::BYTES + limit) / UNIT);
        Ok(Self { space, ranges, taken: BTreeMap::new(), next: AllocationId(0), n_pes, limit })
    }

    /// Takes a range on every PE.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`]; the heap is as before then.
    pub(crate) fn allocate(
        &mut self,
        holds: &'static str,
        elements: u64,
        element_bytes: u64,
    ) -> Result<Arc<Allocation>> {
        let overflow = || Error::SizeOverflow { elements, element_bytes };
        let bytes = elements.checked_mul(element_bytes).ok_or_else(overflow)?;
        let units = bytes.checked_next_multiple_of(UNIT).ok_or_else(overflow)? / UNIT;
        let range = if units == 0 { control::BYTES / UNIT..control::BYTES / UNIT } else { self.take(units)? };
        let (id, offset) = (self.next, range.start * UNIT);
        let allocation = Arc::new(Allocation { id, offset, bytes, element_bytes, holds, tag: next_tag() });
        self.taken.insert(id, Taken { allocation: allocation.clone(), range, released: 0 });
        self.next = AllocationId(id.0 + 1);
        Ok(allocation)
    }

    fn take(&mut self, units: u64) -> Result<Range<u64>> {
        let Ok(range) = self.ranges.allocate_range(units) else { return Err(self.out_of_memory(units)) };
        match self.space.grow_to(range.end * UNIT) {
            Ok(()) => Ok(range),
            Err(error) => {
                self.ranges.free_range(range);
                Err(match error {
                    Error::OutOfMemory { .. } => self.out_of_memory(units),
                    other => other,
                })
            }
        }
    }

    fn out_of_memory(&self, units: u64) -> Error {
        let (limit, used) = (self.limit, self.used());
        let physical = self.space.mapped() - control::BYTES - used + self.space.free_per_pe();
        Error::OutOfMemory {
            what: "symmetric heap per PE",
            asked: units * UNIT,
            available: (limit - used).min(physical),
            limit,
        }
    }

    /// Notes that one more PE has released an allocation; its range is free when all have.
    pub(crate) fn release(&mut self, id: AllocationId) {
        let Some(taken) = self.taken.get_mut(&id) else { return };
        taken.released += 1;
        if taken.released == self.n_pes
            && let Some(taken) = self.taken.remove(&id)
            && !taken.range.is_empty()
        {
            self.ranges.free_range(taken.range);
        }
    }

    /// What stands at a heap offset.
    pub(crate) fn place(&self, offset: u64) -> Place {
        if let Some(place) = Place::control(offset) {
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

    /// Bytes that are mapped at the start of each PE's segment.
    pub(crate) fn mapped(&self) -> u64 {
        self.space.mapped()
    }

    fn used(&self) -> u64 {
        self.taken.values().map(|taken| (taken.range.end - taken.range.start) * UNIT).sum()
    }
}
