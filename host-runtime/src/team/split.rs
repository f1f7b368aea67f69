//! The calls that make teams. Each makes of a parent's PEs parts that have none in common; each PE is in one of them at most.

use super::bring::{self, Brought};
use super::{Formed, Team};
use crate::error::{Error, Result};
use crate::shmem::Shmem;
use oxshmem_device::Team as Handle;
use oxshmem_device::abi::teams;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A call that makes teams, with its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Split<'a> {
    /// So many PEs from one on, by a stride.
    Strided { start: u32, stride: i32, size: u32 },
    /// The rows of a grid that is so wide.
    Rows { x_range: u32 },
    /// Its columns.
    Columns { x_range: u32 },
    /// These PEs, in this order.
    List(&'a [u32]),
}

impl Split<'_> {
    /// Its name, and those of its arguments.
    pub(super) fn call(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Strided { .. } => ("team_split_strided", &["start", "stride", "size"]),
            Self::Rows { .. } | Self::Columns { .. } => ("team_split_2d", &["x_range"]),
            Self::List(_) => ("team_from_pes", &["the number of PEs", "the list of PEs (by its digest)"]),
        }
    }

    /// What the call is named when its teams are made.
    fn formed(self) -> &'static str {
        match self {
            Self::Strided { .. } => "team_split_strided, when the team is made",
            Self::Rows { .. } => "team_split_2d, when the teams of the rows are made",
            Self::Columns { .. } => "team_split_2d, when the teams of the columns are made",
            Self::List(_) => "team_from_pes, when the team is made",
        }
    }

    fn arguments(self) -> [i64; 3] {
        match self {
            Self::Strided { start, stride, size } => [start.into(), stride.into(), size.into()],
            Self::Rows { x_range } | Self::Columns { x_range } => [x_range.into(), 0, 0],
            Self::List(pes) => {
                let digest = Sha256::digest(bytemuck::cast_slice::<u32, u8>(pes));
                let first = digest.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
                [pes.len() as i64, first, 0]
            }
        }
    }

    /// The parts, by the PEs' numbers in a parent of `n_pes`.
    pub(super) fn parts(self, n_pes: u32) -> Result<Vec<Vec<u32>>> {
        let bad = |what: String| Error::BadSplit { call: self.call().0, n_pes, what };
        match self {
            Self::Strided { start, stride, size } => Ok(vec![strided(start, stride, size, n_pes)?]),
            Self::Rows { x_range: 0 } | Self::Columns { x_range: 0 } => {
                Err(bad("a grid is at least one PE wide, and x_range is 0".into()))
            }
            Self::Rows { x_range } => {
                let rows = (0..n_pes).step_by(x_range as usize);
                Ok(rows.map(|first| (first..first.saturating_add(x_range).min(n_pes)).collect()).collect())
            }
            Self::Columns { x_range } => {
                let columns = 0..x_range.min(n_pes);
                Ok(columns.map(|first| (first..n_pes).step_by(x_range as usize).collect()).collect())
            }
            Self::List([]) => Err(bad("a team has at least one PE, and none was named".into())),
            Self::List(pes) => {
                let mut seen = vec![false; n_pes as usize];
                for &pe in pes {
                    match seen.get_mut(pe as usize) {
                        None => {
                            return Err(bad(format!("it has no PE {pe}: its PEs are 0 to {}", n_pes - 1)));
                        }
                        Some(true) => return Err(bad(format!("PE {pe} was named twice"))),
                        Some(new) => *new = true,
                    }
                }
                Ok(vec![pes.to_vec()])
            }
        }
    }
}

impl Shmem {
    /// Collective over the PEs of `parent`; nobody else takes part. Makes a team of `size` of them: those with the numbers
    /// `start`, `start + stride`, … in `parent`, which are 0, 1, … in the new one. `stride` may be negative, and is 0
    /// at most if `size` is 1. Returns `None` on the PEs that do not belong to it. It waits for no kernel.
    ///
    /// (OpenSHMEM 1.6, 9.4, `shmem_team_split_strided`.)
    ///
    /// # Errors
    /// The same on all PEs of `parent`: [`Error::ArgumentsDiffer`] if they do not pass the same, [`Error::TeamRange`] if
    /// `parent` has not got the PEs, [`Error::TooManyTeams`] if there is no room; and if one of them does not come, or
    /// something has failed, as for [`barrier_all`](Self::barrier_all). There is no new team then.
    /// [`Error::BadTeam`] on a PE that passes another PE's `parent`.
    pub fn team_split_strided(
        &self,
        parent: &Team,
        start: u32,
        stride: i32,
        size: u32,
    ) -> Result<Option<Team>> {
        self.split(parent, Split::Strided { start, stride, size })
    }

    /// Collective over the PEs of `parent`; nobody else takes part. Lays them out in rows of `x_range`, PE `i` in row
    /// `i / x_range` and column `i % x_range`, and makes a team of each row and of each column: returned are this PE's, the
    /// row's first. The last row may be shorter. An `x_range` above the number of PEs makes one row. It waits for no kernel.
    ///
    /// (OpenSHMEM 1.6, 9.4, `shmem_team_split_2d`: the x-axis team and the y-axis team.)
    ///
    /// # Errors
    /// [`Error::BadSplit`] for an `x_range` of 0; else as [`team_split_strided`](Self::team_split_strided), and there is no
    /// new team then.
    pub fn team_split_2d(&self, parent: &Team, x_range: u32) -> Result<(Team, Team)> {
        let nowhere = || Error::other("a grid of all PEs has left one out");
        let row = self.split(parent, Split::Rows { x_range })?.ok_or_else(nowhere)?;
        match self.split(parent, Split::Columns { x_range }) {
            Ok(column) => Ok((row, column.ok_or_else(nowhere)?)),
            // All PEs have the same error, so no row stays anywhere.
            Err(error) => self.pe().dissolve(&row.formed).and(Err(error)),
        }
    }

    /// Collective over the PEs of `parent`; nobody else takes part. Makes a team of the PEs with these numbers in `parent`,
    /// in this order; all PEs of `parent` pass the same list. Returns `None` on those that are not in it. It waits for no
    /// kernel.
    ///
    /// Where the PEs are evenly spaced in the job it is a team as any other; else an operation of a kernel looks a PE's number up
    /// in a list of them.
    ///
    /// # Errors
    /// [`Error::BadSplit`] if no PE is named, one twice, or one that `parent` has not got; else as
    /// [`team_split_strided`](Self::team_split_strided).
    pub fn team_from_pes(&self, parent: &Team, pes: &[u32]) -> Result<Option<Team>> {
        self.split(parent, Split::List(pes))
    }

    fn split(&self, parent: &Team, split: Split<'_>) -> Result<Option<Team>> {
        let call = split.call();
        parent.check_owner(self, call.0)?;
        let (pe, members) = (self.pe(), &parent.formed.pes);
        let brought = {
            let teams = &pe.lock().teams;
            let (count, free) = (teams.count, teams.free());
            Brought { team: parent.formed.handle.to_bits(), arguments: split.arguments(), count, free }
        };
        let all = bring::meet(pe, call, members, brought, pe.trouble())?;
        let mut own: Option<(Handle, Vec<u32>, u32)> = None;
        for part in split.parts(parent.n_pes())? {
            let of_part = |pe: &u32| all[*pe as usize];
            let free = part.iter().map(of_part).fold(u64::MAX, |free, one| free & one.free);
            if free == 0 {
                return Err(Error::TooManyTeams { limit: teams::SLOTS - teams::FIRST_FREE });
            }
            let count = 1 + part.iter().map(of_part).map(|one| one.count).max().unwrap_or(0);
            let pes: Vec<u32> = part.iter().map(|pe| members[*pe as usize]).collect();
            if pes.contains(&pe.me) {
                let handle = Handle::from_parts(free.trailing_zeros(), pes[0], pe.job.team_tag, count);
                own = Some((handle, pes, count));
            }
        }
        let formed: Result<Option<Arc<Formed>>> = match own {
            None => Ok(None),
            Some((handle, pes, count)) => {
                pe.lock().teams.count = count;
                pe.form(handle, pes)
            }
        };
        let met = pe.meet_team(split.formed(), members, Vec::new(), formed.as_ref().err().cloned());
        match (formed, met) {
            (Ok(formed), Ok(_)) => Ok(formed.map(|formed| Team { pe: pe.clone(), formed })),
            (Ok(Some(formed)), Err(error)) => pe.dissolve(&formed).and(Err(error)),
            (Ok(None), Err(error)) | (Err(error), _) => Err(error),
        }
    }
}

/// The PEs of a split, by their numbers in a parent of `n_pes`.
pub(super) fn strided(start: u32, stride: i32, size: u32, n_pes: u32) -> Result<Vec<u32>> {
    let number = |i: u32| i64::from(start) + i64::from(stride) * i64::from(i);
    let inside = |i: u32| (0..i64::from(n_pes)).contains(&number(i));
    // Evenly spaced, so the others lie between the first and the last.
    let right = (1..=n_pes).contains(&size) && (stride != 0 || size == 1) && inside(0) && inside(size - 1);
    if !right {
        return Err(Error::TeamRange { start, stride, size, n_pes });
    }
    Ok((0..size).map(|i| number(i) as u32).collect())
}
