//! Read-modify-writes, each with its semantic and scope. `core::sync::atomic` must not be used for them: LLVM
//! lowers its `fetch_add` to a plain `atom.global.add`, which is relaxed and of gpu scope whatever was asked.

use core::arch::asm;

macro_rules! rmw {
    ($($add:ident $fetch_add:ident $compare_swap:ident $swap:ident $ty:ty, $reg:ident, $b:literal, $u:literal;)*) => {
        $(
            /// `red.relaxed.sys.add`: adds, returns nothing, orders nothing.
            ///
            /// # Safety
            /// `address` is aligned and mapped for this device.
            #[inline(always)]
            pub(crate) unsafe fn $add(address: u64, value: $ty) {
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("red.relaxed.sys.global.add.", $u, " [{}], {};"), in(reg64) address, in($reg) value, options(nostack)) };
            }

            /// `atom.relaxed.sys.add`: adds and returns the old value.
            ///
            /// # Safety
            /// `address` is aligned and mapped for this device.
            #[inline(always)]
            pub(crate) unsafe fn $fetch_add(address: u64, value: $ty) -> $ty {
                let old: $ty;
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("atom.relaxed.sys.global.add.", $u, " {}, [{}], {};"), out($reg) old, in(reg64) address, in($reg) value, options(nostack)) };
                old
            }

            /// `atom.relaxed.sys.cas`: stores `new` if the word equals `expected`; returns the old value.
            ///
            /// # Safety
            /// `address` is aligned and mapped for this device.
            #[inline(always)]
            pub(crate) unsafe fn $compare_swap(address: u64, expected: $ty, new: $ty) -> $ty {
                let old: $ty;
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("atom.relaxed.sys.global.cas.", $b, " {}, [{}], {}, {};"), out($reg) old, in(reg64) address, in($reg) expected, in($reg) new, options(nostack)) };
                old
            }

            /// `atom.relaxed.sys.exch`: stores `value`, returns the old one.
            ///
            /// # Safety
            /// `address` is aligned and mapped for this device.
            #[inline(always)]
            pub(crate) unsafe fn $swap(address: u64, value: $ty) -> $ty {
                let old: $ty;
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("atom.relaxed.sys.global.exch.", $b, " {}, [{}], {};"), out($reg) old, in(reg64) address, in($reg) value, options(nostack)) };
                old
            }
        )*
    };
}
rmw! {
    add_u32 fetch_add_u32 compare_swap_u32 swap_u32 u32, reg32, "b32", "u32";
    add_u64 fetch_add_u64 compare_swap_u64 swap_u64 u64, reg64, "b64", "u64";
}

/// `red.release.sys.add`: everything before it is visible before the sum is.
///
/// # Safety
/// `address` is aligned and mapped for this device.
#[inline(always)]
pub(crate) unsafe fn add_release_u64(address: u64, value: u64) {
    // SAFETY: the caller vouches for the address.
    unsafe {
        asm!("red.release.sys.global.add.u64 [{}], {};", in(reg64) address, in(reg64) value, options(nostack))
    };
}

/// `atom.acq_rel.gpu.add`: the arrival at a grid barrier.
///
/// # Safety
/// `address` is aligned and lies in this device's memory.
#[inline(always)]
pub(crate) unsafe fn arrive_gpu_u32(address: u64, value: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller vouches for the address.
    unsafe {
        asm!("atom.acq_rel.gpu.global.add.u32 {}, [{}], {};", out(reg32) old, in(reg64) address, in(reg32) value, options(nostack))
    };
    old
}

/// `ld.acquire.gpu`: the poll of a grid barrier.
///
/// # Safety
/// `address` is aligned and lies in this device's memory.
#[inline(always)]
pub(crate) unsafe fn load_acquire_gpu_u32(address: u64) -> u32 {
    let value: u32;
    // SAFETY: the caller vouches for the address.
    unsafe {
        asm!("ld.acquire.gpu.global.b32 {}, [{}];", out(reg32) value, in(reg64) address, options(nostack))
    };
    value
}

/// `atom.acq_rel.cta.shared.add`: the arrival at a barrier of some warps.
///
/// # Safety
/// `address` is an aligned shared-window address inside the block's allocation.
#[inline(always)]
pub(crate) unsafe fn arrive_shared_u32(address: u64, value: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller vouches for the address.
    unsafe {
        asm!("atom.acq_rel.cta.shared.add.u32 {}, [{}], {};", out(reg32) old, in(reg32) address as u32, in(reg32) value, options(nostack))
    };
    old
}

/// `ld.acquire.cta.shared`: the poll of a barrier of some warps.
///
/// # Safety
/// As [`arrive_shared_u32`].
#[inline(always)]
pub(crate) unsafe fn load_acquire_shared_u32(address: u64) -> u32 {
    let value: u32;
    // SAFETY: the caller vouches for the address.
    unsafe {
        asm!("ld.acquire.cta.shared.b32 {}, [{}];", out(reg32) value, in(reg32) address as u32, options(nostack))
    };
    value
}
