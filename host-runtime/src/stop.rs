//! What makes the kernels of this process give up once a PE has failed: their abort words, written by whichever thread
//! learns of it.

use crate::driver::Queue;
use oxshmem_device::abi::control;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The abort words of the PEs of this process, while their heaps are mapped.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    set: AtomicBool,
    /// A queue that reaches it, and the address of the heap, of each PE.
    heaps: Mutex<Vec<(Arc<dyn Queue>, u64)>>,
}

impl Stop {
    /// Whether a PE has failed.
    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Acquire)
    }

    /// Adds a PE of this process.
    pub(crate) fn add(&self, copies: Arc<dyn Queue>, base: u64) {
        self.heaps.lock().unwrap_or_else(PoisonError::into_inner).push((copies, base));
    }

    /// Tells all kernels that PE `failed` has failed.
    pub(crate) fn now(&self, failed: u32) {
        self.set.store(true, Ordering::Release);
        let abort = (1 + u64::from(failed)).to_ne_bytes();
        for (copies, base) in self.heaps.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // SAFETY: the abort word of a mapped control area; kernels reach it by atomic accesses of 8 bytes.
            // If the write fails, kernels give up at their deadlines.
            let _ = unsafe { copies.write(base + control::ABORT, &abort) };
        }
    }

    /// Forgets the heaps, which are about to go.
    pub(crate) fn close(&self) {
        self.heaps.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
