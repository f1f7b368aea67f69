//! Collective operations of a team: on [`Collective`](crate::Collective) those of all PEs, through
//! [`team`](crate::Collective::team) those of the team's. (OpenSHMEM 1.6, 9.10.)
//!
//! | operation | file |
//! |---|---|
//! | [`broadcast`](crate::Scoped::broadcast), [`fcollect`](crate::Scoped::fcollect), [`alltoall`](crate::Scoped::alltoall) | `exchange` |
//! | [`collect`](crate::Scoped::collect), [`alltoallv`](crate::Scoped::alltoallv) | `varying` |
//! | [`reduce`](crate::Scoped::reduce), [`reduce_scatter`](crate::Scoped::reduce_scatter), [`reduce_to`](crate::Scoped::reduce_to), [`scan`](crate::Scoped::scan), [`exscan`](crate::Scoped::exscan) | `reduce` |
//!
//! All threads of the scope call an operation together, and all PEs of the team call it, with the same arguments, on the same
//! [channel](crate::OnTeam::channel) in the same order, and by scopes of the same number of blocks. One operation at a time may
//! be under way on a channel; on different channels and of different teams as many as there are. Nothing else is asked for: a
//! PE may call when it likes, also while others still read what an operation before has brought them.
//!
//! When an operation returns, the target of this PE is there for the whole scope, and its source may be written again. Source
//! and target are the same memory, or have none in common: in place is allowed where an operation says where.
//! Of 0 elements an operation does nothing, and waits for nobody, but for `collect` and `alltoallv`: only together the PEs know
//! that there is nothing.
//!
//! Every wait has the deadline of all waits; the record names the operation and the PE that did not come.
//!
//! # How
//!
//! | data | protocol | hops |
//! |---|---|---|
//! | as little as the launch's table says ([`tuning`](crate::abi::tuning)), and fits into the lane's packets | packets: data and flag in one access (LL) | 1 |
//! | larger | *ready* flags, loads and stores of peers' memory, *done* flags | 2, and the data's time |
//!
//! A reduction of larger data is in one pass: each PE combines a part of the elements, which it loads from all PEs, and stores
//! the result to all. In packets each PE combines all elements. Both combine in the order of the PEs: the result depends on
//! the elements alone.
//!
//! | file | what it holds |
//! |---|---|
//! | `lane` | rounds, and the flags *ready* and *done* |
//! | `packets` | packets of a round |
//! | `alike` | what the checker is told of a call |
//! | `plan` | which protocol, and how many lanes |
//! | `words`, `walk` | memory as words of 8 bytes; which of them a thread has to do with |
//! | `element`, `ops` | the types of reductions and the operators |
//! | `form`, `numbered` | reductions and operators as numbers, for kernels that are to do all of them |
//! | `combine` | reductions by packets |
//! | `fused` | reductions by loads and stores |
//! | [`schedule`], `follow` | rings, trees and hierarchies of messages, each a put and a signal, for paths without loads and stores; [`follow`](crate::Scoped::follow) does what one says |

mod alike;
mod combine;
mod element;
mod exchange;
mod follow;
mod form;
mod fused;
mod lane;
mod numbered;
mod ops;
mod packets;
mod plan;
mod reduce;
pub mod schedule;
mod varying;
mod walk;
mod words;

#[doc(hidden)]
pub use alike::{Alike, InPlace, Operands};
pub use element::Element;
pub use follow::Course;
#[doc(hidden)]
pub use form::Form;
#[doc(hidden)]
pub use numbered::{Numbered, NumberedSum, Numbers};
pub use ops::{And, FloatOp, IntegerOp, Max, Min, Or, Prod, Reduction, Sum, Xor};
pub use varying::Parts;

use crate::abi::{Cause, Operation};
use crate::arch::order;
use crate::context::MayWait;
use crate::fault::{Fault, fail};
use crate::scope::{Scope, Scoped};
use crate::sym::{Data, Sym};

/// The number of an operation of a channel, as flags and packets carry it: the team in the upper bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round(u64);

impl<S: Scope, C: MayWait> Scoped<S, C> {
    /// Ends the calling thread unless two lengths are the same: that of `target` and what its source asks for.
    #[inline(always)]
    fn same_lengths<T: Data>(self, of: Sym<[T]>, target: u64, source: u64, operation: Operation) {
        if target != source {
            let peer = self.shmem().my_pe();
            let fault = Fault { peer, offset: of.offset(), ..Fault::new(Cause::LengthMismatch, operation) };
            fail(self.shmem(), Fault { expected: target, seen: source, ..fault });
        }
    }

    /// Ends the calling thread unless `target` has `expected` elements, as its source asks for.
    #[inline(always)]
    fn has_length<T: Data>(self, target: Sym<[T]>, expected: u64, operation: Operation) {
        self.same_lengths(target, target.len(), expected, operation);
    }

    /// The heap offset of the own copy of `memory`; ends the calling thread if the handle came from an index out of range.
    #[inline(always)]
    fn offset_of<T: Data>(self, memory: Sym<[T]>, operation: Operation) -> u64 {
        self.shmem().own_address(memory.span(), operation) - self.shmem().abi.heap_base
    }

    /// Ends the calling thread if the team has no PE `root`.
    #[inline(always)]
    fn has_pe(self, root: u32, operation: Operation) {
        if root >= self.context.pes() {
            let fault = Fault { peer: root, ..Fault::new(Cause::PeOutOfRange, operation) };
            let (expected, seen) = (self.context.pes().into(), root.into());
            fail(self.shmem(), Fault { expected, seen, ..fault });
        }
    }
}

/// Bytes of a number of elements.
#[inline(always)]
fn bytes<T>(elements: u64) -> u64 {
    elements * size_of::<T>() as u64
}

/// The same numbers, of which the compiler knows nothing: what follows from them is computed where it is used. Otherwise it would be
/// kept for every way that an operation may take, in more registers than there are, where operations stand in a loop.
#[inline(always)]
fn afresh(to: u64, from: u64, bytes: u64) -> (u64, u64, u64) {
    (order::opaque(to), order::opaque(from), order::opaque(bytes))
}

/// Where part `index` of `parts` of `total` things begins.
#[inline(always)]
fn begin_of(total: u64, parts: u32, index: u32) -> u64 {
    if parts == 1 {
        return total * u64::from(index);
    }
    total / u64::from(parts) * u64::from(index) + (total % u64::from(parts)).min(index.into())
}
