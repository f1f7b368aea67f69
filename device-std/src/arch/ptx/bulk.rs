//! The bulk copy engine (`cp.async.bulk`, sm_90; PTX ISA 9.7.9.25) and its barriers in shared memory. Sizes are multiples
//! of 16 bytes, addresses aligned to 16. On older devices nothing here is called: see [`AVAILABLE`].

use core::arch::asm;

/// Whether the device that is compiled for has the engine.
pub(crate) const AVAILABLE: bool = cfg!(target_feature = "sm_90");

/// Starts a copy from shared to global memory.
///
/// # Safety
/// Both ranges are valid, and nothing writes the source before [`wait_reads`].
#[inline(always)]
pub(crate) unsafe fn store(global: u64, shared: u64, bytes: u32) {
    // SAFETY: the caller vouches for the ranges.
    unsafe {
        asm!("cp.async.bulk.global.shared::cta.bulk_group [{}], [{}], {};", in(reg64) global, in(reg32) shared as u32, in(reg32) bytes, options(nostack));
    }
}

/// Starts a copy from global to shared memory that completes on the barrier at `barrier`.
///
/// # Safety
/// Both ranges are valid, the barrier expects the bytes, and nothing touches the target before its phase is over.
#[inline(always)]
pub(crate) unsafe fn load(shared: u64, global: u64, bytes: u32, barrier: u64) {
    // SAFETY: the caller vouches for the ranges. An address of the own block is one of the cluster's window too.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];", in(reg32) shared as u32, in(reg64) global, in(reg32) bytes, in(reg32) barrier as u32, options(nostack));
    }
}

macro_rules! reduce {
    ($($name:ident $what:literal;)*) => {
        $(
            #[doc = concat!("Starts an element-wise `.add", $what, "` of shared memory into global memory.")]
            ///
            /// # Safety
            /// As [`store`].
            #[inline(always)]
            pub(crate) unsafe fn $name(global: u64, shared: u64, bytes: u32) {
                // SAFETY: the caller vouches for the ranges.
                unsafe {
                    asm!(concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group.add", $what, " [{}], [{}], {};"), in(reg64) global, in(reg32) shared as u32, in(reg32) bytes, options(nostack));
                }
            }
        )*
    };
}
reduce! {
    add_u32 ".u32";
    add_u64 ".u64";
    add_f32 ".f32";
    add_f16 ".noftz.f16";
    add_bf16 ".noftz.bf16";
}

/// Closes this thread's group of the stores and reductions that it has started.
#[inline(always)]
pub(crate) fn commit() {
    // SAFETY: touches no memory.
    unsafe { asm!("cp.async.bulk.commit_group;", options(nostack)) };
}

/// Waits until everything that this thread has committed is complete: written, and visible to it.
#[inline(always)]
pub(crate) fn wait_stores() {
    if AVAILABLE {
        // SAFETY: waits for what was started.
        unsafe { asm!("cp.async.bulk.wait_group 0;", options(nostack)) };
    }
}

/// Waits until everything that this thread has committed has read its source.
#[inline(always)]
pub(crate) fn wait_reads() {
    if AVAILABLE {
        // SAFETY: waits for what was started.
        unsafe { asm!("cp.async.bulk.wait_group.read 0;", options(nostack)) };
    }
}

/// As [`wait_reads`], but for the group committed last.
#[inline(always)]
pub(crate) fn wait_reads_but_last() {
    if AVAILABLE {
        // SAFETY: waits for what was started.
        unsafe { asm!("cp.async.bulk.wait_group.read 1;", options(nostack)) };
    }
}

/// Orders generic accesses of global memory before, and the engine's after it.
#[inline(always)]
pub(crate) fn fence_global() {
    if AVAILABLE {
        // SAFETY: a fence touches no memory of the program.
        unsafe { asm!("fence.proxy.async.global;", options(nostack)) };
    }
}

/// Orders generic accesses of shared memory before, and the engine's after it.
#[inline(always)]
pub(crate) fn fence_shared() {
    if AVAILABLE {
        // SAFETY: a fence touches no memory of the program.
        unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack)) };
    }
}

/// Prepares a barrier on which one thread arrives per phase.
///
/// # Safety
/// `barrier` is 8 bytes of the block's shared memory, aligned, that nobody uses.
#[inline(always)]
pub(crate) unsafe fn barrier_init(barrier: u64) {
    // SAFETY: the caller vouches for the address.
    unsafe { asm!("mbarrier.init.shared::cta.b64 [{}], 1;", in(reg32) barrier as u32, options(nostack)) };
}

/// Arrives, and says how many bytes the phase waits for.
///
/// # Safety
/// `barrier` is one that [`barrier_init`] prepared.
#[inline(always)]
pub(crate) unsafe fn barrier_expect(barrier: u64, bytes: u32) {
    // SAFETY: the caller vouches for the barrier.
    unsafe {
        asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};", in(reg32) barrier as u32, in(reg32) bytes, options(nostack));
    }
}

/// Whether the phase of this parity is over; waits a little for it.
///
/// # Safety
/// As [`barrier_expect`].
#[inline(always)]
pub(crate) unsafe fn barrier_passed(barrier: u64, parity: u32) -> bool {
    let passed: u32;
    // SAFETY: the caller vouches for the barrier.
    unsafe {
        asm!("{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [{}], {}; selp.u32 {}, 1, 0, p; }}", in(reg32) barrier as u32, in(reg32) parity, out(reg32) passed, options(nostack));
    }
    passed != 0
}
