//! The table of mapped ranges: what kernels may access.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A range of addresses that kernels may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The device whose memory it is; `None` for host memory.
    pub(crate) owner: Option<u32>,
}

impl Range {
    /// Holds no address.
    pub(crate) const EMPTY: Self = Self { start: 1, end: 0, owner: None };

    /// Whether all of an access lies in the range.
    pub(crate) fn holds(&self, address: u64, bytes: u32) -> bool {
        address >= self.start && address < self.end && self.end - address >= u64::from(bytes)
    }
}

/// All ranges, sorted by address; they do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Table {
    ranges: Mutex<Vec<Range>>,
    version: AtomicU64,
}

impl Table {
    fn ranges(&self) -> MutexGuard<'_, Vec<Range>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the changes of the table.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn insert(&self, range: Range) {
        let mut ranges = self.ranges();
        let at = ranges.partition_point(|r| r.start < range.start);
        ranges.insert(at, range);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Puts in a range of somebody else's choice, unless it overlaps one that is there: that is returned then.
    pub(crate) fn insert_apart(&self, range: Range) -> Result<(), Range> {
        let mut ranges = self.ranges();
        let at = ranges.partition_point(|r| r.start < range.end);
        match at.checked_sub(1).map(|before| ranges[before]).filter(|before| before.end > range.start) {
            Some(taken) => Err(taken),
            None => {
                ranges.insert(at, range);
                self.version.fetch_add(1, Ordering::Release);
                Ok(())
            }
        }
    }

    /// Takes out the range that starts at `start`.
    pub(crate) fn remove(&self, start: u64) {
        let mut ranges = self.ranges();
        if let Ok(at) = ranges.binary_search_by_key(&start, |r| r.start) {
            ranges.remove(at);
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// A copy with neighbours joined, and its version.
    pub(crate) fn snapshot(&self) -> (Vec<Range>, u64) {
        let ranges = self.ranges();
        let mut joined: Vec<Range> = Vec::with_capacity(ranges.len());
        for range in ranges.iter() {
            match joined.last_mut() {
                Some(last) if last.end == range.start && last.owner == range.owner => last.end = range.end,
                _ => joined.push(*range),
            }
        }
        (joined, self.version())
    }
}

/// The range of a snapshot that holds an access.
pub(crate) fn find(snapshot: &[Range], address: u64, bytes: u32) -> Option<Range> {
    let after = snapshot.partition_point(|r| r.start <= address);
    snapshot.get(after.checked_sub(1)?).copied().filter(|r| r.holds(address, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_found_only_inside_of_a_range() {
        let table = Table::default();
        for (start, end, owner) in [(300, 400, Some(1)), (100, 200, None), (200, 250, None)] {
            table.insert(Range { start, end, owner });
        }
        let (snapshot, version) = table.snapshot();
        assert_eq!(snapshot.len(), 2, "neighbours with one owner are joined");
        for (address, bytes, owner) in [
            (100, 8, Some(None)),
            (196, 8, Some(None)),
            (246, 8, None),
            (99, 1, None),
            (300, 16, Some(Some(1))),
            (399, 2, None),
            (400, 1, None),
            (u64::MAX, 16, None),
        ] {
            assert_eq!(find(&snapshot, address, bytes).map(|r| r.owner), owner, "{bytes} bytes at {address}");
        }
        for (start, end, taken) in
            [(250, 300, None), (400, 401, None), (399, 402, Some(400)), (90, 500, Some(400))]
        {
            let found = table.insert_apart(Range { start, end, owner: None });
            assert_eq!(found.err().map(|range| range.start), taken, "{start}..{end}");
        }
        table.remove(300);
        assert_ne!(table.version(), version);
        assert_eq!(find(&table.snapshot().0, 300, 1), None);
    }
}
