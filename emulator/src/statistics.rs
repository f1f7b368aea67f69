//! What a device has done since its machine was made.

use oxshmem_device::abi::Operation;
use oxshmem_device::hooks::Instruction;

/// Numbers that [`Operation`] may have, with room to grow.
pub(crate) const OPERATIONS: usize = 64;
/// Loads, stores, atomics, fences, arrivals, acquire fences.
pub(crate) const INSTRUCTIONS: usize = 6;

/// Counts of one device. Operations count per calling thread: a block's put is one per thread of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// How often a thread was resumed.
    pub switches: u64,
    /// How many of these did something other than fail a poll again.
    pub active_steps: u64,
    /// Blocks that became resident.
    pub blocks: u64,
    /// Launches that ended, well or not.
    pub launches: u64,
    /// Loads from global memory.
    pub loads: u64,
    /// Stores to global memory.
    pub stores: u64,
    /// Read-modify-writes of global memory.
    pub atomics: u64,
    /// `fence.sc.sys`.
    pub fences: u64,
    /// Arrivals at barriers of some warps.
    pub arrivals: u64,
    pub(crate) operations: [u64; OPERATIONS],
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            switches: 0,
            active_steps: 0,
            blocks: 0,
            launches: 0,
            loads: 0,
            stores: 0,
            atomics: 0,
            fences: 0,
            arrivals: 0,
            operations: [0; OPERATIONS],
        }
    }
}

impl Statistics {
    /// How often threads entered `operation`.
    pub fn operations(&self, operation: Operation) -> u64 {
        self.operations[operation as usize % OPERATIONS]
    }
}

/// The number under which an instruction is counted.
pub(crate) fn number(instruction: &Instruction) -> usize {
    match instruction {
        Instruction::Load { .. } => 0,
        Instruction::Store { .. } => 1,
        Instruction::Atomic { .. } => 2,
        Instruction::Fence => 3,
        Instruction::Arrive => 4,
        Instruction::FenceAcquire => 5,
    }
}
