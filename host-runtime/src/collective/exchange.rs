//! Broadcast, all-gather, all-to-all.

use super::{Asked, TeamChannel};
use crate::error::{BadCollective, Result};
use crate::memory::{OnHeap, same_length};
use crate::shmem::Shmem;
use crate::stream::Stream;
use bytemuck::Pod;
use oxshmem_stream_collectives as kernels;

/// # Collective operations
///
/// Over the PEs of a team, which all call them, with the same arguments. They take symmetric vectors or handles to parts of
/// them, and a `&Team` or one of its [channels](crate::Team::channel). Those of one team and channel come after each other:
/// in one stream, or in several that [events](Stream::wait_event) order, alike on every PE. A blocking form waits for what
/// this PE has launched before, as [`put`](Self::put) does, and takes the channel meanwhile. Of 0 elements they do nothing,
/// but for [`collect_on`](Self::collect_on) and [`alltoallv_on`](Self::alltoallv_on).
///
/// When an operation is over on a PE, its target is there and its source may be written. Each wait in it has the deadline of
/// all waits, and gives up when a peer fails; the record names the operation and the PE that did not come. It holds room for
/// as many blocks as it takes, 32 on a GPU at most, which a collective launch beside it must leave. It can be
/// [captured](Stream::capture).
impl Shmem {
    /// Copies the `source` of the team's PE `root` to the `target` of every PE of it, on `stream`. Both have the same length, and
    /// are the same range or apart. (OpenSHMEM 1.6, 9.10.5.)
    ///
    /// ```
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(3, |shmem| {
    ///     let (team, stream) = (shmem.team_world(), shmem.stream()?);
    ///     let weights = shmem.alloc_from_slice(&[shmem.my_pe() as f32; 100])?;
    ///     shmem.broadcast_on(&stream, &team, &weights, &weights, 2)?;
    ///     stream.synchronize()?;
    ///     assert_eq!(weights.read()?, [2.0; 100]);
    ///     shmem.barrier_all()
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LengthsDiffer`](crate::Error::LengthsDiffer), [`Overlap`](crate::Error::Overlap), [`Collective`](crate::Error::Collective),
    /// [`BadTeam`](crate::Error::BadTeam) for what cannot be; those of [`wait_until_on`](Self::wait_until_on). Nothing is queued then.
    #[track_caller]
    pub fn broadcast_on<'t, T: Pod>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
        root: u32,
    ) -> Result<()> {
        self.asked(Some(stream), "broadcast_on", on.into(), target.range(), source.range())?.broadcast(root)
    }

    /// As [`broadcast_on`](Self::broadcast_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on) and of a kernel that failed.
    #[track_caller]
    pub fn broadcast<'t, T: Pod>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
        root: u32,
    ) -> Result<()> {
        self.asked(None, "broadcast", on.into(), target.range(), source.range())?.broadcast(root)
    }

    /// Gathers the `source`s of all PEs of the team in the `target` of each, in the order of the team's PEs, on `stream`:
    /// all-gather. `target` is as many times as long as `source` as the team has PEs; `source` is this PE's part of it, or apart.
    /// (OpenSHMEM 1.6, 9.10.6.)
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on).
    #[track_caller]
    pub fn fcollect_on<'t, T: Pod>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(Some(stream), "fcollect_on", on.into(), target.range(), source.range())?.fcollect()
    }

    /// As [`fcollect_on`](Self::fcollect_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn fcollect<'t, T: Pod>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(None, "fcollect", on.into(), target.range(), source.range())?.fcollect()
    }

    /// Sends part `p` of `source` to the team's PE `p`, which has it as part `my_pe` of its `target`, for every `p`, on `stream`.
    /// Both are as long as each other, have a part of the same length for each PE, and are the same range or apart.
    /// (OpenSHMEM 1.6, 9.10.8.)
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on).
    #[track_caller]
    pub fn alltoall_on<'t, T: Pod>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(Some(stream), "alltoall_on", on.into(), target.range(), source.range())?.alltoall()
    }

    /// As [`alltoall_on`](Self::alltoall_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn alltoall<'t, T: Pod>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(None, "alltoall", on.into(), target.range(), source.range())?.alltoall()
    }
}

impl Asked<'_> {
    fn broadcast(&self, root: u32) -> Result<()> {
        self.has_root(root)?;
        same_length(self.by, self.target.len, self.source.len)?;
        self.same_or_apart()?;
        let bytes = self.target.bytes();
        if bytes == 0 {
            return self.nothing();
        }
        let Self { calls, team, channel, .. } = self;
        let (target, source) = self.words()?;
        self.queued(kernels::broadcast::launch(
            calls,
            self.shape(bytes),
            *team,
            *channel,
            target,
            source,
            root,
        ))
    }

    fn fcollect(&self) -> Result<()> {
        self.has_parts("target", self.target.len, self.source.len)?;
        let part = self.source.bytes();
        let own = part * u64::from(self.team.my_pe());
        let own = (self.from >= self.to).then_some(own);
        self.apart_or(own, ", or as the source this PE's own part of the target")?;
        if part == 0 {
            return self.nothing();
        }
        let Self { calls, team, channel, .. } = self;
        let (target, source) = self.words()?;
        self.queued(kernels::fcollect::launch(calls, self.shape(part), *team, *channel, target, source))
    }

    fn alltoall(&self) -> Result<()> {
        same_length(self.by, self.target.len, self.source.len)?;
        let (by, len, n_pes) = (self.by, self.target.len, self.team.n_pes());
        if !len.is_multiple_of(n_pes.into()) {
            return Err(BadCollective::Parts { by, len, n_pes }.into());
        }
        self.same_or_apart()?;
        let bytes = self.target.bytes();
        if bytes == 0 {
            return self.nothing();
        }
        let Self { calls, team, channel, .. } = self;
        let (target, source) = self.words()?;
        let shape = self.shape(bytes / u64::from(n_pes));
        self.queued(kernels::alltoall::launch(calls, shape, *team, *channel, target, source))
    }
}
