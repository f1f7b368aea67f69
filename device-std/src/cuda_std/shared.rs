//! The block's shared memory by pointers. As `cuda_std::shared`; the static arrays are [`shared_array!`](super::shared_array!).
//!
//! Accesses through such a pointer are generic ones (`ld`, `st`), because the compiler loses the address space: slower
//! than the handles of [`shared!`](crate::shared!), which say `ld.shared`.

use crate::arch::shared;

/// The block's dynamic shared memory: as many bytes as the launch says by `LaunchConfig::extra_shared`, aligned to 128,
/// not initialised. Every call returns the same pointer.
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    core::ptr::with_exposed_provenance_mut(shared::generic(shared::base()) as usize)
}

/// The block's array of the place in the program that the address of `site` names. `shared_array!` calls this.
#[doc(hidden)]
#[cfg(not(target_arch = "nvptx64"))]
pub fn fixed<T, const N: usize>(site: &'static u8) -> *mut T {
    let address = shared::fixed(site as *const u8 as usize, size_of::<[T; N]>(), align_of::<T>().max(16));
    core::ptr::with_exposed_provenance_mut(address as usize)
}
