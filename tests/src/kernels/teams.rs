//! Teams: numbers, and operations by the team's numbers.

use super::at_scope;
use oxshmem_device::prelude::*;

/// What `numbers` writes where there is no number.
pub const NO_PE: u32 = u32::MAX;

/// Writes this PE's number in `team`, the team's size, the next and the previous PE, then of each number up to one
/// beyond the team the job's number and that in `other`. Nothing if this PE is not in `team`.
#[nvshmem_kernel]
pub fn team_numbers(shmem: Shmem, team: Team, other: Team, out: Sym<[u32]>) {
    let Some(team) = shmem.try_team(team) else { return };
    let out = team.context().local(out);
    out.set(0, team.my_pe());
    out.set(1, team.n_pes());
    out.set(2, team.next_pe());
    out.set(3, team.prev_pe());
    let mut pe = 0;
    while pe <= team.n_pes() {
        let at = 4 + 2 * u64::from(pe);
        out.set(at, team.world_pe(pe).unwrap_or(NO_PE));
        let translated = shmem.try_team(other).and_then(|other| team.translate(pe, other));
        out.set(at + 1, translated.unwrap_or(NO_PE));
        pe += 1;
    }
}

/// Passes `src` on to the next PE of the team by `put_signal`, waits for the previous one's and gets it back from there
/// into `back`; adds 1 to `count` on the team's PE 0, and sets its own element of `marks` there, by `p`.
#[nvshmem_kernel]
pub fn ring(
    shmem: Collective,
    team: Team,
    dst: Sym<[u32]>,
    src: Sym<[u32]>,
    back: Sym<[u32]>,
    ready: Sym<Signal>,
    count: Sym<Atomic<u32>>,
    marks: Sym<[u32]>,
    scope: u32,
    round: u64,
) {
    let Some(team) = shmem.try_team(team) else { return };
    at_scope!(team, scope, |s| {
        s.put_signal(dst, src, ready, SignalOp::Set(round), team.next_pe());
        s.wait_reached(ready, round);
        s.get(back, src, team.prev_pe());
        if s.is_leader() {
            let me = team.my_pe();
            team.thread().atomic_add(count, 1, 0);
            team.thread().p(marks.at(u64::from(me)), 1 + me, 0);
        }
    });
}

/// A signal to every PE of the team, which each waits for from all; then `barrier_all`, which is over the whole job.
#[nvshmem_kernel]
pub fn all_to_all(shmem: Collective, team: Team, arrived: Sym<Signal>, scope: u32) {
    match shmem.try_team(team) {
        Some(team) => at_scope!(team, scope, |s| {
            let mut pe = 0;
            while pe < team.n_pes() {
                s.signal(arrived, SignalOp::Add(1), pe);
                pe += 1;
            }
            s.wait_until(arrived, Cmp::Eq, u64::from(team.n_pes()));
            s.barrier_all();
        }),
        None => at_scope!(shmem, scope, |s| s.barrier_all()),
    }
}

/// Puts into the next PE's memory, meets the team by `team_barrier` on a channel, and adds what has come to `seen`; then
/// stores to the own memory, meets it by `team_sync`, and adds what the next PE has stored.
#[nvshmem_kernel]
pub fn team_meets(
    shmem: Collective,
    team: Team,
    words: Sym<[u32]>,
    seen: Sym<[u32]>,
    src: Sym<[u32]>,
    rounds: u32,
    channel: u32,
    scope: u32,
) {
    let Some(team) = shmem.try_team(team) else { return };
    let team = team.channel(channel);
    let (own, out, from) = (shmem.local(words), shmem.local(seen), shmem.local(src));
    at_scope!(team, scope, |s| {
        let mut round = 0;
        while round < rounds {
            let mut i = s.rank();
            while i < from.len() {
                from.set(i, 1000 * shmem.my_pe() + 10 * round + i as u32);
                i += s.size();
            }
            s.put(words, src, team.next_pe());
            s.team_barrier();
            let mut i = s.rank();
            while i < own.len() {
                out.set(i, out.get(i).wrapping_add(own.get(i)));
                i += s.size();
            }
            // Nobody writes before everybody has read.
            s.team_barrier();
            let mut i = s.rank();
            while i < own.len() {
                own.set(i, 7 * shmem.my_pe() + round);
                i += s.size();
            }
            s.team_sync();
            let mut i = s.rank();
            while i < own.len() {
                let value = team.thread().g(words.at(i), team.next_pe());
                out.set(i, out.get(i).wrapping_add(value));
                i += s.size();
            }
            s.team_sync();
            round += 1;
        }
    });
}

/// Two blocks meet the team at once, each on its own channel, so many times.
#[nvshmem_kernel]
pub fn two_channels(shmem: Collective, team: Team, count: Sym<[u32]>, rounds: u32) {
    let Some(team) = shmem.try_team(team) else { return };
    let block = team.channel(thread::block_idx_x()).block();
    let mut round = 0;
    while round < rounds {
        block.team_barrier();
        round += 1;
    }
    if block.is_leader() {
        shmem.local(count).set(u64::from(thread::block_idx_x()), round);
    }
}

/// All but the team's PE 0 meet it.
#[nvshmem_kernel]
pub fn miss_team(shmem: Collective, team: Team, channel: u32, syncs: u32) {
    let Some(team) = shmem.try_team(team) else { return };
    let thread = team.channel(channel).thread();
    if team.my_pe() > 0 && thread::in_grid() == 0 {
        if syncs == 0 {
            thread.team_barrier();
        } else {
            thread.team_sync();
        }
    }
}

/// Puts to a PE of the team that need not exist.
#[nvshmem_kernel]
pub fn put_on_team(shmem: Collective, team: Team, dst: Sym<[u32]>, src: Sym<[u32]>, scope: u32, pe: u32) {
    let team = shmem.team(team);
    at_scope!(team, scope, |s| s.put(dst, src, pe));
}

/// One thread ends the job, all others wait for what never comes.
#[nvshmem_kernel]
pub fn exit_job(shmem: Collective, never: Sym<Signal>, culprit: u32, status: i32) {
    if shmem.my_pe() == culprit && thread::in_grid() == 0 {
        shmem.thread().global_exit(status);
    }
    shmem.thread().wait_until(never, Cmp::Eq, 1);
}
