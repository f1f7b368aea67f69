//! How many blocks fit: the arithmetic of an occupancy calculator, and the streaming multiprocessors that
//! hold resident blocks by the same arithmetic.

use crate::config::MachineConfig;

/// Threads of a warp.
pub(crate) const WARP: u32 = 32;
/// Shared memory that the system keeps per block (CUDA C++ Programming Guide, compute capability 9.0).
const SHARED_RESERVED: u32 = 1024;
/// Shared memory is handed out in these units.
const SHARED_UNIT: u32 = 128;

/// What one block takes of a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    threads: u32,
    shared: u32,
}

impl Needs {
    pub(crate) fn new(block_threads: u32, shared_bytes: u32) -> Self {
        let shared = shared_bytes.saturating_add(SHARED_RESERVED);
        Self {
            threads: block_threads.next_multiple_of(WARP),
            shared: shared.checked_next_multiple_of(SHARED_UNIT).unwrap_or(u32::MAX),
        }
    }
}

/// Blocks of this shape that one device holds at once; 0 if not even one fits.
pub(crate) fn active_blocks(config: &MachineConfig, block_threads: u32, shared_bytes: u32) -> u32 {
    if block_threads == 0
        || block_threads > config.max_threads_per_block
        || shared_bytes > config.shared_per_block
    {
        return 0;
    }
    let needs = Needs::new(block_threads, shared_bytes);
    let by_threads = config.threads_per_sm / needs.threads;
    let by_shared = config.shared_per_sm / needs.shared;
    config.sms * by_threads.min(by_shared).min(config.blocks_per_sm)
}

/// What is free on one multiprocessor.
#[derive(Clone, Copy, Debug)]
struct Free {
    threads: u32,
    shared: u32,
    blocks: u32,
}

/// The multiprocessors of a device.
#[derive(Debug)]
pub(crate) struct Multiprocessors {
    free: Vec<Free>,
}

impl Multiprocessors {
    pub(crate) fn new(config: &MachineConfig) -> Self {
        let free = Free {
            threads: config.threads_per_sm,
            shared: config.shared_per_sm,
            blocks: config.blocks_per_sm,
        };
        Self { free: vec![free; config.sms as usize] }
    }

    /// Takes room for a block on the emptiest multiprocessor that has it, and says which.
    pub(crate) fn place(&mut self, needs: Needs) -> Option<usize> {
        let (at, free) = self
            .free
            .iter_mut()
            .enumerate()
            .filter(|(_, f)| f.blocks > 0 && f.threads >= needs.threads && f.shared >= needs.shared)
            .max_by_key(|(at, f)| (f.threads, std::cmp::Reverse(*at)))?;
        free.blocks -= 1;
        free.threads -= needs.threads;
        free.shared -= needs.shared;
        Some(at)
    }

    /// Gives a block's room back.
    pub(crate) fn release(&mut self, at: usize, needs: Needs) {
        let free = &mut self.free[at];
        free.blocks += 1;
        free.threads += needs.threads;
        free.shared += needs.shared;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_blocks_can_be_placed_as_the_calculator_says() {
        let config = MachineConfig { sms: 4, threads_per_sm: 2048, ..MachineConfig::default() };
        for (threads, shared, expected) in [
            (1, 0, 4 * 32),
            (32, 0, 4 * 32),
            (33, 0, 4 * 32),
            (256, 0, 4 * 8),
            (1024, 0, 4 * 2),
            (1024, 227 * 1024, 4),
            (64, 20 * 1024, 4 * 10),
            (1025, 0, 0),
            (1, 227 * 1024 + 1, 0),
        ] {
            assert_eq!(
                active_blocks(&config, threads, shared),
                expected,
                "{threads} threads, {shared} bytes"
            );
            if expected > 0 {
                let mut sms = Multiprocessors::new(&config);
                let needs = Needs::new(threads, shared);
                let placed = std::iter::from_fn(|| sms.place(needs)).count();
                assert_eq!(placed, expected as usize, "{threads} threads, {shared} bytes");
            }
        }
    }
}
