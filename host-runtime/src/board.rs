//! The words in host memory that all PEs of a job share, over all its processes: the alarm, by which kernels say
//! that something failed, and each PE's error record, which devices reach; and behind them, for the host alone,
//! what each PE's host thread is doing, whether its process can run, and which kernels it launched last, by name. One
//! anonymous file, so that nothing is left behind however a process ends.

use crate::error::{Error, Result};
use crate::intern::intern;
use oxshmem_device::abi::{ErrorRecord, RECORD_COMPLETE};
use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::time::{ClockId, clock_gettime};
use std::mem::offset_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// How many launches of a PE are remembered by name.
const REMEMBERED: usize = 256;
/// The alarm word has these bytes to itself; the records follow.
const ALARM_BYTES: usize = 64;
/// What devices reach is registered with them in whole pages.
const PAGE: usize = 4096;
/// Words of a kernel's name that are kept.
const NAME_WORDS: usize = 14;

/// How many different kernels of graphs are remembered by name, for each PE.
const NAMED: u32 = 255;
/// Number of the name of one that is not.
const UNNAMED: u32 = NAMED;
/// Set in the number of a kernel of a graph, which holds the number of its name, and below [`NAME_SHIFT`] its number in the
/// graph.
const OF_A_GRAPH: u32 = 1 << 31;
const NAME_SHIFT: u32 = 23;

/// The number of a launch in error records. It comes again after 2^31 launches.
pub(crate) fn of_launch(launch: u64) -> u32 {
    launch as u32 & !OF_A_GRAPH
}

/// The number in error records of a graph's `node`-th kernel, whose name has the number `name`.
pub(crate) fn of_graph(name: u32, node: u32) -> u32 {
    OF_A_GRAPH | name.min(UNNAMED) << NAME_SHIFT | node & ((1 << NAME_SHIFT) - 1)
}

/// The number in its graph of the kernel of this number in an error record, if it is of a graph.
pub(crate) fn node(number: u32) -> Option<u32> {
    (number & OF_A_GRAPH != 0).then_some(number & ((1 << NAME_SHIFT) - 1))
}

/// The shared words of a job.
#[derive(Debug)]
pub(crate) struct Board {
    start: NonNull<u8>,
    n_pes: u32,
    file: OwnedFd,
}

// SAFETY: plain memory, reached by atomic accesses alone.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

/// A launch that is remembered.
#[repr(C)]
struct Entry {
    /// From 1; 0 while it is being written, or if there is none.
    number: AtomicU32,
    stream: AtomicU32,
    /// Bytes of the name.
    length: AtomicU64,
    name: [AtomicU64; NAME_WORDS],
}

/// A kernel's name that stays.
#[repr(C)]
struct Name {
    /// 1 + its bytes; 0 if there is none yet.
    length: AtomicU64,
    words: [AtomicU64; NAME_WORDS],
}

/// What the host thread of a PE is doing.
#[repr(C)]
struct Host {
    /// Since when, in nanoseconds of the system's monotonic clock, times 2, plus 1 if it waits for its kernels.
    doing: AtomicU64,
    /// When a thread of its process last ran that does nothing but say so; 0 if there is none.
    beat: AtomicU64,
}

/// What a PE that others wait for is doing, and since when ([`now`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It runs host code.
    Host(u64),
    /// It waits for its kernels.
    Kernels(u64),
}

/// Nanoseconds of the clock that all processes of this system share.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Board {
    /// A board of zeros, in a file of its own.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub(crate) fn new(n_pes: u32) -> Result<Self> {
        let file = memfd_create("oxshmem board", MemfdFlags::CLOEXEC).map_err(refused)?;
        ftruncate(&file, Layout::of(n_pes).bytes as u64).map_err(refused)?;
        let board = Self::map(n_pes, file)?;
        (0..n_pes).for_each(|pe| board.set_doing(pe, false));
        Ok(board)
    }

    /// The board that another process of the job made.
    ///
    /// # Errors
    /// If this is not such a file, or it cannot be mapped.
    pub(crate) fn open(n_pes: u32, file: OwnedFd) -> Result<Self> {
        let (found, expected) =
            (fstat(&file).map_err(refused)?.st_size as u64, Layout::of(n_pes).bytes as u64);
        if found != expected {
            return Err(Error::other(format!("PE 0's board has {found} bytes, and not {expected}")));
        }
        Self::map(n_pes, file)
    }

    fn map(n_pes: u32, file: OwnedFd) -> Result<Self> {
        let (bytes, access) = (Layout::of(n_pes).bytes, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a fresh map at an address of the system's choice.
        let at = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &file, 0) };
        // The system never maps the first page.
        let start = NonNull::new(at.map_err(refused)?.cast::<u8>()).unwrap_or(NonNull::dangling());
        Ok(Self { start, n_pes, file })
    }

    /// What other processes open.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// What devices reach: where it starts, and its bytes.
    pub(crate) fn for_devices(&self) -> (NonNull<u8>, usize) {
        (self.start, Layout::of(self.n_pes).hosts)
    }

    /// Where a PE's record starts, in bytes from the start.
    pub(crate) fn record_offset(pe: u32) -> u64 {
        (ALARM_BYTES + pe as usize * size_of::<ErrorRecord>()) as u64
    }

    /// `count` words of type `T` from byte `at` on.
    ///
    /// # Safety
    /// They lie in the map, aligned, and `T` is made of atomics alone.
    unsafe fn words<T>(&self, at: usize, count: usize) -> &[T] {
        // SAFETY: the caller's promise; the map lives as long as self.
        unsafe { std::slice::from_raw_parts(self.start.add(at).cast::<T>().as_ptr(), count) }
    }

    /// The word by which kernels say that one of them failed.
    pub(crate) fn alarm(&self) -> &AtomicU32 {
        // SAFETY: the first word of the map.
        unsafe { &self.words(0, 1)[0] }
    }

    fn record_words(&self, pe: u32) -> &[AtomicU32] {
        assert!(pe < self.n_pes, "PE {pe} of {}", self.n_pes);
        let words = size_of::<ErrorRecord>() / size_of::<AtomicU32>();
        // SAFETY: inside the part for devices.
        unsafe { self.words(Self::record_offset(pe) as usize, words) }
    }

    /// A PE's record, if it is complete.
    pub(crate) fn record(&self, pe: u32) -> Option<ErrorRecord> {
        let words = self.record_words(pe);
        let state = offset_of!(ErrorRecord, state) / size_of::<AtomicU32>();
        if words[state].load(Ordering::Acquire) != RECORD_COMPLETE {
            return None;
        }
        let mut bytes = [0u8; size_of::<ErrorRecord>()];
        for (to, word) in bytes.chunks_exact_mut(size_of::<u32>()).zip(words) {
            to.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        // SAFETY: ErrorRecord is repr(C) of integers only, so any bytes are one.
        Some(unsafe { bytes.as_ptr().cast::<ErrorRecord>().read_unaligned() })
    }

    /// Empties a PE's record.
    pub(crate) fn clear_record(&self, pe: u32) {
        for word in self.record_words(pe) {
            word.store(0, Ordering::Release);
        }
    }

    fn host(&self, pe: u32) -> &Host {
        assert!(pe < self.n_pes, "PE {pe} of {}", self.n_pes);
        // SAFETY: inside the part behind that for devices, which has one for each PE.
        unsafe { &self.words(Layout::of(self.n_pes).hosts, self.n_pes as usize)[pe as usize] }
    }

    /// Says that the process of a PE can run.
    pub(crate) fn beat(&self, pe: u32) {
        self.host(pe).beat.store(now(), Ordering::Release);
    }

    /// When the process of a PE last said that it can run, if it ever says so: PEs that are threads of one process do not.
    pub(crate) fn last_beat(&self, pe: u32) -> Option<u64> {
        Some(self.host(pe).beat.load(Ordering::Acquire)).filter(|beat| *beat != 0)
    }

    /// Notes whether a PE's host thread waits for its kernels from now on.
    pub(crate) fn set_doing(&self, pe: u32, waits_for_kernels: bool) {
        self.host(pe).doing.store(now() << 1 | u64::from(waits_for_kernels), Ordering::Release);
    }

    /// What a PE's host thread is doing.
    pub(crate) fn doing(&self, pe: u32) -> Doing {
        let word = self.host(pe).doing.load(Ordering::Acquire);
        if word & 1 == 1 { Doing::Kernels(word >> 1) } else { Doing::Host(word >> 1) }
    }

    fn entry(&self, pe: u32, number: u32) -> &Entry {
        assert!(pe < self.n_pes, "PE {pe} of {}", self.n_pes);
        let layout = Layout::of(self.n_pes);
        // SAFETY: inside the part behind those, which has as many for each PE.
        let entries: &[Entry] = unsafe { self.words(layout.launches, self.n_pes as usize * REMEMBERED) };
        &entries[pe as usize * REMEMBERED + number as usize % REMEMBERED]
    }

    /// Remembers a launch by name. One thread at a time for each PE.
    pub(crate) fn remember(&self, pe: u32, number: u32, stream: u32, kernel: &str) {
        let entry = self.entry(pe, number);
        entry.number.store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        entry.stream.store(stream, Ordering::Relaxed);
        let bytes = &kernel.as_bytes()[..kernel.len().min(8 * NAME_WORDS)];
        entry.length.store(bytes.len() as u64, Ordering::Relaxed);
        for (word, part) in entry.name.iter().zip(bytes.chunks(8)) {
            let mut value = [0; 8];
            value[..part.len()].copy_from_slice(part);
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        }
        entry.number.store(number, Ordering::Release);
    }

    /// The kernel and the stream of a PE's launch, if that is remembered.
    pub(crate) fn launched(&self, pe: u32, number: u32) -> Option<(&'static str, u32)> {
        if pe >= self.n_pes || number == 0 {
            return None;
        }
        if node(number).is_some() {
            let name = (number & !OF_A_GRAPH) >> NAME_SHIFT;
            return Some((self.names(pe).get(name as usize)?.read()?, u32::MAX));
        }
        let entry = self.entry(pe, number);
        if entry.number.load(Ordering::Acquire) != number {
            return None;
        }
        let stream = entry.stream.load(Ordering::Relaxed);
        let length = (entry.length.load(Ordering::Relaxed) as usize).min(8 * NAME_WORDS);
        let mut name = [0; 8 * NAME_WORDS];
        for (part, word) in name.chunks_exact_mut(8).zip(&entry.name) {
            part.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        fence(Ordering::Acquire);
        // A later launch may have taken the place meanwhile.
        if entry.number.load(Ordering::Relaxed) != number {
            return None;
        }
        Some((intern(&String::from_utf8_lossy(&name[..length])), stream))
    }

    fn names(&self, pe: u32) -> &[Name] {
        assert!(pe < self.n_pes, "PE {pe} of {}", self.n_pes);
        let layout = Layout::of(self.n_pes);
        // SAFETY: inside the last part, which has as many for each PE.
        let names: &[Name] = unsafe { self.words(layout.names, (self.n_pes * NAMED) as usize) };
        &names[(pe * NAMED) as usize..][..NAMED as usize]
    }

    /// The number of a kernel's name, which stays; that of none if there are too many. One thread at a time for each PE.
    pub(crate) fn name(&self, pe: u32, kernel: &str) -> u32 {
        let bytes = &kernel.as_bytes()[..kernel.len().min(8 * NAME_WORDS)];
        for (number, name) in (0..).zip(self.names(pe)) {
            match name.read() {
                None => {
                    for (word, part) in name.words.iter().zip(bytes.chunks(8)) {
                        let mut value = [0; 8];
                        value[..part.len()].copy_from_slice(part);
                        word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
                    }
                    name.length.store(1 + bytes.len() as u64, Ordering::Release);
                    return number;
                }
                Some(known) if known.as_bytes() == bytes => return number,
                Some(_) => {}
            }
        }
        UNNAMED
    }

    /// The first launch on a stream of a PE with a number from `from` to `to`, of those that are remembered.
    pub(crate) fn first_launch(
        &self,
        pe: u32,
        stream: u32,
        from: u64,
        to: u64,
    ) -> Option<(&'static str, u32)> {
        let from = from.max((to + 1).saturating_sub(REMEMBERED as u64));
        (from..=to).map(|number| number as u32).find_map(|number| {
            let (kernel, of) = self.launched(pe, number)?;
            (of == stream).then_some((kernel, number))
        })
    }
}

impl Name {
    fn read(&self) -> Option<&'static str> {
        let length = self.length.load(Ordering::Acquire).checked_sub(1)? as usize;
        let mut name = [0; 8 * NAME_WORDS];
        for (part, word) in name.chunks_exact_mut(8).zip(&self.words) {
            part.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        Some(intern(&String::from_utf8_lossy(&name[..length.min(8 * NAME_WORDS)])))
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: the map is this value's; what devices reach of it was unregistered before. Should it fail, the
        // memory is lost.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), Layout::of(self.n_pes).bytes) };
    }
}

/// Where the parts start, in bytes.
struct Layout {
    hosts: usize,
    launches: usize,
    names: usize,
    bytes: usize,
}

impl Layout {
    fn of(n_pes: u32) -> Self {
        let n_pes = n_pes as usize;
        let hosts = (ALARM_BYTES + n_pes * size_of::<ErrorRecord>()).next_multiple_of(PAGE);
        let launches = (hosts + n_pes * size_of::<Host>()).next_multiple_of(PAGE);
        let names = (launches + n_pes * REMEMBERED * size_of::<Entry>()).next_multiple_of(PAGE);
        let bytes = (names + n_pes * NAMED as usize * size_of::<Name>()).next_multiple_of(PAGE);
        Self { hosts, launches, names, bytes }
    }
}

fn refused(errno: rustix::io::Errno) -> Error {
    Error::other(format!("the system gave no memory for the words that PEs share: {errno}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_remembered_by_name_until_others_take_their_place() {
        let board = Board::new(3).unwrap();
        let long = "x".repeat(200);
        for (pe, number, stream, kernel) in [(0, 1, 0, "a__k"), (2, 1, 7, ""), (2, 300, 1, long.as_str())] {
            board.remember(pe, number, stream, kernel);
        }
        assert_eq!(board.launched(0, 1), Some(("a__k", 0)));
        assert_eq!(board.launched(1, 1), None);
        assert_eq!(board.launched(2, 1), Some(("", 7)));
        assert_eq!(board.launched(2, 300).unwrap().0, &long[..112]);
        board.remember(0, 257, 0, "b__k");
        assert_eq!((board.launched(0, 1), board.launched(0, 257)), (None, Some(("b__k", 0))));
        assert_eq!((board.launched(9, 1), board.launched(0, 0)), (None, None));
        assert_eq!(board.first_launch(2, 1, 1, 300), Some((&long[..112], 300)));
    }

    #[test]
    fn kernels_of_graphs_keep_their_names_whatever_is_launched_meanwhile() {
        let board = Board::new(2).unwrap();
        let number = of_graph(board.name(1, "a__k"), 3);
        let other = of_graph(board.name(1, "b__k"), 4);
        for launch in 1..1000 {
            board.remember(1, of_launch(launch), 0, "c__k");
        }
        assert_eq!((board.launched(1, number).unwrap().0, node(number)), ("a__k", Some(3)));
        assert_eq!((board.launched(1, other).unwrap().0, node(other)), ("b__k", Some(4)));
        assert_eq!((board.name(1, "a__k"), board.launched(0, number)), (0, None));
        assert_eq!((node(of_launch(u64::from(u32::MAX))), of_launch(7)), (None, 7));
        for i in 2..NAMED {
            assert_eq!(board.name(1, &format!("k{i}")), i);
        }
        let many = of_graph(board.name(1, "one more"), 5);
        assert_eq!((board.launched(1, many), node(many)), (None, Some(5)));
        assert_eq!(board.name(1, "k7"), 7);
    }

    #[test]
    fn another_process_sees_the_same_words() {
        let board = Board::new(2).unwrap();
        let file = board.file().try_clone_to_owned().unwrap();
        let other = Board::open(2, file).unwrap();
        board.alarm().store(1, Ordering::Release);
        board.set_doing(1, true);
        board.beat(1);
        assert_eq!((other.last_beat(0), other.last_beat(1).is_some()), (None, true));
        assert_eq!(other.alarm().load(Ordering::Acquire), 1);
        assert!(matches!((other.doing(0), other.doing(1)), (Doing::Host(_), Doing::Kernels(_))));
        let file = board.file().try_clone_to_owned().unwrap();
        assert!(Board::open(300, file).unwrap_err().to_string().contains("bytes, and not"));
    }
}
