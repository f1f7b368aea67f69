//! Read-modify-writes: see `arch/ptx/atomic.rs`.

use super::hooks::{Instruction, Order, current};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

fn seam(address: u64, bytes: u32, order: Order) {
    current().instruction(Instruction::Atomic { address, bytes, order });
}

macro_rules! rmw {
    ($($add:ident $fetch_add:ident $compare_swap:ident $swap:ident $ty:ty, $atomic:ty;)*) => {
        $(
            /// `red.relaxed.sys.add`.
            ///
            /// # Safety
            /// `address` is aligned and mapped.
            pub(crate) unsafe fn $add(address: u64, value: $ty) {
                // SAFETY: passed on.
                unsafe { $fetch_add(address, value) };
            }

            /// `atom.relaxed.sys.add`.
            ///
            /// # Safety
            /// `address` is aligned and mapped.
            pub(crate) unsafe fn $fetch_add(address: u64, value: $ty) -> $ty {
                seam(address, size_of::<$ty>() as u32, Order::Relaxed);
                // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                unsafe { (*(address as *const $atomic)).fetch_add(value, Ordering::Relaxed) }
            }

            /// `atom.relaxed.sys.cas`.
            ///
            /// # Safety
            /// `address` is aligned and mapped.
            pub(crate) unsafe fn $compare_swap(address: u64, expected: $ty, new: $ty) -> $ty {
                seam(address, size_of::<$ty>() as u32, Order::Relaxed);
                // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                let word = unsafe { &*(address as *const $atomic) };
                match word.compare_exchange(expected, new, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// `atom.relaxed.sys.exch`.
            ///
            /// # Safety
            /// `address` is aligned and mapped.
            pub(crate) unsafe fn $swap(address: u64, value: $ty) -> $ty {
                seam(address, size_of::<$ty>() as u32, Order::Relaxed);
                // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                unsafe { (*(address as *const $atomic)).swap(value, Ordering::Relaxed) }
            }
        )*
    };
}
rmw! {
    add_u32 fetch_add_u32 compare_swap_u32 swap_u32 u32, AtomicU32;
    add_u64 fetch_add_u64 compare_swap_u64 swap_u64 u64, AtomicU64;
}

/// `red.release.sys.add`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn add_release_u64(address: u64, value: u64) {
    seam(address, 8, Order::Release);
    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
    unsafe { (*(address as *const AtomicU64)).fetch_add(value, Ordering::Release) };
}

/// `atom.acq_rel.gpu.add`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn arrive_gpu_u32(address: u64, value: u32) -> u32 {
    seam(address, 4, Order::Gpu);
    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
    unsafe { (*(address as *const AtomicU32)).fetch_add(value, Ordering::AcqRel) }
}

/// `ld.acquire.gpu`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn load_acquire_gpu_u32(address: u64) -> u32 {
    current().instruction(Instruction::Load { address, bytes: 4, order: Order::Gpu });
    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
    unsafe { (*(address as *const AtomicU32)).load(Ordering::Acquire) }
}

/// `atom.acq_rel.cta.shared.add`.
///
/// # Safety
/// `address` is aligned and lies in the block's shared memory.
pub(crate) unsafe fn arrive_shared_u32(address: u64, value: u32) -> u32 {
    current().instruction(Instruction::Arrive);
    // SAFETY: shared memory belongs to one block, whose threads share one OS thread.
    unsafe {
        let word = address as *mut u32;
        word.replace((*word).wrapping_add(value))
    }
}

/// `ld.acquire.cta.shared`.
///
/// # Safety
/// As [`arrive_shared_u32`].
pub(crate) unsafe fn load_acquire_shared_u32(address: u64) -> u32 {
    // SAFETY: as in `arrive_shared_u32`.
    unsafe { (address as *const u32).read() }
}
