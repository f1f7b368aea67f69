//! Fences, time and the end of a thread.

use core::arch::asm;

/// `fence.sc.sys`: what `fence` and `quiet` need. `acq_rel` is too weak for both (it allows store buffering
/// and 2+2W, PTX ISA 8.10.6) and costs the same.
#[inline(always)]
pub(crate) fn fence_sc_sys() {
    // SAFETY: a fence touches no memory of the program; without `nomem` the compiler moves nothing across it.
    unsafe { asm!("fence.sc.sys;", options(nostack)) };
}

/// `fence.acq_rel.sys`: orders what was stored before what will be, for who sees the latter. It does not order a store before
/// a load: for that [`fence_sc_sys`].
#[inline(always)]
pub(crate) fn fence_acq_rel_sys() {
    // SAFETY: as `fence_sc_sys`.
    unsafe { asm!("fence.acq_rel.sys;", options(nostack)) };
}

/// `fence.sc.gpu`: CUDA's `__threadfence`.
#[inline(always)]
pub(crate) fn fence_sc_gpu() {
    // SAFETY: as `fence_sc_sys`.
    unsafe { asm!("fence.sc.gpu;", options(nostack)) };
}

/// `nanosleep`: suspends the thread for at most twice that time.
#[inline(always)]
pub(crate) fn nanosleep(nanoseconds: u32) {
    // SAFETY: sleeps for a bounded time, touches nothing; what is read after it is read again.
    unsafe { asm!("nanosleep.u32 {};", in(reg32) nanoseconds, options(nostack)) };
}

/// Whether this architecture has [`fence_acquire_sys`].
pub(crate) const HAS_FENCE_ACQUIRE: bool = cfg!(target_feature = "sm_90");

/// `fence.acquire.sys`: makes the relaxed loads before it acquire. It invalidates the L1 and waits for nothing, where
/// `acq_rel` would drain all stores (PTX ISA 8.6, sm_90). Elsewhere each word is loaded again, with acquire.
#[cfg(target_feature = "sm_90")]
#[inline(always)]
pub(crate) fn fence_acquire_sys() {
    // SAFETY: as `fence_sc_sys`.
    unsafe { asm!("fence.acquire.sys;", options(nostack)) };
}

/// Nothing: see [`HAS_FENCE_ACQUIRE`].
#[cfg(not(target_feature = "sm_90"))]
#[inline(always)]
pub(crate) fn fence_acquire_sys() {}

/// Nanoseconds of `%globaltimer`, shared by all threads of a device.
#[inline(always)]
pub(crate) fn now() -> u64 {
    let time: u64;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u64 {}, %globaltimer;", out(reg64) time, options(nostack, nomem)) };
    time
}

/// Nanoseconds of `%globaltimer`, read where the program says: no access of memory is moved past it by the compiler.
#[inline(always)]
pub(crate) fn globaltimer() -> u64 {
    let time: u64;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u64 {}, %globaltimer;", out(reg64) time, options(nostack)) };
    time
}

/// The time of a record: [`globaltimer`].
#[inline(always)]
pub(crate) fn trace_time() -> u64 {
    globaltimer()
}

/// Whether a guard is dropped because its function returns: no other way leads there.
#[cfg(oxshmem_trace)]
#[inline(always)]
pub(crate) fn returns() -> bool {
    true
}

/// Cycles of `%clock64`, read where the program says.
#[inline(always)]
pub(crate) fn clock64() -> u64 {
    let cycles: u64;
    // SAFETY: as `globaltimer`.
    unsafe { asm!("mov.u64 {}, %clock64;", out(reg64) cycles, options(nostack)) };
    cycles
}

/// Called after the `failed`-th poll in a row that found its condition false. Backs off, and says where the
/// emulator may run another thread. `until` is the moment at which the wait expires.
#[inline(always)]
pub(crate) fn poll_failed(failed: u32, until: u64) {
    let _ = until;
    // The first polls go back to back: a signal over NVLink takes about a microsecond.
    if failed > 64 {
        // SAFETY: sleeps for a bounded time, touches nothing.
        unsafe {
            asm!("nanosleep.u32 {};", in(reg32) if failed > 4096 { 256u32 } else { 32u32 }, options(nostack))
        };
    }
}

/// Ends this thread. A barrier of the whole block counts only the threads that have not exited.
#[inline(always)]
pub(crate) fn exit() -> ! {
    // SAFETY: `exit` ends the thread; a kernel's frame owns nothing that needs dropping.
    unsafe { asm!("exit;", options(nostack, noreturn)) }
}

/// How many failed polls there are between two looks at the abort word and the clock.
pub(crate) const POLLS_PER_CHECK: u32 = 1024;

/// What a Rust panic becomes: the context is lost. Documented; oxshmem's own errors never take this way.
#[inline(always)]
pub(crate) fn trap() -> ! {
    // SAFETY: ends the kernel.
    unsafe { asm!("trap; exit;", options(nostack, noreturn)) }
}

/// Hides where a value comes from. What is computed from it is then computed here, not hoisted out of the
/// loops around: addresses of a rarely taken operation would otherwise hold registers for a whole kernel.
#[inline(always)]
pub(crate) fn opaque(value: u64) -> u64 {
    let mut value = value;
    // SAFETY: no instruction.
    unsafe { asm!("/* {} */", inout(reg64) value, options(nomem, nostack, preserves_flags)) };
    value
}
