//! Barriers on streams: kernels of one thread, which the stream joins to all that it did before.

use crate::calls::{Calls, ONE_THREAD};
use crate::driver;
use crate::error::Result;
use crate::shmem::Shmem;
use crate::stream::Stream;
use crate::team::Team;
use oxshmem_stream_kernels::order;

/// # Barriers on a stream
impl Shmem {
    /// Collective, on `stream`: completes what the stream did before, and has it wait until all PEs have come. What the PEs'
    /// streams did before is visible to what comes behind on any of them. (OpenSHMEM 1.6, 9.10.1.)
    ///
    /// A PE is in one barrier at a time: those of one stream follow each other; barriers on several streams, or in kernels
    /// of others, are to be ordered by [events](Stream::wait_event), in the same order on every PE.
    ///
    /// # Errors
    /// Those of [`wait_until_on`](Self::wait_until_on). A PE that does not come expires the others' deadlines.
    #[track_caller]
    pub fn barrier_all_on(&self, stream: &Stream) -> Result<()> {
        driver::here();
        order::barrier_all::launch(&Calls::on(self.pe(), stream)?, ONE_THREAD)
    }

    /// Collective, on `stream`: as [`barrier_all_on`](Self::barrier_all_on), but it completes nothing: all PEs have come, and
    /// see every PE's stores to its own memory. (OpenSHMEM 1.6, 9.10.3.)
    ///
    /// # Errors
    /// Those of [`barrier_all_on`](Self::barrier_all_on).
    #[track_caller]
    pub fn sync_all_on(&self, stream: &Stream) -> Result<()> {
        driver::here();
        order::sync_all::launch(&Calls::on(self.pe(), stream)?, ONE_THREAD)
    }

    /// Collective over the PEs of `team`, on `stream`; nobody else takes part. As [`barrier_all_on`](Self::barrier_all_on), for
    /// these PEs: completes what the stream did before, and has it wait until the team's PEs have come.
    ///
    /// A PE is in one barrier of a team at a time, on the same terms as for `barrier_all_on`; those of different teams may be
    /// under way at once. Kernels that meet the team at the same time do so by another channel than 0
    /// (`oxshmem_device::OnTeam::channel`).
    ///
    /// ```
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(4, |shmem| {
    ///     // PEs 0 and 1, and PEs 2 and 3.
    ///     let (pair, _) = shmem.team_split_2d(&shmem.team_world(), 2)?;
    ///     let (inbox, stream) = (shmem.alloc_zeroed::<u32>(1)?, shmem.stream()?);
    ///     let other = pair.world_pe(1 - pair.my_pe()).unwrap();
    ///     shmem.p_on(&stream, inbox.at(0), shmem.my_pe(), other)?;
    ///     shmem.team_barrier_on(&stream, &pair)?;
    ///     stream.synchronize()?;
    ///     assert_eq!(inbox.read()?, [other]);
    ///     shmem.barrier_all()
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::BadTeam`](crate::Error::BadTeam) for another PE's team, or one that was destroyed; those of
    /// [`barrier_all_on`](Self::barrier_all_on).
    #[track_caller]
    pub fn team_barrier_on(&self, stream: &Stream, team: &Team) -> Result<()> {
        driver::here();
        team.check_owner(self, "team_barrier_on")?;
        order::team_barrier::launch(&Calls::on(self.pe(), stream)?, ONE_THREAD, team.handle())
    }

    /// Collective over the PEs of `team`, on `stream`: as [`team_barrier_on`](Self::team_barrier_on), but it completes nothing:
    /// the team's PEs have come, and see every one's stores to its own memory.
    ///
    /// # Errors
    /// Those of [`team_barrier_on`](Self::team_barrier_on).
    #[track_caller]
    pub fn team_sync_on(&self, stream: &Stream, team: &Team) -> Result<()> {
        driver::here();
        team.check_owner(self, "team_sync_on")?;
        order::team_sync::launch(&Calls::on(self.pe(), stream)?, ONE_THREAD, team.handle())
    }
}
