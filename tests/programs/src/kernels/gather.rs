//! An all-gather of a team, made of puts.

use oxshmem_device::prelude::*;

/// Puts `src` into every member's `dst`, at this PE's place in the team, and meets the team.
#[nvshmem_kernel]
pub fn gather(shmem: Collective, team: Team, dst: Sym<[u64]>, src: Sym<[u64]>) {
    let Some(team) = shmem.try_team(team) else { return };
    let (block, len) = (team.block(), src.len());
    let own = dst.slice(u64::from(team.my_pe()) * len, len);
    let mut pe = 0;
    while pe < team.n_pes() {
        block.put(own, src, pe);
        pe += 1;
    }
    block.team_barrier();
}
