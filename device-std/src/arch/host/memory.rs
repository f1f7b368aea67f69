//! Loads and stores: see `arch/ptx/memory.rs`.

use super::hooks::{Instruction, Order, current};
use crate::arch::{V16, Word};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

fn seam_load(address: u64, bytes: u32, order: Order) {
    current().instruction(Instruction::Load { address, bytes, order });
}

fn seam_store(address: u64, bytes: u32, order: Order) {
    current().instruction(Instruction::Store { address, bytes, order });
}

/// The accesses of memory that one OS thread owns, the same for every width.
macro_rules! one_owner {
    () => {
        unsafe fn load_shared(address: u64) -> Self {
            // SAFETY: shared memory belongs to one block, whose threads share one OS thread.
            unsafe { (address as *const Self).read() }
        }
        unsafe fn store_shared(address: u64, value: Self) {
            // SAFETY: as in `load_shared`.
            unsafe { (address as *mut Self).write(value) }
        }
        unsafe fn load_generic(address: u64) -> Self {
            // SAFETY: the caller vouches for a live, aligned address private to the thread.
            unsafe { (address as *const Self).read() }
        }
        unsafe fn store_generic(address: u64, value: Self) {
            // SAFETY: as in `load_generic`.
            unsafe { (address as *mut Self).write(value) }
        }
    };
}

macro_rules! word {
    ($($ty:ty, $atomic:ty;)*) => {
        $(
            impl Word for $ty {
                unsafe fn load_global(address: u64) -> Self {
                    seam_load(address, size_of::<Self>() as u32, Order::Weak);
                    // SAFETY: the caller vouches for an aligned, mapped address; all accesses to it are atomic.
                    unsafe { (*(address as *const $atomic)).load(Ordering::Relaxed) }
                }
                unsafe fn store_global(address: u64, value: Self) {
                    seam_store(address, size_of::<Self>() as u32, Order::Weak);
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).store(value, Ordering::Relaxed) }
                }
                unsafe fn store_relaxed(address: u64, value: Self) {
                    seam_store(address, size_of::<Self>() as u32, Order::Relaxed);
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).store(value, Ordering::Relaxed) }
                }
                unsafe fn load_relaxed(address: u64) -> Self {
                    seam_load(address, size_of::<Self>() as u32, Order::Relaxed);
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).load(Ordering::Relaxed) }
                }
                one_owner!();
            }
        )*
    };
}
word! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

/// The two halves of a 16-byte access.
///
/// # Safety
/// `address` is 16-aligned and mapped.
unsafe fn halves<'a>(address: u64) -> (&'a AtomicU64, &'a AtomicU64) {
    // SAFETY: the caller vouches for 16 aligned, mapped bytes, all accesses to which are atomic.
    unsafe { (&*(address as *const AtomicU64), &*((address + 8) as *const AtomicU64)) }
}

impl Word for V16 {
    unsafe fn load_global(address: u64) -> Self {
        seam_load(address, 16, Order::Weak);
        // SAFETY: passed on.
        let (a, b) = unsafe { halves(address) };
        V16(a.load(Ordering::Relaxed), b.load(Ordering::Relaxed))
    }
    unsafe fn store_global(address: u64, value: Self) {
        seam_store(address, 16, Order::Weak);
        // SAFETY: passed on.
        let (a, b) = unsafe { halves(address) };
        a.store(value.0, Ordering::Relaxed);
        b.store(value.1, Ordering::Relaxed);
    }
    unsafe fn store_relaxed(address: u64, value: Self) {
        seam_store(address, 16, Order::Relaxed);
        // The device's 16-byte scalar access is single-copy atomic; a lock stands in for it here.
        let _whole = lock_16();
        // SAFETY: passed on.
        let (a, b) = unsafe { halves(address) };
        a.store(value.0, Ordering::Relaxed);
        b.store(value.1, Ordering::Relaxed);
    }
    unsafe fn load_relaxed(address: u64) -> Self {
        seam_load(address, 16, Order::Relaxed);
        let _whole = lock_16();
        // SAFETY: passed on.
        let (a, b) = unsafe { halves(address) };
        V16(a.load(Ordering::Relaxed), b.load(Ordering::Relaxed))
    }
    one_owner!();
}

/// Makes 16-byte strong accesses of this process exclude each other.
fn lock_16() -> std::sync::MutexGuard<'static, ()> {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// `ld.acquire.sys`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn load_acquire_u64(address: u64) -> u64 {
    seam_load(address, 8, Order::Acquire);
    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
    unsafe { (*(address as *const AtomicU64)).load(Ordering::Acquire) }
}

/// `st.release.sys`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn store_release_u64(address: u64, value: u64) {
    seam_store(address, 8, Order::Release);
    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
    unsafe { (*(address as *const AtomicU64)).store(value, Ordering::Release) }
}

/// `st.release.sys` of a 32-bit word.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn store_release_u32(address: u64, value: u32) {
    seam_store(address, 4, Order::Release);
    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
    unsafe { (*(address as *const AtomicU32)).store(value, Ordering::Release) }
}
