//! Calls that wait for other PEs, on the host, in a kernel, on a stream and in a graph: what the PEs do in a row of which one
//! does not come.

use super::pe::{call, hold, say, sleep_for_ever};
use super::said::Said;
use super::table::{Row, What};
use crate::kernels::combine::combine;
use crate::kernels::failures::{miss_barrier, wait_for_ever};
use crate::kernels::scope;
use crate::kernels::teams::miss_team;
use oxshmem::{Error, Graph, LaunchConfig, Result, Shmem, Stream, SymVec, Team};
use oxshmem_device::{Cmp, Signal, Sum, Sym};

/// More than the heap has before.
pub(super) const GROWTH: usize = 16 << 20;
const SHAPE: LaunchConfig = LaunchConfig::blocks(2).threads(64);
/// How often a graph is launched.
const REPLAYS: u32 = 3;

/// What waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    TeamBarrier,
    TeamSync,
    TeamSplit,
    TeamDestroy,
    Allocation,
    Free,
    KernelUntil,
    KernelBarrier,
    KernelTeamBarrier,
    KernelReduce,
    StreamUntil,
    StreamReached,
    StreamBarrier,
    StreamSync,
    StreamTeamBarrier,
    StreamReduce,
    Event,
    GraphUntil,
    GraphBarrier,
}

impl Wait {
    /// With the operation that a record of the device names.
    const TABLE: [(Self, &str, Option<&str>); 19] = [
        (Self::TeamBarrier, "in team_barrier", None),
        (Self::TeamSync, "in team_sync", None),
        (Self::TeamSplit, "in team_split_strided", None),
        (Self::TeamDestroy, "in team_destroy", None),
        (Self::Allocation, "in an allocation that grows the heap", None),
        (Self::Free, "in free", None),
        (Self::KernelUntil, "in a kernel's wait_until", Some("wait_until")),
        (Self::KernelBarrier, "in a kernel's barrier_all", Some("barrier_all")),
        (Self::KernelTeamBarrier, "in a kernel's team_barrier", Some("team_barrier")),
        (Self::KernelReduce, "in a kernel's reduce", Some("reduce")),
        (Self::StreamUntil, "in wait_until_on, with a put to it behind", Some("wait_until")),
        (Self::StreamReached, "in wait_reached_on", Some("wait_reached")),
        (Self::StreamBarrier, "in barrier_all_on", Some("barrier_all")),
        (Self::StreamSync, "in sync_all_on", Some("sync_all")),
        (Self::StreamTeamBarrier, "in team_barrier_on", Some("team_barrier")),
        (Self::StreamReduce, "in reduce_on", Some("reduce")),
        (Self::Event, "for an event behind a wait", Some("wait_until")),
        (Self::GraphUntil, "in a graph's wait", Some("wait_until")),
        (Self::GraphBarrier, "in a graph's barrier", Some("barrier_all")),
    ];

    pub(super) fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.into_iter().map(|(wait, ..)| wait)
    }

    fn entry(self) -> (&'static str, Option<&'static str>) {
        let (_, name, operation) = Self::TABLE[self as usize];
        (name, operation)
    }

    /// In words, behind "while the others wait".
    pub(super) fn name(self) -> &'static str {
        self.entry().0
    }

    /// What an expired one leaves as the operation of its record, if it is the device that waits.
    pub(super) fn operation(self) -> Option<&'static str> {
        self.entry().1
    }
}

/// The operations whose records name the PE that did not come.
pub(super) const NAMES_THE_MISSING: [&str; 1] = ["reduce"];

/// What all PEs have made before.
struct Made<'a> {
    shmem: &'a Shmem,
    /// The victim first.
    team: Team,
    stream: Stream,
    never: Sym<Signal>,
    data: SymVec<u32>,
    victim: u32,
}

/// A PE's part.
pub(super) fn body(shmem: &Shmem, row: Row, wait: Wait) -> Result<()> {
    let (me, victim) = (shmem.my_pe(), row.victim);
    let others = (0..shmem.n_pes()).filter(|pe| *pe != victim);
    let pes: Vec<u32> = std::iter::once(victim).chain(others).collect();
    let team = shmem.team_from_pes(&shmem.team_world(), &pes)?;
    let team = team.ok_or_else(|| Error::other("a team of all PEs has left one out"))?;
    let signals = shmem.alloc_signals(1)?;
    let data = shmem.alloc_zeroed::<u32>(1000)?;
    let made = Made { shmem, team, stream: shmem.stream()?, never: signals.at(0), data, victim };
    let graph = made.record(wait)?;
    shmem.barrier_all()?;
    say(&Said::Ready);
    match row.what {
        What::Expires => {
            let expired = match me == victim {
                true => call(shmem.barrier_all()),
                false => call(made.wait(wait, graph.as_ref())),
            };
            let Err(Error::Poisoned(_)) = expired else {
                return expired.and(Err(Error::other("the wait has not expired")));
            };
            // All goes on as before.
            shmem.recover()?;
            shmem.barrier_all()
        }
        What::Panics | What::Fails | What::Exits if me == victim => {
            // Its own work is queued and waits, too.
            shmem.wait_until_on(&made.stream, made.never, Cmp::Ge, 1)?;
            hold();
            match row.what {
                What::Panics => panic!("on purpose"),
                What::Exits => std::process::exit(3),
                _ => Err(Error::other("on purpose")),
            }
        }
        _ => {
            if me == victim {
                sleep_for_ever();
            }
            call(made.wait(wait, graph.as_ref()))
        }
    }
}

impl Made<'_> {
    fn record(&self, wait: Wait) -> Result<Option<Graph>> {
        let Self { shmem, stream, never, .. } = self;
        match wait {
            Wait::GraphUntil => {
                let behind = || {
                    shmem.wait_until_on(stream, *never, Cmp::Ge, 1)?;
                    shmem.put_on(stream, &self.data, &self.data, self.victim)
                };
                stream.capture(behind).map(Some)
            }
            Wait::GraphBarrier => stream.capture(|| shmem.barrier_all_on(stream)).map(Some),
            _ => Ok(None),
        }
    }

    /// The call of those that come.
    fn wait(self, wait: Wait, graph: Option<&Graph>) -> Result<()> {
        let Self { shmem, team, stream, never, data, victim } = self;
        match wait {
            Wait::TeamBarrier => return shmem.team_barrier(&team),
            Wait::TeamSync => return shmem.team_sync(&team),
            Wait::TeamSplit => return shmem.team_split_strided(&team, 0, 1, 2).map(drop),
            Wait::TeamDestroy => return shmem.team_destroy(team),
            Wait::Allocation => return shmem.alloc_zeroed::<u8>(GROWTH).map(drop),
            Wait::Free => return shmem.free(data),
            Wait::KernelUntil => wait_for_ever::launch_on(shmem, &stream, SHAPE, never, scope::GRID, 1)?,
            Wait::KernelBarrier => miss_barrier::launch_on(shmem, &stream, SHAPE, scope::GRID, victim)?,
            Wait::KernelTeamBarrier => miss_team::launch_on(shmem, &stream, SHAPE, &team, 0, 0)?,
            Wait::KernelReduce => combine::launch_on(shmem, &stream, SHAPE, &team, &data)?,
            Wait::StreamUntil => {
                shmem.wait_until_on(&stream, never, Cmp::Ge, 1)?;
                shmem.put_on(&stream, &data, &data, victim)?;
            }
            Wait::StreamReached => shmem.wait_reached_on(&stream, never, 1)?,
            Wait::StreamBarrier => shmem.barrier_all_on(&stream)?,
            Wait::StreamSync => shmem.sync_all_on(&stream)?,
            Wait::StreamTeamBarrier => shmem.team_barrier_on(&stream, &team)?,
            Wait::StreamReduce => shmem.reduce_on(&stream, &team, Sum, &data, &data)?,
            Wait::Event => {
                shmem.wait_until_on(&stream, never, Cmp::Ge, 1)?;
                return stream.record()?.synchronize();
            }
            Wait::GraphUntil | Wait::GraphBarrier => {
                for _ in 0..REPLAYS {
                    graph.map_or(Ok(()), |graph| graph.launch(&stream))?;
                }
            }
        }
        stream.synchronize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_stands_at_its_place_in_the_table() {
        for (number, (wait, ..)) in Wait::TABLE.into_iter().enumerate() {
            assert_eq!(wait as usize, number);
        }
    }
}
