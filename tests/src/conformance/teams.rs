//! Teams: numbering, translation, operations by a team's numbers, and splits that cannot be.

use super::suite::{Bench, NO_SCOPE, ROOM, TWO_BLOCKS};
use crate::kernels::scope;
use crate::kernels::teams::*;
use oxshmem::{Error, LaunchConfig, Result, Team};

/// One thread.
const ONE: LaunchConfig = LaunchConfig::blocks(1).threads(1);

/// Every rule of this file.
pub(super) fn all(bench: &mut Bench<'_>) -> Result<()> {
    let n = bench.shmem.n_pes();
    let world = bench.shmem.team_world();
    for team in [world, bench.shmem.team_node(), bench.shmem.team_same_gpu()] {
        let expected = (0..team.n_pes()).map_while(|pe| team.world_pe(pe)).collect::<Vec<_>>();
        one_team(bench, "predefined", Some(&team), &expected)?;
    }
    for (name, start, stride, size) in splits(n) {
        let world = bench.shmem.team_world();
        let expected = pes(start, stride, size);
        let team = bench.shmem.team_split_strided(&world, start, stride, size)?;
        one_team(bench, name, team.as_ref(), &expected)?;
        // Every other PE of it, backwards.
        let half = size.div_ceil(2);
        let of_split: Vec<u32> = expected.iter().rev().step_by(2).copied().collect();
        let split = match &team {
            Some(team) => bench.shmem.team_split_strided(team, size - 1, -2, half)?,
            None => None,
        };
        one_team(bench, "a split of a split", split.as_ref(), &of_split)?;
        between(bench, team.as_ref(), split.as_ref(), &expected, &of_split)?;
        for team in [split, team].into_iter().flatten() {
            bench.shmem.team_destroy(team)?;
        }
    }
    grids(bench)?;
    lists(bench)?;
    refused(bench)?;
    slots(bench)
}

/// Teams of the rows and columns of a grid.
fn grids(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let (n, me) = (shmem.n_pes(), shmem.my_pe());
    for x_range in [1, 2, 3, n, n + 1] {
        let (row, column) = shmem.team_split_2d(&shmem.team_world(), x_range)?;
        let first = me / x_range * x_range;
        let of_row: Vec<u32> = (first..n.min(first + x_range)).collect();
        let of_column: Vec<u32> = (me % x_range..n).step_by(x_range as usize).collect();
        // Each PE its own team: what they do together is the same for all.
        one_team(bench, "a row", Some(&row), &of_row)?;
        one_team(bench, "a column", Some(&column), &of_column)?;
        shmem.team_destroy(column)?;
        shmem.team_destroy(row)?;
    }
    let refused = shmem.team_split_2d(&shmem.team_world(), 0);
    if !matches!(refused, Err(Error::BadSplit { call: "team_split_2d", .. })) {
        bench.report.fail(format!("an x_range of 0 gave {refused:?}"));
    }
    Ok(())
}

/// Teams of PEs in any order.
fn lists(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let n = shmem.n_pes();
    let mut lists = vec![vec![0], vec![n - 1, 0], (0..n).rev().collect()];
    if n > 3 {
        lists.push(vec![2, 0, 3]);
    }
    for pes in lists {
        // With one PE the second names it twice.
        if n == 1 && pes.len() > 1 {
            let refused = shmem.team_from_pes(&shmem.team_world(), &pes);
            if !matches!(refused, Err(Error::BadSplit { call: "team_from_pes", .. })) {
                bench.report.fail(format!("{pes:?} gave {refused:?}"));
            }
            continue;
        }
        let team = shmem.team_from_pes(&shmem.team_world(), &pes)?;
        one_team(bench, "a list", team.as_ref(), &pes)?;
        if let Some(team) = team {
            shmem.team_destroy(team)?;
        }
    }
    Ok(())
}

/// Splits of `n` PEs: name, start, stride, size.
fn splits(n: u32) -> Vec<(&'static str, u32, i32, u32)> {
    let mut splits = vec![("all", 0, 1, n), ("backwards", n - 1, -1, n), ("the last alone", n - 1, 0, 1)];
    if n > 2 {
        splits.push(("odd", 1, 2, n / 2));
        splits.push(("every third, backwards", n - 1, -3, n.div_ceil(3)));
    }
    splits
}

fn pes(start: u32, stride: i32, size: u32) -> Vec<u32> {
    (0..size as i32).map(|i| (start as i32 + i * stride) as u32).collect()
}

/// The rules of a team of `pes`; `None` on a PE that is not one of them.
fn one_team(bench: &Bench<'_>, name: &str, team: Option<&Team>, pes: &[u32]) -> Result<()> {
    let me = bench.shmem.my_pe();
    let mine = pes.iter().position(|pe| *pe == me);
    let held = team.map(|team| (0..team.n_pes()).map_while(|pe| team.world_pe(pe)).collect::<Vec<_>>());
    if held.as_deref() != mine.map(|_| pes) || team.map(|team| team.my_pe() as usize) != mine {
        bench.report.fail(format!("{name} of {pes:?}: on PE {me} the host has {team:?}"));
    }
    let out = bench.shmem.alloc_zeroed::<u32>(6 + 2 * bench.shmem.n_pes() as usize)?;
    let world = bench.shmem.team_world();
    let n = pes.len() as u32;
    bench.row(
        "a kernel finds the numbers of a team, and the job's",
        || format!("{name}, {pes:?}"),
        || team_numbers::launch(bench.shmem, ONE, team, &world, &out),
        || out.read(),
        |i| match (mine, i) {
            (None, _) => 0,
            (Some(mine), 0) => mine as u32,
            (_, 1) => n,
            (Some(mine), 2) => (mine as u32 + 1) % n,
            (Some(mine), 3) => (mine as u32 + n - 1) % n,
            (_, i) => match ((i - 4) / 2).cmp(&pes.len()) {
                // In WORLD a PE has the job's number.
                std::cmp::Ordering::Less => pes[(i - 4) / 2],
                std::cmp::Ordering::Equal => NO_PE,
                std::cmp::Ordering::Greater => 0,
            },
        },
    )?;
    bench.shmem.free(out)?;
    moving(bench, name, team, pes)?;
    signalling(bench, name, team, pes)?;
    meeting(bench, name, team, pes)
}

/// A team's barriers order what its PEs did, on each of its channels.
fn meeting(bench: &Bench<'_>, name: &str, team: Option<&Team>, pes: &[u32]) -> Result<()> {
    const ROUNDS: u32 = 3;
    const LEN: usize = 65;
    let shmem = bench.shmem;
    let (words, src) = (shmem.alloc_zeroed::<u32>(LEN)?, shmem.alloc_zeroed::<u32>(LEN)?);
    let seen = shmem.alloc_zeroed::<u32>(LEN)?;
    let mine = pes.iter().position(|pe| *pe == shmem.my_pe());
    let at = |by: usize| mine.map(|mine| pes[(mine + by) % pes.len()]);
    let (next, prev) = (at(1), at(pes.len() - 1));
    for (number, scope_name) in bench.scopes() {
        seen.fill(0)?;
        let channel = number % 4;
        bench.row(
            "team_barrier and team_sync make what the team's PEs did visible",
            || format!("{name}, {pes:?}, {scope_name} scope, channel {channel}"),
            || team_meets::launch(shmem, TWO_BLOCKS, team, &words, &seen, &src, ROUNDS, channel, number),
            || seen.read(),
            |i| match (next, prev) {
                (Some(next), Some(prev)) => {
                    (0..ROUNDS).map(|round| 1000 * prev + 10 * round + i as u32 + 7 * next + round).sum()
                }
                _ => 0,
            },
        )?;
    }
    let counts = shmem.alloc_zeroed::<u32>(4)?;
    bench.row(
        "a team's channels are in barriers at once",
        || format!("{name}, {pes:?}"),
        || {
            let four = LaunchConfig::blocks(4).threads(32);
            two_channels::launch(shmem, four, team, &counts, 10)
        },
        || counts.read(),
        |_| if mine.is_some() { 10 } else { 0 },
    )?;
    for vector in [words, src, seen, counts] {
        shmem.free(vector)?;
    }
    Ok(())
}

/// Data, signals and atomics go where the team's numbers say.
fn moving(bench: &Bench<'_>, name: &str, team: Option<&Team>, pes: &[u32]) -> Result<()> {
    let shmem = bench.shmem;
    let (src, dst, back) = (bench.symmetric::<u32>()?, bench.symmetric::<u32>()?, bench.symmetric::<u32>()?);
    let (count, marks) = (
        shmem.alloc_atomics::<u32>(1, oxshmem::Reach::World)?,
        shmem.alloc_zeroed::<u32>(shmem.n_pes() as usize)?,
    );
    let mine = pes.iter().position(|pe| *pe == shmem.my_pe());
    let prev = mine.map(|mine| pes[(mine + pes.len() - 1) % pes.len()]);
    bench.reset_signals()?;
    for (number, scope_name) in bench.scopes() {
        let round = 1 + u64::from(number);
        let value = |pe: u32, i: usize| pe << 20 ^ (i as u32) << 4 ^ round as u32;
        src.write(&(0..ROOM).map(|i| value(shmem.my_pe(), i)).collect::<Vec<_>>())?;
        for vector in [&dst, &back, &marks] {
            vector.fill(0)?;
        }
        bench.row(
            "put, get, signal, p and atomics take a team's numbers",
            || format!("{name}, {pes:?}, {scope_name} scope"),
            || {
                let ready = bench.signals.at(0);
                ring::launch(
                    shmem,
                    TWO_BLOCKS,
                    team,
                    &dst,
                    &src,
                    &back,
                    ready,
                    count.at(0),
                    &marks,
                    number,
                    round,
                )
            },
            || Ok([dst.read()?, back.read()?, marks.read()?, count.values()?].concat()),
            |i| {
                let leads = mine == Some(0);
                match (prev, i / ROOM) {
                    (Some(prev), 0 | 1) => value(prev, i % ROOM),
                    (_, 0 | 1) => 0,
                    (_, _) if i == 2 * ROOM + marks.len() => {
                        if leads {
                            pes.len() as u32 * round_of(number)
                        } else {
                            0
                        }
                    }
                    _ => {
                        let at = i - 2 * ROOM;
                        if leads && at < pes.len() { 1 + at as u32 } else { 0 }
                    }
                }
            },
        )?;
    }
    for vector in [src, dst, back, marks] {
        shmem.free(vector)?;
    }
    shmem.free(count)
}

/// How many rounds `moving` has made when it comes to a scope.
fn round_of(number: u32) -> u32 {
    1 + scope::ALL.iter().position(|(of, _)| *of == number).unwrap_or(0) as u32
}

fn signalling(bench: &Bench<'_>, name: &str, team: Option<&Team>, pes: &[u32]) -> Result<()> {
    let mine = pes.contains(&bench.shmem.my_pe());
    for (number, scope_name) in bench.scopes() {
        bench.reset_signals()?;
        bench.row(
            "a signal reaches every PE of a team and no other, and barrier_all is over all PEs",
            || format!("{name}, {pes:?}, {scope_name} scope"),
            || all_to_all::launch(bench.shmem, TWO_BLOCKS, team, bench.signals.at(1), number),
            || bench.signals.values(),
            |i| if i == 1 && mine { pes.len() as u64 } else { 0 },
        )?;
    }
    bench.reset_signals()
}

/// Translation between two teams, neither of which is WORLD; by the kernel and by the host alike.
fn between(
    bench: &Bench<'_>,
    one: Option<&Team>,
    other: Option<&Team>,
    pes: &[u32],
    others: &[u32],
) -> Result<()> {
    let out = bench.shmem.alloc_zeroed::<u32>(6 + 2 * bench.shmem.n_pes() as usize)?;
    let both = one.zip(other);
    let translated = |pe: usize| {
        let number = pes.get(pe).and_then(|pe| others.iter().position(|of| of == pe));
        number.map_or(NO_PE, |number| number as u32)
    };
    bench.row(
        "a PE's number in one team gives that in another",
        || format!("{pes:?} in {others:?}"),
        || team_numbers::launch(bench.shmem, ONE, one, other, &out),
        || Ok(out.read()?.into_iter().skip(5).step_by(2).take(pes.len()).collect()),
        |pe| match (one, other) {
            (None, _) => 0,
            (_, None) => NO_PE,
            _ => translated(pe),
        },
    )?;
    bench.shmem.free(out)?;
    let Some((one, other)) = both else { return Ok(()) };
    for pe in 0..=one.n_pes() {
        let host = one.translate(pe, other).unwrap_or(NO_PE);
        if host != translated(pe as usize) {
            bench.report.fail(format!("the host translates {pe} of {one:?} into {host} of {other:?}"));
        }
    }
    Ok(())
}

/// Splits that cannot be are the same error on every PE, and the next call works.
fn refused(bench: &Bench<'_>) -> Result<()> {
    let (shmem, n) = (bench.shmem, bench.shmem.n_pes());
    let world = shmem.team_world();
    let complain = |what: &str, found: String| {
        bench.report.fail(format!("{what}, PE {} of {n}: {found}", shmem.my_pe()));
    };
    for (start, stride, size) in [(0, 1, n + 1), (n, 1, 1), (0, 1, 0), (0, -1, 2), (0, i32::MAX, 2)] {
        match shmem.team_split_strided(&world, start, stride, size) {
            Err(Error::TeamRange { n_pes, .. }) if n_pes == n => {}
            other => complain("a split beyond its parent", format!("{other:?}")),
        }
    }
    if n > 1 {
        let size = if shmem.my_pe() == n - 1 { 1 } else { n };
        match shmem.team_split_strided(&world, 0, 1, size) {
            Err(Error::ArgumentsDiffer { what: "size", one, other, .. })
                if one == (0, n.to_string()) && other == (n - 1, "1".to_owned()) => {}
            other => complain("a split with other arguments on one PE", format!("{other:?}")),
        }
    }
    match shmem.team_destroy(shmem.team_node()) {
        Err(Error::BadTeam { .. }) => {}
        other => complain("a predefined team destroyed", format!("{other:?}")),
    }
    let team = shmem.team_split_strided(&world, 0, 1, n)?;
    let Some(team) = team else { return Err(Error::other("a team of all PEs has all PEs")) };
    let stale = team.handle();
    shmem.team_destroy(team)?;
    let again = shmem.team_split_strided(&world, 0, 1, n)?;
    let out = shmem.alloc_zeroed::<u32>(6 + 2 * n as usize)?;
    match team_numbers::launch(shmem, ONE, stale, &world, &out) {
        Err(Error::BadTeam { by, .. }) if by.contains("team_numbers: parameter 0") => {}
        other => complain("a launch with a destroyed team, whose slot another has", format!("{other:?}")),
    }
    if let Some(again) = again {
        team_numbers::launch(shmem, ONE, &again, &world, &out)?;
        shmem.team_destroy(again)?;
    }
    shmem.free(out)?;
    if shmem.my_pe() == 0 {
        bench.report.check("a team that cannot be, or is no more, is a typed error", NO_SCOPE);
    }
    Ok(())
}

/// All slots, then one more; and they can be used again.
fn slots(bench: &Bench<'_>) -> Result<()> {
    let shmem = bench.shmem;
    let world = shmem.team_world();
    let last = shmem.n_pes() - 1;
    for _ in 0..2 {
        let mut teams = Vec::new();
        let full = loop {
            // The last PE alone runs out of slots; the others take part in the splits and have none of the teams.
            match shmem.team_split_strided(&world, last, 1, 1) {
                Ok(team) => teams.push(team),
                Err(error) => break error,
            }
        };
        if !matches!(full, Error::TooManyTeams { limit: 60 }) || teams.len() != 60 {
            bench.report.fail(format!("PE {}: after {} teams: {full}", shmem.my_pe(), teams.len()));
        }
        teams.into_iter().flatten().try_for_each(|team| shmem.team_destroy(team))?;
    }
    if shmem.my_pe() == 0 {
        bench.report.check("slots of teams run out as a typed error, and are used again", NO_SCOPE);
    }
    Ok(())
}
