//! Dynamic shared memory, declared once for every kernel; the launch sets its size.

use core::arch::{asm, global_asm};

global_asm!(".extern .shared .align 128 .b8 oxshmem_dynamic_shared[];");

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
