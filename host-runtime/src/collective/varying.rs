//! All-gather and all-to-all of parts whose lengths differ. Only the PEs together know how much goes, so that the device checks
//! it, and all take the same few blocks.

use super::{Asked, TeamChannel};
use crate::error::{BadCollective, Result};
use crate::memory::{OnHeap, Range, nowhere};
use crate::shmem::Shmem;
use crate::stream::Stream;
use bytemuck::Pod;
use oxshmem_stream_collectives as kernels;

/// For so many bytes blocks are taken, as nobody knows how many there are.
const AS_FOR: u64 = 512 << 10;

/// Where the parts of an [`alltoallv_on`](Shmem::alltoallv_on) lie: symmetric vectors of an element for each PE of the team in
/// each of them, of this PE. They are read when the operation runs, so that a kernel before it on the stream can write them.
#[derive(Clone, Copy, Debug)]
pub struct Parts<V> {
    /// Where in this PE's target the part of each PE begins, in elements.
    pub target_offsets: V,
    /// Where in this PE's source the part for each PE begins, in elements.
    pub source_offsets: V,
    /// How many elements this PE sends to each.
    pub counts: V,
    /// Written: how many elements have come from each.
    pub received: V,
}

/// # Collective operations of parts whose lengths differ
impl Shmem {
    /// Gathers the `source`s of all PEs of the team, whose lengths may differ, one behind the other in the `target` of each, in
    /// the order of the team's PEs, on `stream`. What is behind them in `target` stays as it is. `source` is this PE's part of
    /// `target`, or apart. (OpenSHMEM 1.6, 9.10.6.)
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on). A `target` with less room than there are elements is found when it runs, and
    /// is an error of the next call that looks, on every PE.
    #[track_caller]
    pub fn collect_on<'t, T: Pod>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(Some(stream), "collect_on", on.into(), target.range(), source.range())?.collect::<T>()
    }

    /// As [`collect_on`](Self::collect_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`collect_on`](Self::collect_on) and of a kernel that failed.
    #[track_caller]
    pub fn collect<'t, T: Pod>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(None, "collect", on.into(), target.range(), source.range())?.collect::<T>()
    }

    /// Sends to each PE of the team a part of `source`, whose place and length this PE names, to the place in its `target` that
    /// that PE names, on `stream`. In `received` it leaves how many elements have come from each. What no part goes to stays as
    /// it is. `source` and `target` are apart.
    ///
    /// ```
    /// use oxshmem::Parts;
    ///
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(2, |shmem| {
    ///     let (team, stream, me) = (shmem.team_world(), shmem.stream()?, shmem.my_pe());
    ///     let tokens = shmem.alloc_from_slice(&[10 + me, 20 + me, 30 + me])?;
    ///     let to = shmem.alloc_zeroed::<u32>(8)?;
    ///     // One token for PE 0, two for PE 1, each with room for 4 from each.
    ///     let numbers = |of: [u64; 2]| shmem.alloc_from_slice(&of);
    ///     let (places, begins, counts) = (numbers([0, 4])?, numbers([0, 1])?, numbers([1, 2])?);
    ///     let received = numbers([0, 0])?;
    ///     let parts =
    ///         Parts { target_offsets: &places, source_offsets: &begins, counts: &counts, received: &received };
    ///     shmem.alltoallv_on(&stream, &team, &to, &tokens, parts)?;
    ///     stream.synchronize()?;
    ///     assert_eq!(received.read()?, [1 + u64::from(me); 2]);
    ///     assert_eq!(to.read()?[4], [11, 21][me as usize]);
    ///     shmem.barrier_all()
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on). A part that is not in the source or has no room in its target is found when
    /// it runs, and is an error of the next call that looks.
    #[track_caller]
    pub fn alltoallv_on<'t, T: Pod, V: OnHeap<u64>>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
        parts: Parts<V>,
    ) -> Result<()> {
        self.asked(Some(stream), "alltoallv_on", on.into(), target.range(), source.range())?
            .alltoallv::<T>(parts.ranges())
    }

    /// As [`alltoallv_on`](Self::alltoallv_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`alltoallv_on`](Self::alltoallv_on) and of a kernel that failed.
    #[track_caller]
    pub fn alltoallv<'t, T: Pod, V: OnHeap<u64>>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
        parts: Parts<V>,
    ) -> Result<()> {
        self.asked(None, "alltoallv", on.into(), target.range(), source.range())?
            .alltoallv::<T>(parts.ranges())
    }
}

impl<V: OnHeap<u64>> Parts<V> {
    fn ranges(&self) -> [(&'static str, Range<'_>); 4] {
        [
            ("target_offsets", self.target_offsets.range()),
            ("source_offsets", self.source_offsets.range()),
            ("counts", self.counts.range()),
            ("received", self.received.range()),
        ]
    }
}

impl Asked<'_> {
    fn collect<T>(&self) -> Result<()> {
        // Where its part is in the target this PE does not know.
        let inside = self.from >= self.to && self.from + self.source.bytes() <= self.to + self.target.bytes();
        let own = inside.then(|| self.from - self.to);
        self.apart_or(own, ", or as the source this PE's own part of the target")?;
        if size_of::<T>() == 0 {
            return self.nothing();
        }
        let Self { calls, team, channel, .. } = self;
        let (target, source) = self.words()?;
        let unit = size_of::<T>() as u64;
        let shape = self.shape(AS_FOR);
        self.queued(kernels::collect::launch(calls, shape, *team, *channel, target, source, unit))
    }

    fn alltoallv<T>(&self, arrays: [(&'static str, Range<'_>); 4]) -> Result<()> {
        let (by, n_pes) = (self.by, self.team.n_pes());
        for (number, (array, range)) in (2..).zip(&arrays) {
            self.calls.pe.address(by, number, range, self.calls.pe.me)?;
            if range.len != u64::from(n_pes) {
                return Err(BadCollective::Array { by, array, len: range.len, n_pes }.into());
            }
        }
        self.apart_or(None, "")?;
        if size_of::<T>() == 0 {
            return self.nothing();
        }
        let [places, begins, counts, received] = arrays.map(|(_, range)| range.heap_words::<u64>(0));
        let (Some(places), Some(begins), Some(counts), Some(received)) = (places, begins, counts, received)
        else {
            return Err(nowhere());
        };
        let Self { calls, team, channel, .. } = self;
        let (target, source) = self.words()?;
        let unit = size_of::<T>() as u64;
        let shape = self.shape(AS_FOR);
        self.queued(kernels::alltoallv::launch(
            calls, shape, *team, *channel, target, source, places, begins, counts, received, unit,
        ))
    }
}
