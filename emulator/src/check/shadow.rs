//! Who has written and read each byte last.
//!
//! A cell stands for four bytes. One whose bytes differ is split into four; that is rare, so the split ones stand apart.
//! Reads that nothing orders are kept as a list. Memory of which nothing is known has its initial contents.

use super::event::{EventId, INITIAL, NONE};
use super::hash::Direct;
use std::collections::HashMap;

const PAGE: u64 = 4096;
const CELL: u64 = 4;
const CELLS: usize = (PAGE / CELL) as usize;
/// In `read`: the rest is the number of a list.
const LIST: u32 = 1 << 31;
/// Most unordered reads of a cell that are kept.
const READS: usize = 16;
/// In `write`: the cell is split.
const SPLIT: EventId = EventId::MAX;

#[derive(Clone, Copy, Debug)]
struct Cell {
    write: EventId,
    read: u32,
}

/// A page.
#[derive(Clone, Copy, Debug)]
enum Page {
    /// All of it was written by one event, and nobody has read it since.
    Uniform(EventId),
    /// Its cells, by number.
    Cells(usize),
}

/// What a check needs to know of an access.
pub(crate) trait Judge {
    /// Whether an earlier event comes before the access.
    fn ordered(&mut self, before: EventId) -> bool;
    /// Whether an earlier read was a put_signal's, of which the access knows that it has arrived: what was in the bytes when they
    /// were read comes before it, too.
    fn was_sent(&mut self, read: EventId) -> bool;
    /// The earlier event and the access conflict.
    fn conflict(&mut self, before: EventId, address: u64);
    /// The access reads what nobody wrote.
    fn never_written(&mut self, address: u64);
}

/// The shadow of all memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    pages: HashMap<u64, Page, Direct>,
    cells: Vec<Box<[Cell; CELLS]>>,
    free: Vec<usize>,
    /// The page used last.
    last: Option<(u64, usize)>,
    split: HashMap<u64, [Cell; CELL as usize], Direct>,
    lists: Vec<Vec<EventId>>,
    free_lists: Vec<u32>,
}

impl Shadow {
    fn page(&mut self, number: u64) -> usize {
        if let Some((last, at)) = self.last
            && last == number
        {
            return at;
        }
        let at = match self.pages.get(&number) {
            Some(&Page::Cells(at)) => at,
            other => {
                let write = if let Some(&Page::Uniform(write)) = other { write } else { INITIAL };
                let fresh = Cell { write, read: NONE };
                let at = match self.free.pop() {
                    Some(at) => {
                        self.cells[at].fill(fresh);
                        at
                    }
                    None => {
                        self.cells.push(Box::new([fresh; CELLS]));
                        self.cells.len() - 1
                    }
                };
                self.pages.insert(number, Page::Cells(at));
                at
            }
        };
        self.last = Some((number, at));
        at
    }

    /// Notes an access of `bytes` at `address`, and has `judge` look at what it meets. An `event` that writes replaces
    /// what was there; `copies`: a read that only carries the bytes elsewhere may find that nobody wrote them.
    pub(crate) fn access(
        &mut self,
        (address, bytes): (u64, u64),
        event: EventId,
        writes: bool,
        copies: bool,
        judge: &mut impl Judge,
    ) {
        let (mut at, end) = (address, address + bytes);
        while at < end {
            if writes && at.is_multiple_of(PAGE) && end - at >= PAGE && self.replace(at, event, judge) {
                at += PAGE;
                continue;
            }
            let start = at & !(CELL - 1);
            let next = (start + CELL).min(end);
            let page = self.page(start / PAGE);
            let index = (start % PAGE / CELL) as usize;
            let cell = self.cells[page][index];
            let whole = next - at == CELL;
            if cell.write == SPLIT || !whole {
                self.access_split((start, at, next), (page, index), event, writes, copies, judge);
            } else {
                let cell = self.meet(cell, at, event, writes, copies, judge);
                self.cells[page][index] = cell;
            }
            at = next;
        }
    }

    /// Writes a whole page that has no cells. False if it has.
    fn replace(&mut self, at: u64, event: EventId, judge: &mut impl Judge) -> bool {
        let number = at / PAGE;
        let before = match self.pages.get(&number) {
            Some(Page::Cells(_)) => return false,
            Some(&Page::Uniform(before)) => before,
            None => INITIAL,
        };
        if before != event && before > INITIAL && !judge.ordered(before) {
            judge.conflict(before, at);
        }
        self.pages.insert(number, Page::Uniform(event));
        true
    }

    /// Sets the writer of a range, and forgets its readers, whatever they were.
    pub(crate) fn fill(&mut self, address: u64, bytes: u64, write: EventId) {
        let (first, last) = (address.next_multiple_of(PAGE), (address + bytes) / PAGE * PAGE);
        if first >= last {
            return self.set(address, bytes, write);
        }
        for number in first / PAGE..last / PAGE {
            if let Some(Page::Cells(at)) = self.pages.insert(number, Page::Uniform(write)) {
                self.free.push(at);
            }
        }
        self.last = None;
        self.split.retain(|&at, _| at < first || at >= last);
        self.set(address, first - address, write);
        self.set(last, address + bytes - last, write);
    }

    fn access_split(
        &mut self,
        (start, at, next): (u64, u64, u64),
        (page, index): (usize, usize),
        event: EventId,
        writes: bool,
        copies: bool,
        judge: &mut impl Judge,
    ) {
        let cell = self.cells[page][index];
        let mut parts = match self.split.remove(&start) {
            Some(parts) if cell.write == SPLIT => parts,
            _ => {
                let mut parts = [cell; CELL as usize];
                if cell.read & LIST != 0 {
                    // Each byte has a list of its own from now on.
                    for part in &mut parts[1..] {
                        let list = self.lists[(cell.read & !LIST) as usize].clone();
                        part.read = self.new_list(list);
                    }
                }
                parts
            }
        };
        for byte in at..next {
            let part = (byte - start) as usize;
            parts[part] = self.meet(parts[part], byte, event, writes, copies, judge);
        }
        let first = parts[0];
        let alike = parts.iter().all(|part| part.write == first.write && part.read == first.read);
        if alike && first.read & LIST == 0 {
            self.cells[page][index] = first;
        } else {
            self.cells[page][index] = Cell { write: SPLIT, read: NONE };
            self.split.insert(start, parts);
        }
    }

    fn meet(
        &mut self,
        mut cell: Cell,
        address: u64,
        event: EventId,
        writes: bool,
        copies: bool,
        judge: &mut impl Judge,
    ) -> Cell {
        if cell.write != event
            && cell.write > INITIAL
            && !judge.ordered(cell.write)
            && !self.readers(&cell).iter().any(|&read| judge.was_sent(read))
        {
            judge.conflict(cell.write, address);
        }
        if !writes {
            if cell.write == NONE && !copies {
                judge.never_written(address);
            }
            if cell.read == event {
                return cell;
            }
            if cell.read & LIST != 0 {
                let number = cell.read & !LIST;
                let mut list = std::mem::take(&mut self.lists[number as usize]);
                if !list.contains(&event) {
                    if list.len() >= READS {
                        list.retain(|&before| !judge.ordered(before));
                    }
                    if list.len() >= READS {
                        list.swap_remove(0);
                    }
                    list.push(event);
                }
                self.lists[number as usize] = list;
            } else if cell.read == NONE || judge.ordered(cell.read) {
                cell.read = event;
            } else {
                cell.read = self.new_list(vec![cell.read, event]);
            }
            return cell;
        }
        if cell.read & LIST != 0 {
            let number = cell.read & !LIST;
            let list = std::mem::take(&mut self.lists[number as usize]);
            for &before in &list {
                if before != event && !judge.ordered(before) {
                    judge.conflict(before, address);
                }
            }
            self.free_lists.push(number);
        } else if cell.read != NONE && cell.read != event && !judge.ordered(cell.read) {
            judge.conflict(cell.read, address);
        }
        Cell { write: event, read: NONE }
    }

    fn readers<'a>(&'a self, cell: &'a Cell) -> &'a [EventId] {
        match cell.read {
            NONE => &[],
            read if read & LIST != 0 => &self.lists[(read & !LIST) as usize],
            _ => core::slice::from_ref(&cell.read),
        }
    }

    fn new_list(&mut self, list: Vec<EventId>) -> u32 {
        let number = match self.free_lists.pop() {
            Some(number) => {
                self.lists[number as usize] = list;
                number
            }
            None => {
                self.lists.push(list);
                (self.lists.len() - 1) as u32
            }
        };
        LIST | number
    }

    /// The event that wrote a byte last.
    pub(crate) fn writer(&mut self, address: u64) -> EventId {
        let start = address & !(CELL - 1);
        let page = self.page(start / PAGE);
        let cell = self.cells[page][(start % PAGE / CELL) as usize];
        match self.split.get(&start) {
            Some(parts) if cell.write == SPLIT => parts[(address - start) as usize].write,
            _ => cell.write,
        }
    }

    /// Sets the writer of a range, and forgets its readers. Looks at nothing.
    pub(crate) fn set(&mut self, address: u64, bytes: u64, write: EventId) {
        struct Silent;
        impl Judge for Silent {
            fn ordered(&mut self, _: EventId) -> bool {
                true
            }
            fn was_sent(&mut self, _: EventId) -> bool {
                false
            }
            fn conflict(&mut self, _: EventId, _: u64) {}
            fn never_written(&mut self, _: u64) {}
        }
        self.access((address, bytes), write, true, true, &mut Silent);
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.free.extend(self.pages.drain().filter_map(|(_, page)| match page {
            Page::Cells(at) => Some(at),
            Page::Uniform(_) => None,
        }));
        self.last = None;
        self.split.clear();
        self.lists.clear();
        self.free_lists.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events below `known` are ordered.
    struct Below {
        known: EventId,
        sent: Option<EventId>,
        met: Vec<(EventId, u64)>,
        unwritten: Vec<u64>,
    }
    impl Judge for Below {
        fn ordered(&mut self, before: EventId) -> bool {
            before < self.known
        }
        fn was_sent(&mut self, read: EventId) -> bool {
            self.sent == Some(read)
        }
        fn conflict(&mut self, before: EventId, address: u64) {
            self.met.push((before, address));
        }
        fn never_written(&mut self, address: u64) {
            self.unwritten.push(address);
        }
    }

    fn access(
        shadow: &mut Shadow,
        at: u64,
        bytes: u64,
        event: EventId,
        writes: bool,
        known: EventId,
    ) -> Below {
        let mut judge = Below { known, sent: None, met: Vec::new(), unwritten: Vec::new() };
        shadow.access((at, bytes), event, writes, false, &mut judge);
        judge
    }

    #[test]
    fn a_write_meets_the_write_and_the_reads_before_it() {
        let mut shadow = Shadow::default();
        access(&mut shadow, 4096, 16, 5, true, 0);
        assert_eq!(access(&mut shadow, 4100, 4, 6, false, 6).met, []);
        assert_eq!(access(&mut shadow, 4100, 4, 7, false, 6).met, []);
        let met = access(&mut shadow, 4096, 8, 9, true, 6).met;
        assert_eq!(met, [(6, 4100), (7, 4100)]);
        assert_eq!(access(&mut shadow, 4096, 4, 10, false, 0).met, [(9, 4096)]);
    }

    #[test]
    fn what_was_read_to_be_sent_was_written_before() {
        let mut shadow = Shadow::default();
        let write = |shadow: &mut Shadow, sent| {
            access(shadow, 64, 4, 5, true, 0);
            access(shadow, 64, 4, 6, false, 6);
            access(shadow, 64, 4, 7, false, 6);
            let mut judge = Below { known: 0, sent, met: Vec::new(), unwritten: Vec::new() };
            shadow.access((64, 4), 8, true, false, &mut judge);
            judge.met
        };
        assert_eq!(write(&mut shadow, None), [(5, 64), (6, 64), (7, 64)]);
        // The other read is still met.
        shadow.clear();
        assert_eq!(write(&mut shadow, Some(7)), [(6, 64), (7, 64)]);
    }

    #[test]
    fn single_bytes_are_told_apart() {
        let mut shadow = Shadow::default();
        access(&mut shadow, 0, 4, 2, true, 0);
        assert_eq!(access(&mut shadow, 0, 1, 5, true, 3).met, []);
        assert_eq!(access(&mut shadow, 1, 1, 6, true, 3).met, []);
        assert_eq!(access(&mut shadow, 0, 4, 7, false, 3).met, [(5, 0), (6, 1)]);
        assert_eq!((shadow.writer(1), shadow.writer(3)), (6, 2));
        access(&mut shadow, 0, 4, 8, true, 9);
        assert_eq!(shadow.writer(2), 8);
    }

    #[test]
    fn what_nobody_wrote_is_told_once_it_is_read() {
        let mut shadow = Shadow::default();
        shadow.set(4, 4, NONE);
        assert_eq!(access(&mut shadow, 0, 8, 5, false, 0).unwritten, [4]);
        shadow.clear();
        assert!(access(&mut shadow, 4, 4, 5, false, 0).unwritten.is_empty());
    }
}
