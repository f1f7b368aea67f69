//! Teams between PEs that are threads or processes: splits in which PE 0, whose process serves the calls, takes no part,
//! one to which a PE does not come, kernels that pass data on along teams side by side, and the end of the job by a kernel.
//!
//! `teams [STATUS]`, with at least 3 PEs: with a status, a kernel of the last PE ends the job with it at the end.

use oxshmem::{Config, Error, LaunchConfig, Reach, Result, Shmem, SymVec, Team};
use oxshmem_programs::kernels::scope;
use oxshmem_programs::kernels::teams::{exit_job, ring};
use std::process::ExitCode;
use std::time::Duration;

/// How long a PE that does not come is waited for.
const DEADLINE: Duration = Duration::from_secs(2);
/// Longer, and shorter than twice as long.
const LATE: Duration = Duration::from_secs(3);
const SHAPE: LaunchConfig = LaunchConfig::blocks(2).threads(64);
/// Elements that are passed on.
const ELEMENTS: usize = 500;

fn wrong<T>(what: &str, found: impl std::fmt::Debug) -> Result<T> {
    Err(Error::other(format!("{what}: {found:?}")))
}

/// PEs of `n` without PE 0, those of them with odd numbers backwards, and the others.
fn splits(shmem: &Shmem) -> Result<Vec<Team>> {
    let n = shmem.n_pes();
    let world = shmem.team_world();
    let Some(rest) = shmem.team_split_strided(&world, 1, 1, n - 1)? else { return Ok(Vec::new()) };
    // PE 0 is in the barrier at the end of this already, or on its way.
    let (odd, even) = (n / 2, (n - 1) / 2);
    let odd = shmem.team_split_strided(&rest, 2 * (odd - 1), -2, odd)?;
    let even = shmem.team_split_strided(&rest, 1, 2, even)?;
    let team = odd.or(even).ok_or_else(|| Error::other("this PE is neither odd nor even"))?;
    let again = shmem.team_split_strided(&team, 0, 1, team.n_pes())?;
    // Made by PEs that have made as many, in the same slot as another team of other PEs.
    let again = again.ok_or_else(|| Error::other("a team of all PEs has all PEs"))?;
    Ok(vec![rest, team, again])
}

/// Each team passes data on; the teams of a round are disjoint, and work side by side.
fn passes_on(shmem: &Shmem, teams: &[Team]) -> Result<()> {
    let (me, n) = (shmem.my_pe(), shmem.n_pes() as usize);
    let src = shmem.alloc_from_fn(ELEMENTS, |i| me << 16 | i as u32)?;
    let (dst, back) = (shmem.alloc_zeroed::<u32>(ELEMENTS)?, shmem.alloc_zeroed::<u32>(ELEMENTS)?);
    let (ready, count) = (shmem.alloc_signals(3)?, shmem.alloc_atomics::<u32>(3, Reach::World)?);
    let marks = shmem.alloc_zeroed::<u32>(n)?;
    for round in 0..3 {
        let team = teams.get(round);
        let (ready, count) = (ready.at(round), count.at(round));
        ring::launch(shmem, SHAPE, team, &dst, &src, &back, ready, count, &marks, scope::GRID, 1)?;
        shmem.barrier_all()?;
        team.map_or(Ok(()), |team| came_from_before(team, &[("put", &dst), ("get", &back)]))?;
        // Before the next round puts over it.
        shmem.barrier_all()?;
    }
    let counts = count.values()?;
    let expected = |round: usize| teams.get(round).filter(|team| team.my_pe() == 0).map_or(0, Team::n_pes);
    match (0..3).all(|round| counts[round] == expected(round)) {
        true => Ok(()),
        false => wrong("a team's PE 0 was counted up by", counts),
    }
}

/// Whether what `ring` has brought is of the previous PE of the team.
fn came_from_before(team: &Team, vectors: &[(&str, &SymVec<u32>)]) -> Result<()> {
    let prev = team.world_pe((team.my_pe() + team.n_pes() - 1) % team.n_pes()).unwrap_or(u32::MAX);
    for (how, vector) in vectors {
        let values = vector.read()?;
        if let Some((i, value)) = (0..).zip(&values).find(|(i, value)| **value != (prev << 16 | i)) {
            return wrong(&format!("{how} along {team:?}, element {i}"), value);
        }
    }
    Ok(())
}

/// Every PE but PE 1 is late for a split of PEs 1 and 2, so PE 1 is told of PE 2 and of nobody else.
fn one_is_missing(shmem: &Shmem) -> Result<()> {
    let both = shmem.team_split_strided(&shmem.team_world(), 1, 1, 2)?;
    match both {
        Some(both) if both.my_pe() == 0 => match shmem.team_split_strided(&both, 0, 1, 1) {
            Err(Error::Absent { missing, .. }) if missing == [2] => {}
            other => return wrong("a split to which PE 2 does not come", other),
        },
        _ => std::thread::sleep(LATE),
    }
    shmem.barrier_all()
}

fn body(shmem: &Shmem, status: Option<i32>) -> Result<()> {
    let (me, n) = (shmem.my_pe(), shmem.n_pes());
    if n < 3 {
        return wrong("PEs, of which at least 3 are needed", n);
    }
    let teams = splits(shmem)?;
    shmem.barrier_all()?;
    passes_on(shmem, &teams)?;
    for team in teams.into_iter().rev() {
        shmem.team_destroy(team)?;
    }
    one_is_missing(shmem)?;
    if me == 0 {
        println!("teams  {}  {n} PEs  verified yes", shmem.device_name());
    }
    let Some(status) = status else { return Ok(()) };
    let never = shmem.alloc_signals(1)?;
    exit_job::launch(shmem, SHAPE, never.at(0), n - 1, status)?;
    match shmem.barrier_all() {
        Err(error @ Error::GlobalExit { .. }) => Err(error),
        other => wrong("the call after global_exit", other),
    }
}

fn main() -> ExitCode {
    let status = match std::env::args().nth(1).map(|text| text.parse::<i32>()) {
        None => None,
        Some(Ok(status)) => Some(status),
        Some(Err(_)) => {
            eprintln!("teams: the status is a whole number");
            return ExitCode::from(2);
        }
    };
    let run =
        Config::from_env().and_then(|config| config.deadline(DEADLINE).run(|shmem| body(&shmem, status)));
    match run {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("teams: {error}");
            error.exit_status().into()
        }
    }
}
