//! Teams: some PEs of the job, under numbers of their own. (OpenSHMEM 1.6, 9.4.)
//!
//! New teams are agreed on by the PEs of their parent alone. Each brings which slots of its table of teams are free, and
//! how many teams it has made or joined; the first slot that is free on all members is the team's, and the greatest of
//! their counts, plus 1, tells it from every other team that its first PE was ever in.
//!
//! | meeting | each brings | afterwards |
//! |---|---|---|
//! | the call | its arguments, its free slots, its count | all know the same, and have the same error or the same new teams |
//! | `formed` | whether the entry could be written | each team is there on all its members, or on none |
//!
//! | file | what it holds |
//! |---|---|
//! | `form.rs` | a PE's table of teams |
//! | `bring.rs` | what the PEs tell each other |
//! | `split.rs` | the calls that make teams |

mod bring;
mod form;
mod split;
#[cfg(test)]
mod tests;

use crate::driver;
use crate::error::{Error, Result};
use crate::formed::Formed;
use crate::group::{TEAM_BARRIER, TEAM_DESTROY as DESTROY, TEAM_SYNC};
use crate::pe::Pe;
use crate::shmem::Shmem;
use bring::Brought;
use oxshmem_device::Team as Handle;
use oxshmem_device::abi::teams;
use oxshmem_device::launch::Arg;
use std::fmt::{self, Formatter};
use std::sync::Arc;

/// A team that this PE belongs to. Passed to a launch, it is the kernel's [`Team`](oxshmem_device::Team).
///
/// ```
/// use oxshmem_device::prelude::*;
///
/// /// Tells the next PE of the team this PE's number in the job.
/// #[nvshmem_kernel]
/// fn greet(shmem: Shmem, team: Team, from: Sym<u32>) {
///     let on_team = shmem.team(team);
///     on_team.thread().p(from, shmem.my_pe(), on_team.next_pe());
/// }
///
/// fn main() -> oxshmem::Result<()> {
///     oxshmem::run_local(4, |shmem| {
///         let from = shmem.alloc_zeroed::<u32>(1)?;
///         // PEs 3 and 1, in this order.
///         let odd = shmem.team_split_strided(&shmem.team_world(), 3, -2, 2)?;
///         if let Some(odd) = odd {
///             greet::launch(&shmem, LaunchConfig::blocks(1).threads(1), &odd, from.at(0))?;
///             assert_eq!(odd.world_pe(odd.my_pe()), Some(shmem.my_pe()));
///             shmem.team_destroy(odd)?;
///         }
///         shmem.barrier_all()?;
///         assert_eq!(from.read()?[0], [0, 3, 0, 1][shmem.my_pe() as usize]);
///         Ok(())
///     })?;
///     Ok(())
/// }
/// ```
///
/// It stays until [`team_destroy`](Shmem::team_destroy), also when this value is dropped: PEs destroy a team together.
pub struct Team {
    pe: Arc<Pe>,
    formed: Arc<Formed>,
}

impl Shmem {
    /// The team of all PEs.
    pub fn team_world(&self) -> Team {
        self.predefined(Handle::WORLD)
    }

    /// The team of the PEs on this host.
    pub fn team_node(&self) -> Team {
        self.predefined(Handle::NODE)
    }

    /// The team of the PEs on this PE's GPU.
    pub fn team_same_gpu(&self) -> Team {
        self.predefined(Handle::SAME_GPU)
    }

    fn predefined(&self, handle: Handle) -> Team {
        let formed = self.pe().lock().teams.slots[handle.slot() as usize].clone();
        // `first_teams` has made it, and none of these is ever destroyed.
        let formed = formed.unwrap_or_else(|| unreachable!("{handle:?} is always there"));
        Team { pe: self.pe().clone(), formed }
    }

    /// Collective over the PEs of `team`; nobody else takes part. Waits until everything that this PE launched is over, and
    /// for the team's other PEs; then there is no such team any more, and a launch with its handle is an error.
    ///
    /// # Errors
    /// [`Error::BadTeam`] for a predefined team, and for another PE's; [`Error::ArgumentsDiffer`] if the PEs pass different
    /// teams of the same PEs; those of [`barrier_all`](Self::barrier_all). The team stays then.
    pub fn team_destroy(&self, team: Team) -> Result<()> {
        team.check_owner(self, DESTROY)?;
        let (pe, formed) = (self.pe(), &team.formed);
        if formed.handle.slot() < u64::from(teams::FIRST_FREE) {
            return Err(team.bad(DESTROY, "which is predefined and lasts as long as the job"));
        }
        let settled = pe.settle();
        let brought = Brought { team: formed.handle.to_bits(), arguments: [0; 3], count: 0, free: 0 };
        bring::meet(pe, (DESTROY, &[]), &formed.pes, brought, settled.err())?;
        pe.dissolve(formed)
    }

    /// Collective over the PEs of `team`; nobody else takes part. As [`barrier_all`](Self::barrier_all), for these PEs.
    ///
    /// # Errors
    /// [`Error::BadTeam`] for another PE's team; [`Error::ArgumentsDiffer`] if the PEs pass different teams of the same PEs;
    /// those of [`barrier_all`](Self::barrier_all).
    #[track_caller]
    pub fn team_barrier(&self, team: &Team) -> Result<()> {
        driver::here();
        self.team_meet(TEAM_BARRIER, team, self.pe().settle().err())
    }

    /// Collective over the PEs of `team`; nobody else takes part. Waits for the team's other PEs to have come here, and for
    /// nothing that anybody has launched.
    ///
    /// # Errors
    /// As [`team_barrier`](Self::team_barrier).
    #[track_caller]
    pub fn team_sync(&self, team: &Team) -> Result<()> {
        driver::here();
        self.team_meet(TEAM_SYNC, team, self.pe().trouble())
    }

    fn team_meet(&self, call: &'static str, team: &Team, trouble: Option<Error>) -> Result<()> {
        team.check_owner(self, call)?;
        let (pe, formed) = (self.pe(), &team.formed);
        let brought = Brought { team: formed.handle.to_bits(), arguments: [0; 3], count: 0, free: 0 };
        bring::meet(pe, (call, &[]), &formed.pes, brought, trouble).map(drop)
    }
}

impl Team {
    /// This PE's number in the team, `0 .. n_pes()`.
    pub fn my_pe(&self) -> u32 {
        self.formed.my_pe
    }

    /// How many PEs the team has.
    pub fn n_pes(&self) -> u32 {
        self.formed.pes.len() as u32
    }

    /// The job's number of the team's PE `pe`, `None` if the team has no such PE.
    pub fn world_pe(&self, pe: u32) -> Option<u32> {
        self.formed.pes.get(pe as usize).copied()
    }

    /// The number that the team's PE `pe` has in the team `other`, `None` if it does not belong to it, or there is no such
    /// PE. (OpenSHMEM 1.6, 9.4, `shmem_team_translate_pe`.)
    pub fn translate(&self, pe: u32, other: &Self) -> Option<u32> {
        let world = self.world_pe(pe)?;
        (0..).zip(&other.formed.pes).find(|(_, pe)| **pe == world).map(|(number, _)| number)
    }

    /// The handle that kernels take. A launch with that of a destroyed team is an error.
    pub fn handle(&self) -> Handle {
        self.formed.handle
    }

    pub(crate) fn check_owner(&self, shmem: &Shmem, by: &str) -> Result<()> {
        match Arc::ptr_eq(&self.pe, shmem.pe()) {
            true => Ok(()),
            false => Err(self.bad(by, "which is another PE's, or another run's: every PE uses its own")),
        }
    }

    fn bad(&self, by: &str, why: &'static str) -> Error {
        Error::BadTeam { by: by.to_owned(), team: format!("{:?}", self.formed.handle), why }
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Formed { handle, pes, my_pe, .. } = &*self.formed;
        write!(f, "{handle:?} of PEs {pes:?}, in which PE {} is {my_pe}", self.pe.me)
    }
}

impl Arg<Handle> for Team {
    fn to_param(&self) -> Handle {
        self.handle()
    }
}

impl Arg<Handle> for &Team {
    fn to_param(&self) -> Handle {
        self.handle()
    }
}
