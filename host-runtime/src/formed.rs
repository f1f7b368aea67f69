//! The teams that a PE belongs to, as it keeps them.

use oxshmem_device::Team as Handle;
use oxshmem_device::abi::teams;
use std::sync::Arc;

/// Bytes of the tables of teams that each of `n_pes` PEs has: the entries, and behind them room for a list of PEs for each.
pub(crate) const fn tables_bytes(n_pes: u32) -> u64 {
    list_offset(teams::SLOTS as u64, n_pes)
}

/// Where the list of a slot begins in that memory.
pub(crate) const fn list_offset(slot: u64, n_pes: u32) -> u64 {
    teams::BYTES + slot * n_pes as u64 * size_of::<u32>() as u64
}

/// A team as one of its PEs keeps it.
#[derive(Debug)]
pub(crate) struct Formed {
    pub(crate) handle: Handle,
    /// The job's numbers of its PEs.
    pub(crate) pes: Vec<u32>,
    /// This PE's number in it.
    pub(crate) my_pe: u32,
}

/// The teams of a PE.
#[derive(Debug, Default)]
pub(crate) struct Teams {
    /// By slot.
    pub(crate) slots: Vec<Option<Arc<Formed>>>,
    /// Not less than the count in any handle that this PE has seen of a team of its own.
    pub(crate) count: u32,
}

impl Teams {
    /// Whether a launch may name it.
    pub(crate) fn is_live(&self, team: Handle) -> bool {
        team == Handle::NONE
            || self
                .slots
                .get(team.slot() as usize)
                .is_some_and(|slot| slot.as_ref().is_some_and(|formed| formed.handle == team))
    }

    /// A bit for each slot that a new team may take.
    pub(crate) fn free(&self) -> u64 {
        let taken = (0..).zip(&self.slots).filter(|(_, slot)| slot.is_some());
        let predefined = (1 << teams::FIRST_FREE) - 1;
        !taken.fold(predefined, |bits, (slot, _): (u32, _)| bits | 1 << slot)
    }
}
