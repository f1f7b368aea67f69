//! What a row must give.

use super::axes::Row;
use crate::Sample;
use crate::kernels::form;

/// One operation of one team.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) row: &'a Row,
    /// The team's PEs, by their numbers in the job.
    pub(crate) members: &'a [u32],
    /// Tells values of this operation from those of others.
    pub(crate) salt: u32,
}

impl Call<'_> {
    pub(crate) fn n(&self) -> u64 {
        self.members.len() as u64
    }

    /// The team's PE that an operation with a root names.
    pub(crate) fn root(&self) -> u32 {
        self.salt % self.members.len() as u32
    }

    /// Elements that the team's PE `from` gives to PE `to`: not the same for all, of `alltoallv` and `collect`.
    pub(crate) fn given(&self, from: u64, to: u64) -> u64 {
        let count = self.row.count();
        match self.row.form() {
            form::COLLECT => (count + 3 * from) % (count + 1),
            form::ALLTOALLV => (count + from + 2 * to) % (count + 1),
            _ => count,
        }
    }

    /// Elements of the source of the team's PE `me`, and of its target.
    pub(crate) fn lengths(&self, me: u64) -> (u64, u64) {
        let (n, count) = (self.n(), self.row.count());
        match self.row.form() {
            form::FCOLLECT => (count, n * count),
            // Two more than there are, which stay as they are.
            form::COLLECT => (self.given(me, 0), (0..n).map(|pe| self.given(pe, 0)).sum::<u64>() + 2),
            form::ALLTOALL | form::ALLTOALLV => (n * count, n * count),
            form::REDUCE_SCATTER => (n * count, count),
            _ => (count, count),
        }
    }

    /// Where the source begins in the target, or, of `reduce_scatter`, the target in the source, if they are the same memory.
    pub(crate) fn own_part(&self, me: u64) -> u64 {
        match self.row.form() {
            form::FCOLLECT | form::REDUCE_SCATTER => me * self.row.count(),
            form::COLLECT => (0..me).map(|pe| self.given(pe, 0)).sum(),
            _ => 0,
        }
    }

    /// Element `index` of the source of the team's PE `pe`.
    pub(crate) fn source<T: Sample>(&self, pe: u64, index: u64) -> T {
        let of =
            u64::from(self.members[pe as usize]) * 1_000_003 + index * 7919 + u64::from(self.salt) * 104_729;
        T::value((of ^ of >> 13) as u32)
    }

    /// The numbers that `alltoallv` takes, of the team's PE `me`: where in the target, where in the source, how many.
    pub(crate) fn numbers(&self, me: u64) -> Vec<u64> {
        let n = self.n();
        let offset = |pe: u64| pe * self.row.count();
        let targets = (0..n).map(offset);
        // The parts of the source lie the other way round.
        let sources = (0..n).map(|pe| offset(n - 1 - pe));
        let counts = (0..n).map(|pe| self.given(me, pe));
        targets.chain(sources).chain(counts).chain((0..n).map(|_| u64::MAX)).collect()
    }

    /// The target of the team's PE `me` afterwards, where it was `before`.
    pub(crate) fn target<T: Sample>(&self, me: u64, before: &[T]) -> Vec<T> {
        let (n, count) = (self.n(), self.row.count());
        let mut target = before.to_vec();
        let mut put = |at: u64, values: &mut dyn Iterator<Item = T>| {
            for (place, value) in target[at as usize..].iter_mut().zip(values) {
                *place = value;
            }
        };
        let of = |pe: u64, from: u64, len: u64| (from..from + len).map(move |i| self.source::<T>(pe, i));
        match self.row.form() {
            form::BROADCAST => put(0, &mut of(self.root().into(), 0, count)),
            form::FCOLLECT => (0..n).for_each(|pe| put(pe * count, &mut of(pe, 0, count))),
            form::COLLECT => {
                let mut at = 0;
                for pe in 0..n {
                    put(at, &mut of(pe, 0, self.given(pe, 0)));
                    at += self.given(pe, 0);
                }
            }
            form::ALLTOALL => (0..n).for_each(|pe| put(pe * count, &mut of(pe, me * count, count))),
            form::ALLTOALLV => {
                let from = (n - 1 - me) * count;
                (0..n).for_each(|pe| put(pe * count, &mut of(pe, from, self.given(pe, me))));
            }
            form::REDUCE => put(0, &mut self.combined(0..n, 0)),
            form::REDUCE_SCATTER => put(0, &mut self.combined(0..n, me * count)),
            form::REDUCE_TO if me == u64::from(self.root()) => put(0, &mut self.combined(0..n, 0)),
            form::REDUCE_TO => {}
            form::SCAN => put(0, &mut self.combined(0..me + 1, 0)),
            _ => put(0, &mut self.combined(0..me, 0)),
        }
        target
    }

    /// `count` elements from `first` on, combined over these PEs.
    fn combined<T: Sample>(&self, pes: std::ops::Range<u64>, first: u64) -> impl Iterator<Item = T> {
        let op = self.row.op();
        (first..first + self.row.count()).map(move |index| {
            let elements = pes.clone().map(|pe| self.source::<T>(pe, index));
            elements.reduce(|a, b| T::combined(op, a, b)).unwrap_or(T::identity(op))
        })
    }
}
