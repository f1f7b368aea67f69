//! What teams take of memory: 8 PEs make 32 teams, each of which runs a barrier and an all-gather of 1 KiB of each PE, by puts.
//!
//! `OXSHMEM_PES=8 team-memory`, or 8 processes of it. Counted are, for each PE: what the driver says that the teams have taken of
//! the device, between the moment before the first is made and that in which all are in use; and what was there for them from the
//! start: the words of the runtime in front of the first allocation of the heap (all of them, not only those of teams) and the
//! tables by which kernels find a team and its PEs, with room for all 64 of a PE.

use oxshmem::{Error, LaunchConfig, Result, Shmem, Team};
use oxshmem_device::abi::teams;
use oxshmem_programs::kernels::gather::gather;
use std::process::ExitCode;

const PES: u32 = 8;
const TEAMS: usize = 32;
/// Words of 8 bytes that each PE brings: 1 KiB.
const WORDS: usize = 128;
const SHAPE: LaunchConfig = LaunchConfig::blocks(1).threads(128);
/// What a PE's teams may take, in bytes.
const MOST: u64 = 8 << 20;

/// The team of this number. By turns a part of the PEs, evenly spaced, and PEs in an order of their own, which takes a list.
fn make(shmem: &Shmem, number: usize) -> Result<Option<Team>> {
    let (world, n) = (shmem.team_world(), shmem.n_pes());
    let number = number as u32;
    match number % 4 {
        0 => shmem.team_split_strided(&world, 0, 1, n),
        1 => shmem.team_split_strided(&world, number % 2, 2, n / 2),
        2 => shmem.team_split_2d(&world, 4).map(|(row, _)| Some(row)),
        _ => {
            // Never evenly spaced.
            let first = number % (n - 4);
            shmem.team_from_pes(&world, &[first + 3, first, first + 1, first + 4])
        }
    }
}

fn value(team: usize, world_pe: u32, word: usize) -> u64 {
    (team as u64) << 40 | u64::from(world_pe) << 20 | word as u64
}

fn body(shmem: &Shmem) -> Result<()> {
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    if n != PES {
        return Err(Error::other(format!("{n} PEs, where {PES} are measured: OXSHMEM_PES={PES}")));
    }
    let dst = shmem.alloc_zeroed::<u64>(WORDS * n as usize)?;
    let src = shmem.alloc_zeroed::<u64>(WORDS)?;
    // All else that takes memory comes before: code, streams, a first use of all.
    gather::launch(shmem, SHAPE, shmem.team_world(), &dst, &src)?;
    shmem.barrier_all()?;
    let before = shmem.all_gather(&shmem.device_memory_free()?)?;
    let teams: Vec<Option<Team>> = (0..TEAMS).map(|number| make(shmem, number)).collect::<Result<_>>()?;
    for (number, team) in teams.iter().enumerate() {
        let Some(team) = team else { continue };
        src.write(&(0..WORDS).map(|word| value(number, me, word)).collect::<Vec<u64>>())?;
        shmem.team_barrier(team)?;
        gather::launch(shmem, SHAPE, team, &dst, &src)?;
        let gathered = dst.read()?;
        for pe in 0..team.n_pes() {
            let of = team.world_pe(pe).unwrap_or(u32::MAX);
            let at = pe as usize * WORDS;
            if !(0..WORDS).all(|word| gathered[at + word] == value(number, of, word)) {
                return Err(Error::other(format!("team {number}: what came of its PE {pe} is wrong")));
            }
        }
        // Before the next team puts over it.
        shmem.team_barrier(team)?;
    }
    shmem.barrier_all()?;
    let after = shmem.all_gather(&shmem.device_memory_free()?)?;
    // PEs of one process that share a device are told the same; those of different processes may be, too.
    let taken =
        before.iter().zip(&after).map(|(before, after)| before.saturating_sub(*after)).max().unwrap_or(0);
    let words = dst.handle().offset();
    let slots = u64::from(teams::SLOTS);
    let tables = teams::BYTES + slots * u64::from(n) * size_of::<u32>() as u64;
    let all = taken + words + tables;
    if me == 0 {
        let verdict = if all < MOST { "yes" } else { "no" };
        println!(
            "team-memory  {}  {PES} PEs, {TEAMS} teams, a barrier and an all-gather of 1 KiB in each  at most {taken} bytes by the \
             driver, {words} of words, {tables} of tables: {:.3} MiB of {} MiB  verified {verdict}",
            shmem.device_name(),
            all as f64 / (1 << 20) as f64,
            MOST >> 20,
        );
    }
    teams.into_iter().flatten().try_for_each(|team| shmem.team_destroy(team))?;
    if all < MOST { Ok(()) } else { Err(Error::other(format!("the teams of a PE take {all} bytes"))) }
}

fn main() -> ExitCode {
    match oxshmem::run(|shmem| body(&shmem)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("team-memory: {error}");
            ExitCode::FAILURE
        }
    }
}
