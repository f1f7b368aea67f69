//! Fences, time and the end of a thread: see `arch/ptx/order.rs`.

use super::hooks::{Instruction, Switch, current};
use core::sync::atomic::{Ordering, fence};

/// `fence.sc.sys`.
pub(crate) fn fence_sc_sys() {
    if let Some(checked) = current().checked() {
        return checked.fence();
    }
    current().instruction(Instruction::Fence);
    fence(Ordering::SeqCst);
}

/// `fence.acq_rel.sys`. The checker knows one fence, which is stronger.
pub(crate) fn fence_acq_rel_sys() {
    if let Some(checked) = current().checked() {
        return checked.fence();
    }
    current().instruction(Instruction::Fence);
    fence(Ordering::AcqRel);
}

/// `fence.sc.gpu`.
pub(crate) fn fence_sc_gpu() {
    fence_sc_sys();
}

/// `nanosleep`: others run until the time has come or memory has changed.
pub(crate) fn nanosleep(nanoseconds: u32) {
    let until = now().saturating_add(u64::from(nanoseconds));
    current().switch(Switch::PollFailed { until });
}

/// Whether there is a [`fence_acquire_sys`].
pub(crate) const HAS_FENCE_ACQUIRE: bool = true;

/// `fence.acquire.sys`.
pub(crate) fn fence_acquire_sys() {
    if let Some(checked) = current().checked() {
        return checked.fence_acquire();
    }
    current().instruction(Instruction::FenceAcquire);
    fence(Ordering::Acquire);
}

/// The device's clock.
pub(crate) fn now() -> u64 {
    current().now()
}

/// The device's clock, of which the emulator counts a million steps a second, as nanoseconds.
pub(crate) fn globaltimer() -> u64 {
    now().saturating_mul(1000)
}

/// The time of a record: the host's clock, in nanoseconds. The emulator's own is the machine's, and those of several
/// processes have nothing to do with each other.
pub(crate) fn trace_time() -> u64 {
    current().host_time()
}

/// Whether a guard is dropped because its function returns, and not because its thread is unwound.
pub(crate) fn returns() -> bool {
    !std::thread::panicking()
}

/// The device's clock, in steps.
pub(crate) fn clock64() -> u64 {
    now()
}

/// After a failed poll: lets other threads run.
pub(crate) fn poll_failed(failed: u32, until: u64) {
    let _ = failed;
    current().switch(Switch::PollFailed { until });
}

/// Ends this thread.
pub(crate) fn exit() -> ! {
    current().exit()
}

/// How many failed polls there are between two looks at the abort word and the clock. Each: the scheduler
/// moves the clock only when nothing else can happen.
pub(crate) const POLLS_PER_CHECK: u32 = 1;

/// Hides where a value comes from; see `arch/ptx/order.rs`.
pub(crate) fn opaque(value: u64) -> u64 {
    value
}
