//! Reductions and scans.

use super::{Asked, Combined, Operator, TeamChannel};
use crate::error::Result;
use crate::memory::{OnHeap, same_length};
use crate::shmem::Shmem;
use crate::stream::Stream;
use oxshmem_device::Reduction;
use oxshmem_device::collective::Form;

/// # Reductions and scans
///
/// Collective operations that combine elements, in the order of the team's PEs from PE 0 on: all PEs get the same bits, and
/// get them again in every run. The operator is a value: `Sum`, `Prod`, `Min`, `Max` of integers of 8 to 64 bits, `isize`,
/// `usize`, `f16`, `bf16`, `f32` and `f64`, `And`, `Or` and `Xor` of integers; one that is known only when the program runs is an
/// [`IntegerOp`](oxshmem_device::collective::IntegerOp) or a [`FloatOp`](oxshmem_device::collective::FloatOp). Another one does not
/// compile:
///
/// ```compile_fail
/// use oxshmem_device::And;
///
/// oxshmem::run_local(2, |shmem| {
///     let x = shmem.alloc_zeroed::<f32>(10)?;
///     shmem.reduce(&shmem.team_world(), And, &x, &x)
/// });
/// ```
impl Shmem {
    /// Combines the `source`s of all PEs of the team, element by element, into the `target` of each, on `stream`. Both have the same
    /// length, and are the same range or apart. (OpenSHMEM 1.6, 9.10.9.)
    ///
    /// ```
    /// use oxshmem_device::Sum;
    ///
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(4, |shmem| {
    ///     let (team, stream) = (shmem.team_world(), shmem.stream()?);
    ///     let gradient = shmem.alloc_from_fn(1000, |i| i as f32)?;
    ///     shmem.reduce_on(&stream, &team, Sum, &gradient, &gradient)?;
    ///     stream.synchronize()?;
    ///     assert_eq!(gradient.read()?[10], 40.0);
    ///     shmem.barrier_all()
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on).
    #[track_caller]
    pub fn reduce_on<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(Some(stream), "reduce_on", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::Reduce,
            op.number(),
            0,
        )
    }

    /// As [`reduce_on`](Self::reduce_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn reduce<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(None, "reduce", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::Reduce,
            op.number(),
            0,
        )
    }

    /// Combines the `source`s of all PEs of the team, of which the team's PE `p` gets part `p` in its `target`, on `stream`. `source`
    /// is as many times as long as `target` as the team has PEs; `target` is this PE's part of it, or apart.
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on).
    #[track_caller]
    pub fn reduce_scatter_on<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(Some(stream), "reduce_scatter_on", on.into(), target.range(), source.range())?
            .reduction::<T>(Form::ReduceScatter, op.number(), 0)
    }

    /// As [`reduce_scatter_on`](Self::reduce_scatter_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn reduce_scatter<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(None, "reduce_scatter", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::ReduceScatter,
            op.number(),
            0,
        )
    }

    /// As [`reduce_on`](Self::reduce_on), into the `target` of the team's PE `root` alone; those of other PEs are not touched.
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on).
    #[track_caller]
    pub fn reduce_to_on<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
        root: u32,
    ) -> Result<()> {
        self.asked(Some(stream), "reduce_to_on", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::ReduceTo,
            op.number(),
            root,
        )
    }

    /// As [`reduce_to_on`](Self::reduce_to_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn reduce_to<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
        root: u32,
    ) -> Result<()> {
        self.asked(None, "reduce_to", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::ReduceTo,
            op.number(),
            root,
        )
    }

    /// Combines, into each PE's `target`, the `source`s of the team's PEs up to this one, on `stream`. As
    /// [`reduce_on`](Self::reduce_on) otherwise. (OpenSHMEM 1.6, 9.10.10, `shmem_sum_inscan`.)
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on).
    #[track_caller]
    pub fn scan_on<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(Some(stream), "scan_on", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::Scan,
            op.number(),
            0,
        )
    }

    /// As [`scan_on`](Self::scan_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn scan<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(None, "scan", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::Scan,
            op.number(),
            0,
        )
    }

    /// Combines, into each PE's `target`, the `source`s of the team's PEs before this one, on `stream`; PE 0 gets what changes
    /// nothing: 0 for `Sum`, 1 for `Prod`, the greatest value for `Min`, all bits for `And`. As [`reduce_on`](Self::reduce_on)
    /// otherwise. (OpenSHMEM 1.6, 9.10.10, `shmem_sum_exscan`.)
    ///
    /// # Errors
    /// Those of [`broadcast_on`](Self::broadcast_on).
    #[track_caller]
    pub fn exscan_on<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        stream: &Stream,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(Some(stream), "exscan_on", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::Exscan,
            op.number(),
            0,
        )
    }

    /// As [`exscan_on`](Self::exscan_on), and returns when it is over.
    ///
    /// # Errors
    /// Those of [`broadcast`](Self::broadcast).
    #[track_caller]
    pub fn exscan<'t, T: Combined, O: Operator + Reduction<T>>(
        &self,
        on: impl Into<TeamChannel<'t>>,
        op: O,
        target: impl OnHeap<T>,
        source: impl OnHeap<T>,
    ) -> Result<()> {
        self.asked(None, "exscan", on.into(), target.range(), source.range())?.reduction::<T>(
            Form::Exscan,
            op.number(),
            0,
        )
    }
}

impl Asked<'_> {
    fn reduction<T: Combined>(&self, form: Form, op: u32, root: u32) -> Result<()> {
        let bytes = self.target.bytes();
        if form == Form::ReduceTo {
            self.has_root(root)?;
        }
        if form == Form::ReduceScatter {
            self.has_parts("source", self.source.len, self.target.len)?;
            let own = (self.to >= self.from).then_some(bytes * u64::from(self.team.my_pe()));
            self.apart_or(own, ", or as the target this PE's own part of the source")?;
        } else {
            same_length(self.by, self.target.len, self.source.len)?;
            self.same_or_apart()?;
        }
        if bytes == 0 {
            return self.nothing();
        }
        self.queued(T::launch(self, form, op, root, bytes))
    }
}
