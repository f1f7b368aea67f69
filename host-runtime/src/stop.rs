//! What makes the kernels of this process give up once a PE has failed: their abort words, written by whichever thread
//! learns of it.

use crate::debug;
use crate::driver::Queue;
use oxshmem_device::abi::control;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::warn;

/// The abort words of the PEs of this process, while their heaps are mapped.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    /// 1 + the PE that has failed, or 0: what the abort words are to hold.
    abort: AtomicU64,
    /// A queue that reaches it, and the address of the heap, of each PE.
    heaps: Mutex<Vec<(Arc<dyn Queue>, u64)>>,
}

impl Stop {
    /// Whether a PE has failed.
    pub(crate) fn is_set(&self) -> bool {
        self.abort.load(Ordering::Acquire) != 0
    }

    fn heaps(&self) -> MutexGuard<'_, Vec<(Arc<dyn Queue>, u64)>> {
        self.heaps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a PE of this process, whose control area is mapped and ready: a PE may fail before, and even have failed.
    pub(crate) fn add(&self, copies: Arc<dyn Queue>, base: u64) {
        let mut heaps = self.heaps();
        heaps.push((copies, base));
        self.write(&heaps[heaps.len() - 1..]);
    }

    /// Tells all kernels that PE `failed` has failed.
    pub(crate) fn now(&self, failed: u32) {
        warn!(target: debug::FAILURE, failed, "a PE has failed: kernels are told to give up");
        self.abort.store(1 + u64::from(failed), Ordering::Release);
        // A heap that is added meanwhile is there now, or whoever adds it sees what was stored.
        self.write(&self.heaps());
    }

    /// Runs `reset`, which zeroes abort words, while nobody else writes them, and writes again what was there.
    pub(crate) fn around<T>(&self, reset: impl FnOnce() -> T) -> T {
        let heaps = self.heaps();
        let result = reset();
        self.write(&heaps);
        result
    }

    fn write(&self, heaps: &[(Arc<dyn Queue>, u64)]) {
        let abort = self.abort.load(Ordering::Acquire);
        for (copies, base) in heaps.iter().filter(|_| abort != 0) {
            // SAFETY: the abort word of a mapped control area; kernels reach it by atomic accesses of 8 bytes.
            // If the write fails, kernels give up at their deadlines.
            let _ = unsafe { copies.write(base + control::ABORT, &abort.to_ne_bytes()) };
        }
    }

    /// Forgets the heaps, which are about to go.
    pub(crate) fn close(&self) {
        self.heaps().clear();
    }
}
