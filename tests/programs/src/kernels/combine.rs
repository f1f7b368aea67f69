//! A collective operation in a kernel.

use oxshmem_device::prelude::*;

/// Sums of all PEs of the team, in place.
#[nvshmem_kernel]
pub fn combine(shmem: Collective, team: Team, data: Sym<[u32]>) {
    shmem.team(team).grid().reduce(Sum, data, data);
}
