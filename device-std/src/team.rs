//! Teams: some PEs of the job, under numbers of their own from 0. (OpenSHMEM 1.6, 9.4.)
//!
//! A [`Team`] is a handle that a kernel takes as a parameter; the host makes teams and destroys them. `shmem.team(team)`
//! reads this PE's entry of the team once and gives an [`OnTeam`], a context on whose scopes every operation's `pe` is
//! the team's number. Nothing is looked up per operation but a PE's number: by one multiplication where the team's PEs
//! are evenly spaced in the job, as those of every strided split of `WORLD` are, else by one load.

use crate::abi::{Cause, Operation, TeamAbi, control, teams};
use crate::arch::{V16, Word};
use crate::context::{Collective, Context, KernelContext, MayWait, Shmem, sealed};
use crate::fault::{Fault, fail};
use crate::launch::{Arg, KernelParam, Named};
use crate::meeting::Meeting;
use crate::seam;
use crate::together::Together;

// | bits | of a handle |
// |---|---|
// | 0..8 | slot in each member's table of teams; the predefined teams have nothing else |
// | 8..24 | the job's number of the team's PE 0 when the team was made |
// | 24..40 | tag of the job |
// | 40..64 | how many teams that PE had made or joined before: with its number, no two teams of a job are alike |
const SLOT: u64 = 0xff;
const FIRST_SHIFT: u32 = 8;
const JOB_SHIFT: u32 = 24;
const COUNT_SHIFT: u32 = 40;

/// A handle to a team, as a kernel takes it: `Copy`, the same on every PE of the team. A launch takes only that of a
/// team which is alive and to which the PE belongs, or a predefined one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Team {
    bits: u64,
}

impl Team {
    /// All PEs of the job, under the job's numbers.
    pub const WORLD: Self = Self { bits: teams::WORLD as u64 };
    /// The PEs on this PE's host.
    pub const NODE: Self = Self { bits: teams::NODE as u64 };
    /// The PEs on this PE's GPU.
    pub const SAME_GPU: Self = Self { bits: teams::SAME_GPU as u64 };
    /// No PE at all: what a PE that does not belong to a team passes to a kernel in its place.
    pub const NONE: Self = Self { bits: teams::NONE as u64 };

    /// The handle of the team in `slot` that PE `first` of the job leads and is its `count`th. The host runtime makes
    /// handles, for teams whose entries it has written.
    #[doc(hidden)]
    pub const fn from_parts(slot: u32, first: u32, job: u16, count: u32) -> Self {
        let count = count as u64 & 0xff_ffff;
        let bits = slot as u64 & SLOT | (first as u64 & 0xffff) << FIRST_SHIFT | (job as u64) << JOB_SHIFT;
        Self { bits: bits | count << COUNT_SHIFT }
    }

    /// As a number.
    #[doc(hidden)]
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        self.bits
    }

    /// The handle of this number.
    #[doc(hidden)]
    pub const fn from_bits(bits: u64) -> Self {
        Self { bits }
    }

    /// Its slot in the table of teams.
    #[doc(hidden)]
    #[inline(always)]
    pub const fn slot(self) -> u64 {
        teams::slot(self.bits)
    }
}

impl core::fmt::Debug for Team {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::WORLD => f.write_str("Team::WORLD"),
            Self::NODE => f.write_str("Team::NODE"),
            Self::SAME_GPU => f.write_str("Team::SAME_GPU"),
            Self::NONE => f.write_str("Team::NONE"),
            Self { bits } => {
                let (first, count) = (bits >> FIRST_SHIFT & 0xffff, bits >> COUNT_SHIFT);
                write!(f, "Team(slot {}, number {count} of PE {first})", self.slot())
            }
        }
    }
}

#[diagnostic::do_not_recommend]
// SAFETY: the piece is the handle itself, and a launcher checks it by what `names` gives.
unsafe impl KernelParam for Team {
    type R0 = u64;
    type R1 = ();
    #[inline(always)]
    fn into_raw(self) -> (u64, ()) {
        (self.bits, ())
    }
    #[inline(always)]
    unsafe fn from_raw(bits: u64, (): ()) -> Self {
        Self { bits }
    }
    fn names(self) -> Named {
        Named::Team { team: self }
    }
}

/// What a split gave, as an `Option<&_>`: a PE that does not belong to the new team passes [`Team::NONE`].
#[diagnostic::do_not_recommend]
impl<A: Arg<Team>> Arg<Team> for Option<A> {
    fn to_param(&self) -> Team {
        self.as_ref().map_or(Team::NONE, Arg::to_param)
    }
}

/// A context seen through a team: PE numbers are the team's, in every operation of its scopes. `Copy`, passed by value.
///
/// What has no PE is as on the context itself: memory, waits, `fence` and `quiet`, and `barrier_all`, which is over all
/// PEs of the job; `team_barrier` and `team_sync` are over the team's.
#[derive(Clone, Copy, Debug)]
pub struct OnTeam<C> {
    context: C,
    my_pe: u32,
    n_pes: u32,
    start: u32,
    stride: i32,
    list: u64,
    team: Team,
    channel: u32,
}

macro_rules! team_of {
    ($context:ty) => {
        impl $context {
            /// This context seen through `team`. Any thread calls it, by itself.
            ///
            /// Ends the kernel with [`Cause::NotInTeam`] if this PE does not belong to it;
            /// [`try_team`](Self::try_team) asks.
            #[inline(always)]
            #[track_caller]
            pub fn team(self, team: Team) -> OnTeam<Self> {
                seam::operation(Together::OneThread, Operation::Team, 0, 0, self.my_pe());
                match OnTeam::new(self, team) {
                    Some(on_team) => on_team,
                    None => {
                        let fault =
                            Fault { peer: self.my_pe(), ..Fault::new(Cause::NotInTeam, Operation::Team) };
                        fail(self.shmem(), Fault { seen: team.slot(), ..fault })
                    }
                }
            }

            /// As [`team`](Self::team), `None` if this PE does not belong to it.
            #[inline(always)]
            #[track_caller]
            pub fn try_team(self, team: Team) -> Option<OnTeam<Self>> {
                seam::operation(Together::OneThread, Operation::Team, 0, 0, self.my_pe());
                OnTeam::new(self, team)
            }
        }
    };
}
team_of!(Shmem);
team_of!(Collective);

impl<C: KernelContext> OnTeam<C> {
    #[inline(always)]
    fn new(context: C, team: Team) -> Option<Self> {
        let entry = context.shmem().abi.teams + size_of::<TeamAbi>() as u64 * team.slot();
        // SAFETY: an entry of the table, aligned to 16 bytes; the host writes it only while no kernel may name its team.
        let (V16(numbers, spacing), V16(list, handle)) =
            unsafe { (V16::load_global(entry), V16::load_global(entry + 16)) };
        let (my_pe, n_pes) = (numbers as u32, (numbers >> 32) as u32);
        if my_pe == teams::NO_MEMBER || handle != team.bits {
            return None;
        }
        let (start, stride) = (spacing as u32, (spacing >> 32) as i32);
        Some(Self { context, my_pe, n_pes, start, stride, list, team, channel: 0 })
    }

    /// The same team, whose barriers go by another of its 4 channels; 0 is where it starts. Those of different channels may
    /// be under way at once. All PEs of the team meet on the same channel.
    ///
    /// Ends the kernel with [`Cause::IndexOutOfRange`] if there is no such channel.
    #[inline(always)]
    #[track_caller]
    pub fn channel(self, channel: u32) -> Self {
        if channel >= control::TEAM_CHANNELS {
            let fault = Fault::new(Cause::IndexOutOfRange, Operation::Team);
            let (expected, seen) = (control::TEAM_CHANNELS.into(), channel.into());
            fail(self.shmem(), Fault { peer: self.shmem().my_pe(), expected, seen, ..fault })
        }
        Self { channel, ..self }
    }

    /// The context that this was made of.
    #[inline(always)]
    pub fn context(self) -> C {
        self.context
    }

    /// This PE's number in the team, `0 .. n_pes()`.
    #[inline(always)]
    pub fn my_pe(self) -> u32 {
        self.my_pe
    }

    /// How many PEs the team has.
    #[inline(always)]
    pub fn n_pes(self) -> u32 {
        self.n_pes
    }

    /// The team's PE after this one; the last one's is PE 0.
    #[inline(always)]
    pub fn next_pe(self) -> u32 {
        let next = self.my_pe + 1;
        if next == self.n_pes { 0 } else { next }
    }

    /// The team's PE before this one; PE 0's is the last one.
    #[inline(always)]
    pub fn prev_pe(self) -> u32 {
        (if self.my_pe == 0 { self.n_pes } else { self.my_pe }) - 1
    }

    /// The job's number of the team's PE `pe`, `None` if the team has no such PE.
    #[inline(always)]
    pub fn world_pe(self, pe: u32) -> Option<u32> {
        if pe < self.n_pes { Some(Context::world_pe(self, pe)) } else { None }
    }

    /// The number that the team's PE `pe` has in the team `other`, `None` if it does not belong to it, or there is no such
    /// PE. (OpenSHMEM 1.6, 9.4, `shmem_team_translate_pe`.) If the PEs of `other` are not evenly spaced in the job, it
    /// looks through them.
    #[inline(always)]
    pub fn translate<D: KernelContext>(self, pe: u32, other: OnTeam<D>) -> Option<u32> {
        let world = self.world_pe(pe)?;
        if other.list == 0 {
            let distance = world as i32 - other.start as i32;
            let (steps, rest) = (distance.checked_div(other.stride)?, distance.checked_rem(other.stride)?);
            return if rest == 0 && (steps as u32) < other.n_pes { Some(steps as u32) } else { None };
        }
        let mut at = 0;
        while at < other.n_pes {
            if Context::world_pe(other, at) == world {
                return Some(at);
            }
            at += 1;
        }
        None
    }
}

impl<C: KernelContext> sealed::Sealed for OnTeam<C> {}

#[diagnostic::do_not_recommend]
impl<C: KernelContext> Context for OnTeam<C> {
    #[inline(always)]
    fn shmem(self) -> Shmem {
        self.context.shmem()
    }
    #[inline(always)]
    fn pes(self) -> u32 {
        self.n_pes
    }
    #[inline(always)]
    fn world_pe(self, pe: u32) -> u32 {
        if self.list == 0 {
            return self.start.wrapping_add(pe.wrapping_mul(self.stride as u32));
        }
        // SAFETY: the list has `n_pes` numbers, and is there as long as the team is; the caller keeps `pe` below.
        unsafe { u32::load_global(self.list + 4 * u64::from(pe)) }
    }
    #[inline(always)]
    fn meeting(self) -> Meeting {
        Meeting { me: self.my_pe, team: self.team.to_bits(), channel: self.channel }
    }
}

#[diagnostic::do_not_recommend]
impl<C: KernelContext + MayWait> MayWait for OnTeam<C> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_differ_in_every_part_and_name_their_slot() {
        let team = Team::from_parts(9, 300, 7, 5);
        for other in [(10, 300, 7, 5), (9, 301, 7, 5), (9, 300, 8, 5), (9, 300, 7, 6)] {
            assert_ne!(team, Team::from_parts(other.0, other.1, other.2, other.3));
        }
        assert_eq!((team.slot(), team), (9, Team::from_parts(9, 300, 7, 5)));
        assert_eq!(format!("{team:?} {:?}", Team::NODE), "Team(slot 9, number 5 of PE 300) Team::NODE");
    }

    #[test]
    fn a_handle_names_itself_to_the_launcher() {
        let team = Team::from_parts(63, u32::MAX, u16::MAX, u32::MAX);
        assert_eq!(team.names(), Named::Team { team });
        // SAFETY: the pieces of this handle.
        assert_eq!(unsafe { Team::from_raw(team.into_raw().0, ()) }, team);
        assert_eq!(Team::WORLD.to_bits(), 0);
    }
}
