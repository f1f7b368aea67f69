//! What the unfinished collective launches of all PEs of one device hold of it. Blocks that wait hold their room
//! until others come, so PEs that share a device must not promise the same room twice. One ledger per device;
//! a launch writes what it takes before it starts, under the lock under which it looked whether it fits.

use crate::driver::Queue;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Room on the device that a collective launch takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) blocks: u64,
    pub(crate) per_multiprocessor: u32,
}

impl Held {
    /// How many blocks of a kernel of which `per_multiprocessor` fit on one multiprocessor cannot run because
    /// of this, at worst: each held block keeps out as many as would fit in its place, rounded up.
    pub(crate) fn in_blocks_of(self, per_multiprocessor: u32) -> u64 {
        self.blocks * u64::from(per_multiprocessor.div_ceil(self.per_multiprocessor.max(1)))
    }

    /// The one that takes more room.
    pub(crate) fn greater(self, other: Self) -> Self {
        let share = |held: Self, of: Self| held.blocks * u64::from(of.per_multiprocessor);
        if share(self, other) >= share(other, self) { self } else { other }
    }
}

/// What is held of a device by several PEs.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Mutex<Vec<Entry>>,
    next: AtomicU64,
}

/// What one stream holds.
#[derive(Debug)]
struct Entry {
    seat: u64,
    pe: u32,
    held: Held,
    queue: Arc<dyn Queue>,
    /// Whether a launch is counted here that the queue may not have yet.
    starting: Arc<AtomicBool>,
}

/// The place of a PE's stream in the ledger of its device. Dropped, it holds nothing.
#[derive(Debug)]
pub(crate) struct Seat {
    ledger: Arc<Ledger>,
    number: u64,
    pe: u32,
    starting: Arc<AtomicBool>,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a stream of `pe`.
    pub(crate) fn seat(self: &Arc<Self>, pe: u32) -> Seat {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Seat { ledger: self.clone(), number, pe, starting: Arc::default() }
    }

    /// What the other PEs than `pe` hold now, in blocks of a kernel of which `per_multiprocessor` fit.
    pub(crate) fn held_by_others(&self, pe: u32, per_multiprocessor: u32) -> u64 {
        let mut entries = self.lock();
        forget_what_is_over(&mut entries, pe);
        others(&entries, pe, per_multiprocessor)
    }
}

impl Seat {
    /// Takes room for a launch that is about to start if it `fits` beside what the other PEs hold, in blocks of
    /// its kernel. Returns what this stream held before; call [`started`](Self::started) or
    /// [`put_back`](Self::put_back) next.
    ///
    /// # Errors
    /// What the others hold, of which none is known to be over.
    pub(crate) fn take(
        &self,
        queue: &Arc<dyn Queue>,
        held: Held,
        fits: impl Fn(u64) -> bool,
    ) -> Result<Option<Held>, u64> {
        let mut entries = self.ledger.lock();
        if !fits(others(&entries, self.pe, held.per_multiprocessor)) {
            // What the others have not looked at themselves.
            forget_what_is_over(&mut entries, self.pe);
            let others = others(&entries, self.pe, held.per_multiprocessor);
            if !fits(others) {
                return Err(others);
            }
        }
        self.starting.store(true, Ordering::Relaxed);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.seat == self.number) {
            let before = entry.held;
            // Of two launches of one stream the greater counts: they run one after the other.
            entry.held = before.greater(held);
            return Ok(Some(before));
        }
        let (queue, starting) = (queue.clone(), self.starting.clone());
        entries.push(Entry { seat: self.number, pe: self.pe, held, queue, starting });
        Ok(None)
    }

    /// Notes that the launch is in its queue.
    pub(crate) fn started(&self) {
        self.starting.store(false, Ordering::Release);
    }

    /// Notes that the launch was refused: this stream holds what it held before.
    pub(crate) fn put_back(&self, before: Option<Held>) {
        let mut entries = self.ledger.lock();
        match before {
            None => entries.retain(|entry| entry.seat != self.number),
            Some(before) => entries
                .iter_mut()
                .filter(|entry| entry.seat == self.number)
                .for_each(|entry| entry.held = before),
        }
        self.started();
    }

    /// Notes that this stream was seen idle.
    pub(crate) fn leave(&self) {
        self.ledger.lock().retain(|entry| entry.seat != self.number);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Takes out what other PEs' streams held that are idle now.
fn forget_what_is_over(entries: &mut Vec<Entry>, pe: u32) {
    entries
        .retain(|entry| entry.pe == pe || entry.starting.load(Ordering::Acquire) || !entry.queue.is_over());
}

fn others(entries: &[Entry], pe: u32, per_multiprocessor: u32) -> u64 {
    let others = entries.iter().filter(|entry| entry.pe != pe);
    others.map(|entry| entry.held.in_blocks_of(per_multiprocessor)).sum()
}
