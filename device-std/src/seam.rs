//! The operation seam: tells the emulator which public operation a thread enters, with its source line. On a
//! device it is nothing.

use crate::abi::Operation;
use crate::collective::{Alike, Operands};
use crate::context::Context;
use crate::meeting::Meeting;
use crate::together::Together;

/// Enters an operation. `bytes` is what the whole scope moves.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
pub(crate) fn operation(together: Together, operation: Operation, offset: u64, bytes: u64, pe: u32) {
    use crate::arch::host::hooks::{OperationEvent, Switch, current};
    let hooks = current();
    let event = OperationEvent { together, operation, offset, bytes, pe };
    hooks.operation(event, core::panic::Location::caller());
    hooks.switch(Switch::Communication);
}

/// Enters an operation: nothing to do here.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn operation(_: Together, _: Operation, _: u64, _: u64, _: u32) {}

/// Says what else the operation that the thread has entered is called with, as a number: a value or a goal.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn with(value: u64) {
    if let Some(checked) = crate::arch::host::hooks::current().checked() {
        checked.with(value);
    }
}

/// A value or a goal: nothing to do here.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn with(_: u64) {}

/// Comes to an access of the own memory, or to a join, which no other thread can tell from what the thread computes: only
/// a checked run looks at it.
#[cfg(not(target_arch = "nvptx64"))]
#[inline(always)]
#[track_caller]
pub(crate) fn access(together: Together, operation: Operation) {
    use crate::arch::host::hooks::current;
    if let Some(checked) = current().checked() {
        checked.access(together, operation, core::panic::Location::caller());
    }
}

/// Comes to an access: nothing to do here.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn access(_: Together, _: Operation) {}

/// Says whether the test that the thread is in was true: if not, what it has read orders nothing.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn tested(holds: bool) {
    if let Some(checked) = crate::arch::host::hooks::current().checked() {
        checked.tested(holds);
    }
}

/// The answer of a test: nothing to do here.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn tested(_: bool) {}

/// The calling thread begins, for its PE, what the PEs of `context` do together at `meeting`: a barrier, or a collective
/// operation, of which `told` gives what they must give it alike, and the memory here.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn collective<C: Context>(
    operation: Operation,
    context: C,
    meeting: Meeting,
    told: impl FnOnce() -> Option<(Alike, Operands)>,
) {
    use crate::arch::host::hooks::{TeamCall, current};
    if let Some(checked) = current().checked() {
        let at = turn(context, meeting);
        checked.collective(TeamCall { operation, at, pes: context.pes(), data: told() });
    }
}

/// What PEs do together: nothing to do here.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn collective<C: Context>(
    _: Operation,
    _: C,
    _: Meeting,
    _: impl FnOnce() -> Option<(Alike, Operands)>,
) {
}

/// Where it is.
#[cfg(not(target_arch = "nvptx64"))]
fn turn<C: Context>(context: C, meeting: Meeting) -> crate::arch::host::hooks::Turn {
    crate::arch::host::hooks::Turn {
        team: meeting.team,
        channel: meeting.channel,
        first: context.world_pe(0),
    }
}

/// The calling thread has ended, for its PE, what it began by [`collective`].
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn collective_over<C: Context>(operation: Operation, context: C, meeting: Meeting) {
    if let Some(checked) = crate::arch::host::hooks::current().checked() {
        checked.collective_over(operation, turn(context, meeting));
    }
}

/// The end of it: nothing to do here.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn collective_over<C: Context>(_: Operation, _: C, _: Meeting) {}
