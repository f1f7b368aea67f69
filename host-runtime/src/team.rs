//! Teams: some PEs of the job, under numbers of their own. (OpenSHMEM 1.6, 9.4.)
//!
//! A new team is agreed on by the PEs of its parent alone. Each brings which slots of its table of teams are free, and
//! how many teams it has made or joined; the first slot that is free on all members is the team's, and the greatest of
//! their counts, plus 1, tells it from every other team that its first PE was ever in.
//!
//! | meeting | each brings | afterwards |
//! |---|---|---|
//! | the call | its arguments, its free slots, its count | all know the same, and have the same error or the same new team |
//! | `formed` | whether the entry could be written | the team is there on all members, or on none |

use crate::error::{Error, Result};
use crate::formed::Formed;
use crate::pe::Pe;
use crate::shmem::Shmem;
use oxshmem_device::Team as Handle;
use oxshmem_device::abi::{TeamAbi, teams};
use oxshmem_device::launch::Arg;
use std::fmt::{self, Formatter};
use std::sync::Arc;

const SPLIT: &str = "team_split_strided";
const FORMED: &str = "team_split_strided, when the team is made";
const DESTROY: &str = "team_destroy";

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

/// What a PE brings to a call over a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Brought {
    /// The team.
    team: u64,
    start: u32,
    stride: i32,
    size: u32,
    count: u32,
    free: u64,
}

impl Brought {
    fn to_words(self) -> [u64; 4] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let stride = self.stride.cast_unsigned();
        [self.team, pair(self.start, stride), pair(self.size, self.count), self.free]
    }

    fn of([team, place, size, free]: [u64; 4]) -> Self {
        let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
        let (start, stride) = (low(place), high(place).cast_signed());
        Self { team, start, stride, size: low(size), count: high(size), free }
    }
}

impl Pe {
    /// Writes the table of teams, with those that are always there.
    pub(crate) fn first_teams(&self) -> Result<()> {
        self.lock().teams.slots.resize_with(teams::SLOTS as usize, || None);
        let empty = entry_bytes(teams::EMPTY).repeat(teams::SLOTS as usize);
        // SAFETY: the table, which nothing knows yet.
        unsafe { self.copies.write(self.tables, &empty)? };
        let job = &self.job;
        let gpu = job.gpu_of_pe[self.me as usize];
        let same_gpu = (0..job.n_pes).filter(|pe| job.gpu_of_pe[*pe as usize] == gpu);
        // All processes of a job are on one host.
        let node = (0..job.n_pes).collect();
        for (handle, pes) in [
            (Handle::WORLD, (0..job.n_pes).collect()),
            (Handle::NODE, node),
            (Handle::SAME_GPU, same_gpu.collect()),
        ] {
            self.form(handle, pes)?;
        }
        Ok(())
    }

    fn write_entry(&self, slot: u32, entry: TeamAbi) -> Result<()> {
        let at = self.tables + u64::from(slot) * size_of::<TeamAbi>() as u64;
        // SAFETY: an entry of the table, which no kernel that runs may name.
        unsafe { self.copies.write(at, &entry_bytes(entry)) }
    }

    /// Makes a team, if this PE is one of `pes`, in the slot that its handle names.
    fn form(&self, handle: Handle, pes: Vec<u32>) -> Result<Option<Arc<Formed>>> {
        let Some(my_pe) = (0..).zip(&pes).find(|(_, pe)| **pe == self.me).map(|(my_pe, _)| my_pe) else {
            return Ok(None);
        };
        let (start, stride, list) = match spacing(&pes) {
            Some(stride) => (pes[0], stride, 0),
            None => (0, 1, self.write_list(&pes)?),
        };
        let n_pes = pes.len() as u32;
        let entry = TeamAbi { my_pe, n_pes, start, stride, list, handle: handle.to_bits() };
        let formed = Arc::new(Formed { handle, pes, my_pe, list });
        // Before the entry, so that the list is given back whatever becomes of that.
        self.lock().teams.slots[handle.slot() as usize] = Some(formed.clone());
        self.write_entry(handle.slot() as u32, entry).inspect_err(|_| self.forget(&formed))?;
        Ok(Some(formed))
    }

    fn write_list(&self, pes: &[u32]) -> Result<u64> {
        let bytes: &[u8] = bytemuck::cast_slice(pes);
        let list = self.copies.allocate(bytes.len() as u64)?;
        // SAFETY: just allocated with this size; given back here if it stays unknown.
        let written = unsafe { self.copies.write(list, bytes) };
        written.inspect_err(|_| self.retire(list))?;
        Ok(list)
    }

    /// Takes a team away, which no kernel uses any more.
    fn dissolve(&self, formed: &Formed) -> Result<()> {
        self.forget(formed);
        self.write_entry(formed.handle.slot() as u32, teams::EMPTY)
    }

    fn forget(&self, formed: &Formed) {
        {
            let mut state = self.lock();
            state.drops += 1;
            state.teams.slots[formed.handle.slot() as usize] = None;
        }
        if formed.list != 0 {
            self.retire(formed.list);
        }
    }
}

fn entry_bytes(entry: TeamAbi) -> [u8; size_of::<TeamAbi>()] {
    // SAFETY: integers without padding.
    unsafe { std::mem::transmute(entry) }
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
        parent.check_owner(self, SPLIT)?;
        let (pe, members) = (self.pe(), &parent.formed.pes);
        let brought = {
            let teams = &pe.lock().teams;
            let (count, free) = (teams.count, teams.free());
            Brought { team: parent.formed.handle.to_bits(), start, stride, size, count, free }
        };
        let all = self.bring(SPLIT, members, brought, pe.trouble())?;
        let chosen = chosen(start, stride, size, parent.n_pes())?;
        let of_chosen = |pe: &u32| all[*pe as usize];
        let free = chosen.iter().map(of_chosen).fold(u64::MAX, |free, one| free & one.free);
        if free == 0 {
            return Err(Error::TooManyTeams { limit: teams::SLOTS - teams::FIRST_FREE });
        }
        let count = 1 + chosen.iter().map(of_chosen).map(|one| one.count).max().unwrap_or(0);
        let pes: Vec<u32> = chosen.iter().map(|pe| members[*pe as usize]).collect();
        let handle = Handle::from_parts(free.trailing_zeros(), pes[0], pe.job.team_tag, count);
        if pes.contains(&pe.me) {
            pe.lock().teams.count = count;
        }
        let formed = pe.form(handle, pes);
        let met = pe.meet_team(FORMED, members, Vec::new(), formed.as_ref().err().cloned());
        match (formed, met) {
            (Ok(formed), Ok(_)) => Ok(formed.map(|formed| Team { pe: pe.clone(), formed })),
            (Ok(Some(formed)), Err(error)) => pe.dissolve(&formed).and(Err(error)),
            (Ok(None), Err(error)) | (Err(error), _) => Err(error),
        }
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
        let brought =
            Brought { team: formed.handle.to_bits(), start: 0, stride: 0, size: 0, count: 0, free: 0 };
        self.bring(DESTROY, &formed.pes, brought, settled.err())?;
        pe.dissolve(formed)
    }

    /// Comes to a call over a team; what all of them have brought, which agrees in all that must.
    fn bring(
        &self,
        call: &'static str,
        members: &[u32],
        brought: Brought,
        trouble: Option<Error>,
    ) -> Result<Vec<Brought>> {
        let data = bytemuck::bytes_of(&brought.to_words()).to_vec();
        let agreed = self.pe().meet_team(call, members, data, trouble)?;
        let words = agreed.gathered.iter().map(|of_pe| bytemuck::try_pod_read_unaligned(of_pe));
        let all: Vec<[u64; 4]> = words.collect::<Result<_, _>>().map_err(|e| Error::other(e.to_string()))?;
        let all: Vec<Brought> = all.into_iter().map(Brought::of).collect();
        differing(call, members, &all).map_or(Ok(all), Err)
    }
}

/// The error of PEs that do not pass the same.
fn differing(call: &'static str, members: &[u32], all: &[Brought]) -> Option<Error> {
    type Shown = fn(&Brought) -> String;
    let arguments: [(&str, Shown); 4] = [
        ("the team", |one| format!("{:?}", Handle::from_bits(one.team))),
        ("start", |one| one.start.to_string()),
        ("stride", |one| one.stride.to_string()),
        ("size", |one| one.size.to_string()),
    ];
    arguments.into_iter().find_map(|(what, shown)| {
        let first = shown(all.first()?);
        let (pe, other) = members.iter().zip(all).find(|(_, one)| shown(one) != first)?;
        Some(Error::ArgumentsDiffer { call, what, one: (members[0], first), other: (*pe, shown(other)) })
    })
}

/// The PEs of a split, by their numbers in a parent of `n_pes`.
fn chosen(start: u32, stride: i32, size: u32, n_pes: u32) -> Result<Vec<u32>> {
    let number = |i: u32| i64::from(start) + i64::from(stride) * i64::from(i);
    let inside = |i: u32| (0..i64::from(n_pes)).contains(&number(i));
    // Evenly spaced, so the others lie between the first and the last.
    let right = (1..=n_pes).contains(&size) && (stride != 0 || size == 1) && inside(0) && inside(size - 1);
    if !right {
        return Err(Error::TeamRange { start, stride, size, n_pes });
    }
    Ok((0..size).map(|i| number(i) as u32).collect())
}

/// From one PE to the next, if that is always the same; not 0.
fn spacing(pes: &[u32]) -> Option<i32> {
    let [first, second, ..] = pes else { return Some(1) };
    let stride = second.cast_signed() - first.cast_signed();
    pes.windows(2).all(|pair| pair[1].cast_signed() - pair[0].cast_signed() == stride).then_some(stride)
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

    fn check_owner(&self, shmem: &Shmem, by: &str) -> Result<()> {
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

#[cfg(test)]
mod tests;
