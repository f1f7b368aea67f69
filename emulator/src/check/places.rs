//! Where an address lies: in whose heap, in which allocation, or in memory that the checker does not look at.

use core::panic::Location;
use std::collections::BTreeMap;

/// An allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Bytes of an element.
    pub(crate) element: u64,
    /// The PE, for local memory.
    pub(crate) pe: u32,
}

/// Where an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// The runtime's own words at the start of a heap.
    Control,
    /// An allocation of a PE's heap.
    Heap { pe: u32 },
    /// Local device memory.
    Local,
    /// A part of a heap that no allocation has.
    Unallocated { pe: u32 },
    /// Something else: the table of teams, the alarm word.
    Elsewhere,
}

/// All memory.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Where PE 0's segment begins, from there to the next one's, and how many bytes of each are mapped.
    base: u64,
    stride: u64,
    bytes: u64,
    pes: u32,
    control: u64,
    /// By offset in the heap.
    symmetric: BTreeMap<u64, Allocation>,
    /// By address.
    local: BTreeMap<u64, Allocation>,
    /// What was given back, by offset; the PE and line that did so last.
    freed: BTreeMap<u64, Allocation>,
    freed_at: BTreeMap<u64, (u32, &'static Location<'static>)>,
    /// The allocation of the heap used last: first offset and the one after the last.
    last: std::cell::Cell<(u64, u64)>,
    /// Names that a launch gave to parts of the heap: offset, bytes, name.
    pub(crate) aliases: Vec<(u64, u64, &'static str)>,
}

impl Places {
    pub(crate) fn set_heaps(&mut self, base: u64, stride: u64, bytes: u64, pes: u32, control: u64) {
        // A launch of a graph knows the heap as it was when the graph was recorded; of what was given back since nothing is
        // allocated.
        let bytes = if self.base == base { bytes.max(self.bytes) } else { bytes };
        (self.base, self.stride, self.bytes, self.pes, self.control) = (base, stride, bytes, pes, control);
    }

    /// PE and offset of an address of some heap.
    pub(crate) fn in_heap(&self, address: u64) -> Option<(u32, u64)> {
        if self.stride == 0 {
            return None;
        }
        // Later PEs may lie at lower addresses.
        let distance = address.wrapping_sub(self.base) as i64;
        let pe = distance.div_euclid(self.stride as i64);
        let offset = distance.rem_euclid(self.stride as i64) as u64;
        let inside = pe >= 0 && (pe as u64) < u64::from(self.pes) && offset < self.bytes;
        inside.then_some((pe as u32, offset))
    }

    /// Address of an offset in a PE's heap.
    pub(crate) fn address(&self, pe: u32, offset: u64) -> u64 {
        self.base.wrapping_add(self.stride.wrapping_mul(u64::from(pe))).wrapping_add(offset)
    }

    /// Whether it is new: every PE says it.
    pub(crate) fn allocate(&mut self, offset: u64, allocation: Allocation) -> bool {
        if self.symmetric.get(&offset).is_some_and(|old| old.bytes == allocation.bytes) {
            return false;
        }
        self.freed.retain(|&start, old| start + old.bytes <= offset || start >= offset + allocation.bytes);
        self.symmetric.insert(offset, allocation);
        true
    }

    pub(crate) fn free(&mut self, offset: u64, at: (u32, &'static Location<'static>)) {
        self.last.set((0, 0));
        if let Some(allocation) = self.symmetric.remove(&offset) {
            self.freed.insert(offset, allocation);
            self.freed_at.insert(offset, at);
        }
    }

    pub(crate) fn allocate_local(&mut self, address: u64, allocation: Allocation) {
        self.local.insert(address, allocation);
    }

    pub(crate) fn free_local(&mut self, address: u64) {
        self.local.remove(&address);
    }

    pub(crate) fn spot(&self, address: u64, bytes: u32) -> Spot {
        if let Some((pe, offset)) = self.in_heap(address) {
            if offset < self.control {
                return Spot::Control;
            }
            let (start, end) = self.last.get();
            if offset >= start && offset + u64::from(bytes) <= end {
                return Spot::Heap { pe };
            }
            if let Some((start, allocation)) = holder(&self.symmetric, offset)
                && offset + u64::from(bytes) <= start + allocation.bytes
            {
                self.last.set((start, start + allocation.bytes));
                return Spot::Heap { pe };
            }
            return Spot::Unallocated { pe };
        }
        match holder(&self.local, address) {
            Some((start, allocation)) if address + u64::from(bytes) <= start + allocation.bytes => {
                Spot::Local
            }
            _ => Spot::Elsewhere,
        }
    }

    /// Who gave back what an offset lies in, and where, if it was given back.
    pub(crate) fn was_freed(&self, offset: u64) -> Option<(u32, &'static Location<'static>)> {
        self.freed_at.get(&holder(&self.freed, offset)?.0).copied()
    }

    /// `name[index] of PE n`.
    pub(crate) fn name(&self, address: u64) -> String {
        if let Some((pe, offset)) = self.in_heap(address) {
            return format!("{} of PE {pe}", self.name_at(offset));
        }
        match holder(&self.local, address) {
            Some((start, of)) => {
                format!("byte {} of {} of PE {}", address - start, of.name, of.pe)
            }
            None => format!("{address:#x}"),
        }
    }

    /// `name[index]` of a heap offset.
    pub(crate) fn name_at(&self, offset: u64) -> String {
        let found = holder(&self.symmetric, offset).or_else(|| holder(&self.freed, offset));
        let Some((start, of)) = found else { return format!("heap offset {offset:#x}") };
        let element = of.element.max(1);
        let alias = self
            .aliases
            .iter()
            .filter(|&&(start, bytes, _)| offset >= start && offset - start < bytes)
            .min_by_key(|&&(_, bytes, _)| bytes);
        let (start, name) = match alias {
            Some(&(start, _, name)) => (start, name),
            None => (start, &*of.name),
        };
        format!("{name}[{}]", (offset - start) / element)
    }
}

/// The allocation that holds a place, and where it starts.
fn holder(all: &BTreeMap<u64, Allocation>, at: u64) -> Option<(u64, &Allocation)> {
    let (&start, allocation) = all.range(..=at).next_back()?;
    (at - start < allocation.bytes).then_some((start, allocation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_named_by_its_allocation() {
        let mut places = Places::default();
        places.set_heaps(1 << 20, 1 << 16, 1 << 15, 2, 256);
        let of = |name: &str, bytes| Allocation { name: name.into(), bytes, element: 4, pe: 0 };
        places.allocate(512, of("x", 64));
        let at = (1 << 20) + (1 << 16) + 512 + 8;
        assert_eq!(places.spot(at, 4), Spot::Heap { pe: 1 });
        assert_eq!(places.name(at), "x[2] of PE 1");
        assert_eq!(places.spot(at + 54, 4), Spot::Unallocated { pe: 1 });
        assert_eq!(places.spot((1 << 20) + 8, 4), Spot::Control);
        assert_eq!(places.spot((1 << 20) + (1 << 15), 4), Spot::Elsewhere);
        places.aliases.push((516, 16, "part"));
        assert_eq!(places.name(at), "part[1] of PE 1");
        places.free(512, (0, Location::caller()));
        assert!(places.was_freed(520).is_some() && places.spot(at, 4) == Spot::Unallocated { pe: 1 });
    }
}
