//! What a launch or an operation names, looked up among what this PE has: symmetric and local memory, teams.

use crate::alloc::Allocation;
use crate::error::Error;
use crate::formed::Teams;
use crate::state::{Kept, Local, State};
use oxshmem_device::Team;
use oxshmem_device::launch::Named;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a PE has that can be named.
#[derive(Clone, Copy)]
pub(crate) struct Live<'a> {
    pub(crate) symmetric: &'a BTreeMap<u64, Arc<Allocation>>,
    pub(crate) local: &'a BTreeMap<u64, Local>,
    pub(crate) teams: &'a Teams,
}

/// A name of something that is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wrong {
    Memory { memory: &'static str, start: u64, bytes: u64, why: &'static str },
    Team(Team),
}

impl<'a> Live<'a> {
    pub(crate) fn of(state: &'a State) -> Self {
        Self { symmetric: &state.symmetric, local: &state.local, teams: &state.teams }
    }

    /// Whether it is there.
    pub(crate) fn check(&self, named: Named) -> Result<(), Wrong> {
        let wrong = |memory, start, bytes, why| Err(Wrong::Memory { memory, start, bytes, why });
        match named {
            Named::Nothing => Ok(()),
            Named::Symmetric { offset: u64::MAX, bytes, .. } => wrong(
                "the symmetric heap",
                u64::MAX,
                bytes,
                "given to `at` or `slice`: check it against the vector's length",
            ),
            Named::Symmetric { bytes: 0, .. } | Named::Local { bytes: 0, .. } => Ok(()),
            Named::Symmetric { offset, bytes, tag } => {
                let before = self.symmetric.range(..=offset).next_back();
                match before.filter(|(start, of)| of.tag == tag && inside(**start, of.bytes, offset, bytes)) {
                    Some(_) => Ok(()),
                    None => wrong(
                        "the symmetric heap",
                        offset,
                        bytes,
                        "which no live allocation of this PE holds: its vector was dropped or freed, or it is from another run",
                    ),
                }
            }
            Named::Team { team } if self.teams.is_live(team) => Ok(()),
            Named::Team { team } => Err(Wrong::Team(team)),
            Named::Local { address, bytes } => {
                let before = self.local.range(..=address).next_back();
                match before.filter(|(start, of)| inside(**start, of.bytes, address, bytes)) {
                    Some(_) => Ok(()),
                    None => Err(no_vector(address, bytes)),
                }
            }
        }
    }

    /// The number of the allocation that holds this local memory, if it is some.
    pub(crate) fn local_number(&self, named: Named) -> Option<u64> {
        match named {
            Named::Local { address, bytes: 1.. } => {
                self.local.range(..=address).next_back().map(|(_, of)| of.number)
            }
            _ => None,
        }
    }

    /// Whether what a graph has kept is still there, and no other allocation in its place.
    pub(crate) fn check_kept(&self, kept: &Kept) -> Result<(), Error> {
        let there = self.check(kept.named).and_then(|()| match kept.named {
            Named::Local { address, bytes } if self.local_number(kept.named) != kept.local => {
                Err(no_vector(address, bytes))
            }
            _ => Ok(()),
        });
        there.map_err(|wrong| wrong.into_error(kept.by, kept.parameter))
    }
}

/// What is wrong with local memory that is not there.
fn no_vector(start: u64, bytes: u64) -> Wrong {
    let why = "which no live DeviceVec or registered memory of this PE holds: it was dropped, or belongs to another PE";
    Wrong::Memory { memory: "local device memory", start, bytes, why }
}

impl Wrong {
    /// The error of a kernel or operation that was given it as its parameter of this number, from 0.
    pub(crate) fn into_error(self, by: &'static str, parameter: u32) -> Error {
        match self {
            Self::Memory { memory, start, bytes, why } => {
                Error::BadHandle { kernel: by, parameter, memory, start, bytes, why }
            }
            Self::Team(team) => Error::BadTeam {
                by: format!("{by}: parameter {parameter}"),
                team: format!("{team:?}"),
                why: "which is no live team of this PE: it was destroyed, or this PE does not belong to it",
            },
        }
    }
}

/// Whether `bytes` from `at` on lie in `of` bytes from `start` on; `start <= at`.
fn inside(start: u64, of: u64, at: u64, bytes: u64) -> bool {
    let offset = at - start;
    offset <= of && bytes <= of - offset
}
