//! What goes on for long or at once.

use super::Report;
use super::axes::Extent;
use crate::kernels::{at_once, storm};
use oxshmem::{LaunchConfig, Result, Shmem};

pub(crate) fn all(shmem: &Shmem, report: &Report, extent: Extent) -> Result<()> {
    back_to_back(shmem, report, extent.pick(70, 2_000, 100_000))?;
    teams(shmem, report, extent.pick(4, 50, 1_000))?;
    from_blocks(shmem, report)?;
    from_streams(shmem, report)
}

/// Operations with changing counts and kinds by one block without anything between them; each is checked in the kernel.
fn back_to_back(shmem: &Shmem, report: &Report, operations: u32) -> Result<()> {
    let room = 1200 * shmem.n_pes() as usize;
    let (target, source) = (shmem.alloc_zeroed::<u32>(room)?, shmem.alloc_zeroed::<u32>(room)?);
    let wrong = shmem.alloc_zeroed::<u64>(2)?;
    for (launch, count) in [operations / 2, operations - operations / 2].into_iter().enumerate() {
        let config = LaunchConfig::blocks(1).threads(64);
        storm::launch(shmem, config, launch as u32 * (operations / 2), count, &target, &source, &wrong)?;
    }
    let found = wrong.read()?;
    let wrong_at =
        (found[0] > 0).then(|| format!("{} elements are wrong, first in operation {}", found[0], found[1]));
    report
        .judge(|| format!("{operations} operations of {} PEs one behind the other", shmem.n_pes()), wrong_at);
    shmem.free(target)?;
    shmem.free(source)?;
    shmem.free(wrong)
}

/// Teams are made and destroyed, with operations in each: none hears of another's.
fn teams(shmem: &Shmem, report: &Report, teams: u32) -> Result<()> {
    let n = shmem.n_pes();
    let (target, source) =
        (shmem.alloc_zeroed::<u32>(1200 * n as usize)?, shmem.alloc_zeroed::<u32>(1200 * n as usize)?);
    let wrong = shmem.alloc_zeroed::<u64>(2)?;
    let world = shmem.team_world();
    for round in 0..teams {
        let size = 1 + round % n;
        let team = shmem.team_split_strided(&world, size - 1, -1, size)?;
        if let Some(team) = &team {
            let config = LaunchConfig::blocks(1).threads(64);
            crate::kernels::storm_of_team::launch(
                shmem,
                config,
                team,
                3 * round,
                3,
                &target,
                &source,
                &wrong,
            )?;
        }
        if let Some(team) = team {
            shmem.team_destroy(team)?;
        }
    }
    let found = wrong.read()?;
    let wrong_at =
        (found[0] > 0).then(|| format!("{} elements are wrong, first in operation {}", found[0], found[1]));
    report.judge(|| format!("{teams} teams of up to {n} PEs"), wrong_at);
    shmem.free(target)?;
    shmem.free(source)?;
    shmem.free(wrong)
}

/// Four operations of one team at once, by four blocks of one kernel on four channels.
fn from_blocks(shmem: &Shmem, report: &Report) -> Result<()> {
    let room = 4 * 1000;
    let source = shmem.alloc_from_fn(room, |i| (i as u32).wrapping_mul(shmem.my_pe() + 1))?;
    let target = shmem.alloc_zeroed::<u32>(room)?;
    at_once::launch(shmem, LaunchConfig::blocks(4).threads(64), 0, &target, &source)?;
    let wrong = differs(shmem, &target.read()?);
    report.judge(|| format!("four blocks of {} PEs at once", shmem.n_pes()), wrong);
    shmem.free(target)?;
    shmem.free(source)
}

/// The same by four streams.
fn from_streams(shmem: &Shmem, report: &Report) -> Result<()> {
    let room = 4 * 1000;
    let source = shmem.alloc_from_fn(room, |i| (i as u32).wrapping_mul(shmem.my_pe() + 1))?;
    let target = shmem.alloc_zeroed::<u32>(room)?;
    let streams: Vec<_> = (0..4).map(|_| shmem.stream()).collect::<Result<_>>()?;
    // Not in the same order on every PE.
    for i in 0..4 {
        let channel = (i + shmem.my_pe()) % 4;
        let parts =
            (target.slice(1000 * channel as usize, 1000), source.slice(1000 * channel as usize, 1000));
        let config = LaunchConfig::blocks(1).threads(64);
        at_once::launch_on(shmem, &streams[channel as usize], config, channel, parts.0, parts.1)?;
    }
    streams.iter().try_for_each(oxshmem::Stream::synchronize)?;
    let wrong = differs(shmem, &target.read()?);
    report.judge(|| format!("four streams of {} PEs at once", shmem.n_pes()), wrong);
    shmem.free(target)?;
    shmem.free(source)
}

fn differs(shmem: &Shmem, found: &[u32]) -> Option<String> {
    let factor = (1..=shmem.n_pes()).sum::<u32>();
    let expected = |i: usize| (i as u32).wrapping_mul(factor);
    let at = (0..found.len()).find(|i| found[*i] != expected(*i))?;
    Some(format!("element {at} is {}, not {}", found[at], expected(at)))
}
