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

/// The generic address of a byte of shared memory.
pub(crate) fn generic(address: u64) -> u64 {
    address
}

/// The block's static shared memory that belongs to the place in the program named `site`. On a device the builder's
/// pass declares it; so this alone has no twin.
pub(crate) fn fixed(site: usize, bytes: usize, align: usize) -> u64 {
    current().fixed_shared(site, bytes, align)
}
