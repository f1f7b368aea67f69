//! What the checker is told of a call of a collective operation: what all PEs must give it alike, and the memory that it names
//! here. On a device nothing is told, and nothing of it is computed.

use super::bytes;
use crate::abi::Operation;
use crate::context::MayWait;
use crate::scope::{Scope, Scoped};
use crate::sym::{Data, Sym};

/// What all PEs of a team give a collective operation alike.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Elements, and the bytes of each; no number of elements where each PE may have another one.
    pub elements: (Option<u64>, u64),
    /// The type of elements that are combined, and the operator.
    pub combined: Option<(&'static str, &'static str)>,
    /// The team's PE that is the root.
    pub root: Option<u32>,
    /// Heap offset of the target, unless each PE may have another one.
    pub target: Option<u64>,
    /// Heap offset of the source, unless each PE may have another one.
    pub source: Option<u64>,
    /// Blocks of the scope.
    pub blocks: u32,
}

/// The memory that a collective operation names on one PE: heap offsets and bytes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// The target.
    pub target: (u64, u64),
    /// The source.
    pub source: (u64, u64),
    /// Where they may be the same memory.
    pub in_place: InPlace,
}

/// Where source and target may be the same memory.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// Nowhere.
    Never,
    /// The shorter begins so many bytes behind the longer, and is a part of it.
    At(u64),
    /// The source is any part of the target.
    Anywhere,
}

impl Operands {
    /// The target and the source at these heap offsets.
    pub(super) fn of<T: Data>(
        (target, to): (Sym<[T]>, u64),
        (source, from): (Sym<[T]>, u64),
        in_place: InPlace,
    ) -> Self {
        let (target, source) = ((to, bytes::<T>(target.len())), (from, bytes::<T>(source.len())));
        Self { target, source, in_place }
    }
}

impl Alike {
    /// Of an operation that moves `T`s.
    pub(super) fn of<T>(elements: Option<u64>) -> Self {
        let elements = (elements, size_of::<T>() as u64);
        Self { elements, combined: None, root: None, target: None, source: None, blocks: 1 }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl<S: Scope, C: MayWait> Scoped<S, C> {
    /// The PE begins an operation. All threads of the scope come here.
    pub(super) fn begins(self, operation: Operation, told: impl FnOnce() -> (Alike, Operands)) {
        if self.is_leader() {
            let (context, (_, blocks)) = (self.context, self.scope.lane());
            crate::seam::collective(operation, context, context.meeting(), || {
                let (alike, operands) = told();
                Some((Alike { blocks, ..alike }, operands))
            });
        }
    }

    /// The PE has ended an operation, and may begin another one.
    pub(super) fn ends(self, operation: Operation) {
        if self.is_leader() {
            crate::seam::collective_over(operation, self.context, self.context.meeting());
        }
    }
}

#[cfg(target_arch = "nvptx64")]
impl<S: Scope, C: MayWait> Scoped<S, C> {
    /// The PE begins an operation: nothing to do here.
    #[inline(always)]
    pub(super) fn begins(self, _: Operation, _: impl FnOnce() -> (Alike, Operands)) {}

    /// The PE has ended an operation: nothing to do here.
    #[inline(always)]
    pub(super) fn ends(self, _: Operation) {}
}
