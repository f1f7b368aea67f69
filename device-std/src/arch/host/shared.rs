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
