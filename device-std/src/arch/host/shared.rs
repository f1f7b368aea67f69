//! Dynamic shared memory: see `arch/ptx/shared.rs`.

use super::hooks::current;

/// Address of the block's dynamic shared memory.
pub(crate) fn base() -> u64 {
    current().shared().0
}

/// Bytes of dynamic shared memory that the launch gave.
pub(crate) fn bytes() -> u32 {
    current().shared().1
}

/// The block's own slot; those before it are the warps'.
pub(crate) const BLOCK_SLOT: u32 = 32;

/// Address of a 16-byte slot of scratch memory.
pub(crate) fn scratch(slot: u32) -> u64 {
    current().scratch() + 16 * u64::from(slot)
}
