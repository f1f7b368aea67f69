//! The log of a PE's kernels in device memory: made before the first launch, read when the last is over.

use crate::driver::Queue;
use crate::error::Result;
use oxshmem_device::abi::trace::{TraceLog, TraceRecord};

/// Bytes that are copied at a time.
const CHUNK: usize = size_of::<TraceRecord>() << 12;

/// A log. The memory is the queue's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    /// Where a kernel finds it.
    pub(super) address: u64,
    capacity: u64,
}

/// What was in a log.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) records: Vec<TraceRecord>,
    /// How many operations found no room.
    pub(super) dropped: u64,
}

impl Log {
    /// Takes device memory for `capacity` operations.
    ///
    /// # Errors
    /// If the device has not got it.
    pub(super) fn new(queue: &dyn Queue, capacity: u32) -> Result<Self> {
        let capacity = u64::from(capacity);
        let bytes = size_of::<TraceLog>() as u64 + capacity * size_of::<TraceRecord>() as u64;
        let address = queue.allocate(bytes)?;
        let log = Self { address, capacity };
        // SAFETY: the memory that was just taken.
        let filled = unsafe {
            queue.zero(address, bytes).and_then(|()| queue.write(address + 8, &capacity.to_ne_bytes()))
        };
        match filled {
            Ok(()) => Ok(log),
            Err(error) => {
                // SAFETY: nothing knows of it yet.
                let _ = unsafe { queue.free(address) };
                Err(error)
            }
        }
    }

    /// What kernels have written so far.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn read(self, queue: &dyn Queue) -> Result<Read> {
        let mut next = [0; 8];
        // SAFETY: the log's first word.
        unsafe { queue.read(self.address, &mut next)? };
        let next = u64::from_ne_bytes(next);
        let kept = next.min(self.capacity) as usize * size_of::<TraceRecord>();
        let start = self.address + size_of::<TraceLog>() as u64;
        let mut bytes = vec![0; CHUNK.min(kept)];
        let mut records = Vec::with_capacity(kept / size_of::<TraceRecord>());
        for at in (0..kept).step_by(CHUNK) {
            let part = &mut bytes[..CHUNK.min(kept - at)];
            // SAFETY: within the log.
            unsafe { queue.read(start + at as u64, part)? };
            records.extend(part.chunks_exact(size_of::<TraceRecord>()).map(record));
        }
        // One whose thread was ended, or still runs, between its number and its begin.
        records.retain(|record: &TraceRecord| record.begin != 0);
        Ok(Read { records, dropped: next.saturating_sub(self.capacity) })
    }
}

fn record(bytes: &[u8]) -> TraceRecord {
    let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
    TraceRecord {
        begin: word(0),
        end: word(8),
        bytes: word(16),
        offset: word(24),
        what: half(32),
        peer: half(36),
        block: half(40),
        launch: half(44),
    }
}
