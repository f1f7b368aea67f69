//! The operation seam: tells the emulator which public operation a thread enters, with its source line. On a
//! device it is nothing.

use crate::abi::Operation;

/// Enters an operation. `bytes` is what the whole scope moves.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
pub(crate) fn operation(operation: Operation, offset: u64, bytes: u64, pe: u32) {
    use crate::arch::host::hooks::{OperationEvent, Switch, current};
    let hooks = current();
    hooks.operation(OperationEvent { operation, offset, bytes, pe }, core::panic::Location::caller());
    hooks.switch(Switch::Communication);
}

/// Enters an operation: nothing to do here.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) fn operation(_: Operation, _: u64, _: u64, _: u32) {}
