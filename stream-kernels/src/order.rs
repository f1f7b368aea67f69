//! Completion and barriers, by one thread: the stream itself joins it to all that came before.

use oxshmem_device::prelude::*;

/// Completes all that the stream did before.
#[nvshmem_kernel]
pub fn quiet(shmem: Shmem) {
    shmem.thread().quiet();
}

/// The barrier of all PEs, with all that the stream did before.
#[nvshmem_kernel]
pub fn barrier_all(shmem: Collective) {
    shmem.thread().barrier_all();
}

/// The barrier of all PEs that completes nothing.
#[nvshmem_kernel]
pub fn sync_all(shmem: Collective) {
    shmem.thread().sync_all();
}

/// The barrier of a team, with all that the stream did before.
#[nvshmem_kernel]
pub fn team_barrier(shmem: Collective, team: Team) {
    shmem.team(team).thread().team_barrier();
}

/// The barrier of a team that completes nothing.
#[nvshmem_kernel]
pub fn team_sync(shmem: Collective, team: Team) {
    shmem.team(team).thread().team_sync();
}
