//! Coroutine stacks: one pool for all devices of the process, because the kernel's limit on memory maps is the
//! process's. Promises that no more stacks exist than the process may have, that each has a guard page, and
//! that a collective launch gets all of its stacks at its launch or a typed error.
//!
//! A stack costs two maps (itself and its guard page) and is committed page by page as it is used. A stack
//! overflow hits the guard page, which ends the thread (`trap.rs`).

use crate::error::Error;
use corosensei::stack::{Stack, StackPointer};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Guard page; also the unit in which stacks are sized.
const PAGE: usize = 4096;
/// Stacks made by one map.
const SLAB: usize = 32;
/// Maps of one stack.
const MAPS_PER_STACK: u64 = 2;
/// Maps left for everything else that the process may map later.
const MAPS_SPARE: u64 = 4096;
/// What a thread of a usual kernel really touches.
const TOUCHED: u64 = 16 * 1024;
/// Stacks start at different places in their top page, lest all hot lines fall into the same cache sets.
const COLOURS: usize = 16;
const COLOUR_BYTES: usize = PAGE / COLOURS;

/// One stack: the addresses of its ends. Given back by [`StackSet`], never by itself.
#[derive(Debug)]
pub(crate) struct PooledStack {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: the page at `limit` is a guard page, and there are at least 4096 bytes above it (`Pool::grow`).
unsafe impl Stack for PooledStack {
    fn base(&self) -> StackPointer {
        self.base
    }
    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// Stacks that belong to a launch or a block; they return to the pool when it is dropped.
#[derive(Debug)]
pub(crate) struct StackSet {
    bytes: usize,
    stacks: Vec<PooledStack>,
}

impl StackSet {
    /// No stacks of `bytes` each.
    pub(crate) fn empty(bytes: usize) -> Self {
        Self { bytes: rounded(bytes), stacks: Vec::new() }
    }

    /// Takes one out.
    pub(crate) fn pop(&mut self) -> Option<PooledStack> {
        self.stacks.pop()
    }

    /// Puts one in, of the set's size.
    pub(crate) fn push(&mut self, stack: PooledStack) {
        self.stacks.push(stack);
    }

    /// Moves `count` stacks into a new set; `None` if there are fewer.
    pub(crate) fn split(&mut self, count: usize) -> Option<Self> {
        let keep = self.stacks.len().checked_sub(count)?;
        Some(Self { bytes: self.bytes, stacks: self.stacks.split_off(keep) })
    }

    /// Moves all stacks of `other` into this set.
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.stacks.append(&mut other.stacks);
    }
}

impl Drop for StackSet {
    fn drop(&mut self) {
        if !self.stacks.is_empty() {
            let mut pool = pool();
            pool.in_use -= self.stacks.len() as u64;
            let bytes = self.bytes;
            pool.free_of(bytes).append(&mut self.stacks);
        }
    }
}

/// Why there are no stacks.
#[derive(Debug)]
pub(crate) enum Shortage {
    /// The process's limit: `limit` in all, `in_use` of them taken.
    Limit { limit: u64, in_use: u64 },
    /// A system call failed.
    System(Error),
}

/// Takes `count` stacks of `bytes` each.
pub(crate) fn take(count: usize, bytes: usize) -> Result<StackSet, Shortage> {
    let bytes = rounded(bytes);
    let mut pool = pool();
    if pool.in_use + count as u64 > pool.limit {
        return Err(Shortage::Limit { limit: pool.limit, in_use: pool.in_use });
    }
    while pool.free_of(bytes).len() < count {
        pool.make_room(bytes);
        pool.grow(bytes).map_err(Shortage::System)?;
    }
    pool.in_use += count as u64;
    let free = pool.free_of(bytes);
    let stacks = free.split_off(free.len() - count);
    Ok(StackSet { bytes, stacks })
}

/// How many stacks the process may have in all.
pub(crate) fn limit() -> u64 {
    pool().limit
}

/// Usable bytes for a configured size, the guard page not counted.
fn rounded(bytes: usize) -> usize {
    bytes.max(4 * PAGE).next_multiple_of(PAGE)
}

#[derive(Debug)]
struct Pool {
    /// By size; few sizes, mostly one.
    free: Vec<(usize, Vec<PooledStack>)>,
    /// Stacks that are mapped, free or not.
    mapped: u64,
    in_use: u64,
    limit: u64,
    /// Stacks made so far; chooses the colour.
    made: usize,
}

fn pool() -> MutexGuard<'static, Pool> {
    static POOL: OnceLock<Mutex<Pool>> = OnceLock::new();
    POOL.get_or_init(|| {
        Mutex::new(Pool { free: Vec::new(), mapped: 0, in_use: 0, limit: process_limit(), made: 0 })
    })
    .lock()
    .unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    fn free_of(&mut self, bytes: usize) -> &mut Vec<PooledStack> {
        let at = self.free.iter().position(|(size, _)| *size == bytes).unwrap_or_else(|| {
            self.free.push((bytes, Vec::new()));
            self.free.len() - 1
        });
        &mut self.free[at].1
    }

    /// Unmaps free stacks of other sizes until a slab fits under the limit.
    fn make_room(&mut self, bytes: usize) {
        while self.mapped + SLAB as u64 > self.limit {
            let other = self.free.iter_mut().find(|(size, free)| *size != bytes && !free.is_empty());
            let Some(stack) = other.and_then(|(_, free)| free.pop()) else { return };
            let (start, end) = (stack.limit.get(), stack.base.get().next_multiple_of(PAGE));
            // SAFETY: the stack was free, so no coroutine and no reference uses its pages; its value is gone
            // after this.
            let unmapped = unsafe { munmap(core::ptr::with_exposed_provenance_mut(start), end - start) };
            if unmapped.is_ok() {
                self.mapped -= 1;
            }
        }
    }

    /// Maps a slab of stacks.
    fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        let each = bytes + PAGE;
        let whole = each * SLAB;
        let failed = |what, errno: rustix::io::Errno| Error::System {
            what,
            bytes: whole as u64,
            reason: errno.to_string(),
        };
        // SAFETY: a fresh map at an address of the system's choice.
        let start = unsafe {
            mmap_anonymous(
                core::ptr::null_mut(),
                whole,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(|errno| failed("mapping coroutine stacks", errno))?;
        for i in 0..SLAB {
            // SAFETY: the lowest page of each stack of the fresh map, which nothing uses yet.
            let guarded = unsafe { mprotect(start.byte_add(i * each), PAGE, MprotectFlags::empty()) };
            if let Err(errno) = guarded {
                // SAFETY: the fresh map, which nothing uses. Should this fail too, its addresses are lost.
                let _ = unsafe { munmap(start, whole) };
                return Err(failed("protecting guard pages of coroutine stacks", errno));
            }
        }
        let start = start.expose_provenance();
        for i in 0..SLAB {
            let low = start + i * each;
            let base = low + each - (self.made % COLOURS) * COLOUR_BYTES;
            self.made += 1;
            let (Some(base), Some(limit)) = (StackPointer::new(base), StackPointer::new(low)) else {
                continue;
            };
            self.free_of(bytes).push(PooledStack { base, limit });
            self.mapped += 1;
        }
        Ok(())
    }
}

/// The limit that memory maps and memory set for this process.
fn process_limit() -> u64 {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    // The kernel's default, where /proc does not say (Documentation/admin-guide/sysctl/vm.rst).
    let maps: u64 = read("/proc/sys/vm/max_map_count").trim().parse().unwrap_or(65530);
    let used = read("/proc/self/maps").lines().count() as u64;
    let by_maps = maps.saturating_sub(used + MAPS_SPARE) / MAPS_PER_STACK;
    let by_memory = crate::memory::available() / TOUCHED;
    by_maps.min(by_memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_come_back_and_do_not_overlap() {
        let set = take(70, 64 * 1024).expect("70 stacks");
        let mut spans: Vec<_> = set.stacks.iter().map(|s| (s.limit().get(), s.base().get())).collect();
        spans.sort_unstable();
        for pair in spans.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{pair:x?}");
        }
        for (limit, base) in spans {
            assert!(base - limit >= 64 * 1024, "guard page and colour cost at most a page each");
            assert_eq!(base % corosensei::stack::STACK_ALIGNMENT, 0);
        }
    }

    #[test]
    fn more_than_the_limit_is_refused() {
        let limit = limit();
        assert!(matches!(take(limit as usize + 1, 16 * 1024), Err(Shortage::Limit { .. })));
    }
}
