//! Dynamic shared memory, declared once for every kernel, whose size the launch sets; and a little static shared memory
//! of this crate's own, which only kernels have that use it.

use core::arch::{asm, global_asm};

global_asm!(".extern .shared .align 128 .b8 oxshmem_dynamic_shared[];");
global_asm!(".shared .align 16 .b8 oxshmem_scratch[528];");

/// The block's own slot; those before it are the warps'.
pub(crate) const BLOCK_SLOT: u32 = 32;

/// Shared-window address of a 16-byte slot of scratch memory: 32 for the warps, and the block's. Not zero at first.
#[inline(always)]
pub(crate) fn scratch(slot: u32) -> u64 {
    let address: u32;
    // SAFETY: takes the address of a declared symbol.
    unsafe { asm!("mov.u32 {}, oxshmem_scratch;", out(reg32) address, options(pure, nomem, nostack)) };
    u64::from(address + 16 * slot)
}

/// Shared-window address of the block's dynamic shared memory.
#[inline(always)]
pub(crate) fn base() -> u64 {
    let address: u32;
    // SAFETY: takes the address of a declared symbol.
    unsafe { asm!("mov.u32 {}, oxshmem_dynamic_shared;", out(reg32) address, options(pure, nomem, nostack)) };
    u64::from(address)
}

/// Bytes of dynamic shared memory that the launch gave.
#[inline(always)]
pub(crate) fn bytes() -> u32 {
    let bytes: u32;
    // SAFETY: reads a special register that does not change during the thread's life.
    unsafe { asm!("mov.u32 {}, %dynamic_smem_size;", out(reg32) bytes, options(pure, nomem, nostack)) };
    bytes
}

/// The generic address of a byte of shared memory (`cvta.shared`). Accesses through it are generic ones.
#[inline(always)]
pub(crate) fn generic(address: u64) -> u64 {
    let wide: u64;
    // SAFETY: arithmetic on an address.
    unsafe {
        asm!("cvta.shared.u64 {}, {};", out(reg64) wide, in(reg64) address, options(pure, nomem, nostack))
    };
    wide
}
