//! Reductions and scans.

use super::combine::Combining;
use super::element::Element;
use super::fused::{EXSCAN, Range, SCAN, TO_ALL, TO_ONE};
use super::lane::Lane;
use super::ops::Reduction;
use super::plan::Plan;
use super::{begin_of, bytes};
use crate::abi::Operation;
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
        let _recorded = self.enter_here(Operation::Reduce, target.offset(), bytes::<T>(source.len()));
        self.has_length(target, source.len(), Operation::Reduce);
        let (to, from) =
            (self.offset_of(target, Operation::Reduce), self.offset_of(source, Operation::Reduce));
        let all = self.context.pes();
        let what = What { to, from, elements: source.len(), root: None, takes: all };
        self.reduced::<T, O, TO_ALL>(op, Operation::Reduce, what);
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
        let _recorded = self.enter(Operation::ReduceTo, target.offset(), bytes::<T>(source.len()), root);
        seam::with(root.into());
        self.has_pe(root, Operation::ReduceTo);
        self.has_length(target, source.len(), Operation::ReduceTo);
        let (to, from) =
            (self.offset_of(target, Operation::ReduceTo), self.offset_of(source, Operation::ReduceTo));
        let all = self.context.pes();
        let what = What { to, from, elements: source.len(), root: Some(root), takes: all };
        self.reduced::<T, O, TO_ONE>(op, Operation::ReduceTo, what);
    }

    /// Combines, into each PE's `target`, the `source`s of the team's PEs up to this one. Lengths as of
    /// [`reduce`](Self::reduce). (OpenSHMEM 1.6, 9.10.10, `shmem_sum_inscan`.)
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn scan<T: Element, O: Reduction<T>>(self, op: O, target: Sym<[T]>, source: Sym<[T]>) {
        let _recorded = self.enter_here(Operation::Scan, target.offset(), bytes::<T>(source.len()));
        self.has_length(target, source.len(), Operation::Scan);
        let (to, from) = (self.offset_of(target, Operation::Scan), self.offset_of(source, Operation::Scan));
        let takes = self.context.meeting().me + 1;
        let what = What { to, from, elements: source.len(), root: None, takes };
        self.reduced::<T, O, SCAN>(op, Operation::Scan, what);
    }

    /// Combines, into each PE's `target`, the `source`s of the team's PEs before this one; PE 0 gets what changes nothing: 0
    /// for `Sum`, 1 for `Prod`, the greatest value for `Min`, all bits for `And`. Lengths as of [`reduce`](Self::reduce).
    /// (OpenSHMEM 1.6, 9.10.10, `shmem_sum_exscan`.)
    ///
    /// Does not return if the deadline passes or a peer fails. Different lengths end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn exscan<T: Element, O: Reduction<T>>(self, op: O, target: Sym<[T]>, source: Sym<[T]>) {
        let _recorded = self.enter_here(Operation::Exscan, target.offset(), bytes::<T>(source.len()));
        self.has_length(target, source.len(), Operation::Exscan);
        let (to, from) =
            (self.offset_of(target, Operation::Exscan), self.offset_of(source, Operation::Exscan));
        let takes = self.context.meeting().me;
        let what = What { to, from, elements: source.len(), root: None, takes };
        self.reduced::<T, O, EXSCAN>(op, Operation::Exscan, what);
    }

    /// Combines the `source`s of all PEs, of which each PE gets a part in its `target`: the team's PE `p` the `p`th of as many
    /// as there are PEs. `source` is as many times as long as `target`; `target` may be this PE's own part of `source`.
    ///
    /// Does not return if the deadline passes or a peer fails. Other lengths end the kernel.
    #[inline(always)]
    #[track_caller]
    pub fn reduce_scatter<T: Element, O: Reduction<T>>(self, op: O, target: Sym<[T]>, source: Sym<[T]>) {
        const OPERATION: Operation = Operation::ReduceScatter;
        let _recorded = self.enter_here(OPERATION, target.offset(), bytes::<T>(target.len()));
        let n = self.context.pes();
        self.same_lengths(target, target.len() * u64::from(n), source.len(), OPERATION);
        let (to, from) = (self.offset_of(target, OPERATION), self.offset_of(source, OPERATION));
        let part = bytes::<T>(target.len());
        if part == 0 {
            return;
        }
        let plan = Plan::of(self, part, false);
        let begun = Lane::begin(self, OPERATION, plan.lanes);
        if let Some(lane) = begun {
            let base = lane.own_heap();
            // SAFETY: the handles name such memory, aligned for `T`, on every PE; this PE's part of every source is read by
            // itself alone, and by the thread that writes the same of the target.
            unsafe {
                if n > 1 && plan.packets {
                    lane.combine::<T, O>(
                        op,
                        Combining {
                            source: base + from,
                            source_step: part,
                            target: base + to,
                            bytes: part,
                            to: (0, n),
                            of: n,
                            makes: true,
                        },
                    );
                } else {
                    lane.ready();
                    let own = from + part * u64::from(lane.me);
                    let (begin, end) = lane.range(part);
                    let range =
                        Range { source: own + begin, target: to + begin, bytes: end - begin, one: lane.me };
                    lane.fuse::<T, O, TO_ONE>(op, range);
                    lane.done();
                }
            }
        }
        Lane::end(begun, self, 1);
    }

    #[inline(always)]
    fn reduced<T: Element, O: Reduction<T>, const TO: u32>(self, op: O, operation: Operation, what: What) {
        let all = bytes::<T>(what.elements);
        if all == 0 {
            return;
        }
        let n = self.context.pes();
        let rooted = TO != TO_ALL;
        let plan = Plan::of(self, all, rooted);
        let begun = Lane::begin(self, operation, plan.lanes);
        if let Some(lane) = begun {
            let base = lane.own_heap();
            // SAFETY: the handles name such memory, aligned for `T`, on every PE. By loads and stores each PE and lane has a
            // range of its own; by packets a thread reads a word of the source before it writes the same one of the target.
            unsafe {
                if n > 1 && plan.packets {
                    let to = match TO {
                        TO_ALL => (0, n),
                        TO_ONE => what.root.map_or((0, 0), |root| (root, root + 1)),
                        _ => (lane.me + 1, n),
                    };
                    lane.combine::<T, O>(
                        op,
                        Combining {
                            source: base + what.from,
                            source_step: 0,
                            target: base + what.to,
                            bytes: all,
                            to,
                            of: what.takes,
                            makes: what.root.is_none_or(|root| root == lane.me),
                        },
                    );
                    if rooted {
                        lane.done_with_root();
                    }
                } else {
                    lane.ready();
                    // In words of 16 bytes, so that all parts lie to the grid as the whole does.
                    let words = all.div_ceil(16);
                    let begin = (16 * begin_of(words, n, lane.me)).min(all);
                    let end = (16 * begin_of(words, n, lane.me + 1)).min(all);
                    let (first, last) = lane.range(end - begin);
                    let at = begin + first;
                    lane.fuse::<T, O, TO>(
                        op,
                        Range {
                            source: what.from + at,
                            target: what.to + at,
                            bytes: last - first,
                            one: what.root.unwrap_or(0),
                        },
                    );
                    lane.done();
                }
            }
        }
        Lane::end(begun, self, 1);
    }
}

/// What is combined, and for whom.
#[derive(Clone, Copy)]
struct What {
    /// Heap offsets.
    to: u64,
    from: u64,
    elements: u64,
    /// The PE that gets it, if it is one.
    root: Option<u32>,
    /// The PEs from 0 on whose elements this one gets.
    takes: u32,
}
