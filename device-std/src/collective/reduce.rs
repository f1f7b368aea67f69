//! Reductions and scans. One body does all of them: where the form is a constant, as in each of the five operations, what is left
//! of it is that form's; a kernel that takes the form as a number has it once.

use super::alike::{Alike, InPlace, Operands};
use super::combine::Combining;
use super::element::Element;
use super::fused::Range;
use super::lane::Lane;
use super::ops::Reduction;
use super::plan::Plan;
use super::{Form, afresh, begin_of, bytes};
use crate::abi::tuning::Kind;
use crate::context::MayWait;
use crate::scope::{Scope, Scoped};
use crate::seam;
use crate::sym::Sym;

impl<S: Scope, C: MayWait> Scoped<S, C> {
    /// Combines the `source`s of all PEs, element by element, into the `target` of every PE; both have the same length, and
    /// may be the same memory. (OpenSHMEM 1.6, 9.10.9.)
    ///
    /// ```
    /// use oxshmem_device::prelude::*;
    ///
    /// /// The norm of a vector that is spread over the PEs, by its parts' sums of squares.
    /// #[nvshmem_kernel]
    /// fn norm(shmem: Collective, of_all: Sym<[f64]>, of_mine: Sym<[f64]>) {
    ///     shmem.block().reduce(Sum, of_all, of_mine);
    /// }
    /// ```
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn reduce<T: Element, O: Reduction<T>>(self, op: O, target: Sym<[T]>, source: Sym<[T]>) {
        self.reduction(Form::Reduce, op, target, source, 0);
    }

    /// As [`reduce`](Self::reduce), into the `target` of the team's PE `root` alone; those of other PEs are not touched.
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths, and a PE that the team does not have, end
    /// the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn reduce_to<T: Element, O: Reduction<T>>(
        self,
        op: O,
        target: Sym<[T]>,
        source: Sym<[T]>,
        root: u32,
    ) {
        self.reduction(Form::ReduceTo, op, target, source, root);
    }

    /// Combines, into each PE's `target`, the `source`s of the team's PEs up to this one. Lengths as of
    /// [`reduce`](Self::reduce). (OpenSHMEM 1.6, 9.10.10, `shmem_sum_inscan`.)
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn scan<T: Element, O: Reduction<T>>(self, op: O, target: Sym<[T]>, source: Sym<[T]>) {
        self.reduction(Form::Scan, op, target, source, 0);
    }

    /// Combines, into each PE's `target`, the `source`s of the team's PEs before this one; PE 0 gets what changes nothing: 0
    /// for `Sum`, 1 for `Prod`, the greatest value for `Min`, all bits for `And`. Lengths as of [`reduce`](Self::reduce).
    /// (OpenSHMEM 1.6, 9.10.10, `shmem_sum_exscan`.)
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn exscan<T: Element, O: Reduction<T>>(self, op: O, target: Sym<[T]>, source: Sym<[T]>) {
        self.reduction(Form::Exscan, op, target, source, 0);
    }

    /// Combines the `source`s of all PEs, of which each PE gets a part in its `target`: the team's PE `p` the `p`th of as many
    /// as there are PEs. `source` is as many times as long as `target`; `target` may be this PE's own part of `source`.
    ///
    /// Does not return if the deadline passes or a peer fails. Other lengths end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn reduce_scatter<T: Element, O: Reduction<T>>(self, op: O, target: Sym<[T]>, source: Sym<[T]>) {
        self.reduction(Form::ReduceScatter, op, target, source, 0);
    }

    /// The reduction or scan of this form; `root` is that of [`Form::ReduceTo`].
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn reduction<T: Element, O: Reduction<T>>(
        self,
        form: Form,
        op: O,
        target: Sym<[T]>,
        source: Sym<[T]>,
        root: u32,
    ) {
        let operation = form.operation();
        let (rooted, scatters) = (form == Form::ReduceTo, form == Form::ReduceScatter);
        let peer = if rooted { root } else { self.context.meeting().me };
        let all = bytes::<T>(target.len());
        let recorded = self.enter(operation, target.offset(), all, peer);
        let n = self.context.pes();
        if rooted {
            seam::with(root.into());
            self.has_pe(root, operation);
        }
        let asked = if scatters { target.len() * u64::from(n) } else { target.len() };
        self.same_lengths(target, asked, source.len(), operation);
        let (to, from) = (self.offset_of(target, operation), self.offset_of(source, operation));
        self.begins(operation, || {
            let of = Alike::of::<T>(Some(target.len()));
            let alike = Alike {
                combined: Some((core::any::type_name::<T>(), op.name())),
                root: if rooted { Some(root) } else { None },
                // In place each PE's target is another part.
                target: if scatters { None } else { Some(to) },
                source: Some(from),
                ..of
            };
            let own = if scatters { all * u64::from(self.context.meeting().me) } else { 0 };
            (alike, Operands::of((target, to), (source, from), InPlace::At(own)))
        });
        if all == 0 {
            return;
        }
        let (to, from, all) = afresh(to, from, all);
        let one_sided = matches!(form, Form::ReduceTo | Form::Scan | Form::Exscan);
        let plan = Plan::of(self, all, if one_sided { Kind::Scan } else { Kind::Reduce });
        plan.note(&recorded, self.context.pes());
        let begun = Lane::begin(self, operation, plan.lanes);
        if let Some(lane) = begun {
            // SAFETY: the handles name such memory, aligned for `T`, on every PE. By loads and stores each PE and lane has a
            // range of its own, of a scattered source the PE whose part it is; by packets a thread reads a word of the source
            // before it writes the same one of the target.
            unsafe {
                if n > 1 && plan.packets {
                    lane.combine::<T, O>(op, combining(lane, form, (to, from), all, root));
                    if one_sided {
                        lane.done_with_root();
                    }
                } else {
                    lane.ready();
                    // Of a scattered source the own part, else a part of all: in words of 16 bytes, so that all parts lie to the
                    // grid as the whole does.
                    let (me, words) = (lane.me, all.div_ceil(16));
                    let part =
                        |pe| if scatters { all * u64::from(pe - me) } else { 16 * begin_of(words, n, pe) };
                    let (begin, end) = (part(me).min(all), part(me + 1).min(all));
                    let (first, last) = lane.range(end - begin);
                    let own = if scatters { all * u64::from(me) } else { 0 };
                    let (at, one) = (begin + first, if scatters { me } else { root });
                    let range = Range { source: from + own + at, target: to + at, bytes: last - first, one };
                    lane.fuse::<T, O>(op, form, range);
                    lane.done();
                }
            }
        }
        Lane::end(begun, self, 1);
    }
}

/// What a PE sends and makes by packets, of `all` bytes of a target at heap offset `to`.
#[inline(always)]
fn combining<W: Scope, C: MayWait>(
    lane: Lane<W, C>,
    form: Form,
    (to, from): (u64, u64),
    all: u64,
    root: u32,
) -> Combining {
    let (base, me, n) = (lane.own_heap(), lane.me, lane.n);
    let (sends_to, of) = match form {
        Form::Reduce | Form::ReduceScatter => ((0, n), n),
        Form::ReduceTo => ((root, root + 1), n),
        Form::Scan => ((me + 1, n), me + 1),
        Form::Exscan => ((me + 1, n), me),
    };
    Combining {
        source: base + from,
        source_step: if form == Form::ReduceScatter { all } else { 0 },
        target: base + to,
        bytes: all,
        to: sends_to,
        of,
        makes: form != Form::ReduceTo || root == me,
    }
}
