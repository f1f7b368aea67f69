//! Loads and stores: see `arch/ptx/memory.rs`.

use super::hooks::{Access, Instruction, Order, current};
use crate::arch::{V16, Word};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Announces a load; what it reads if the run is checked.
fn seam_load(address: u64, bytes: u32, order: Order) -> Option<[u64; 2]> {
    let hooks = current();
    match hooks.checked() {
        Some(checked) => Some(checked.load(Access { address, bytes, order })),
        None => {
            hooks.instruction(Instruction::Load { address, bytes, order });
            None
        }
    }
}

/// Announces a store; whether it is done, because the run is checked.
fn seam_store(address: u64, bytes: u32, order: Order, value: [u64; 2]) -> bool {
    let hooks = current();
    match hooks.checked() {
        Some(checked) => checked.store(Access { address, bytes, order }, value),
        None => {
            hooks.instruction(Instruction::Store { address, bytes, order });
            return false;
        }
    }
    true
}

/// A load of 8 bytes with any order.
///
/// # Safety
/// `address` is aligned and mapped; every access to it is atomic.
pub(super) unsafe fn load_word(address: u64, seen: Order, here: Ordering) -> u64 {
    match seam_load(address, 8, seen) {
        Some([bits, _]) => bits,
        // SAFETY: passed on.
        None => unsafe { (*(address as *const AtomicU64)).load(here) },
    }
}

/// A store of 8 bytes with any order.
///
/// # Safety
/// As [`load_word`].
pub(super) unsafe fn store_word(address: u64, value: u64, seen: Order, here: Ordering) {
    if !seam_store(address, 8, seen, [value, 0]) {
        // SAFETY: passed on.
        unsafe { (*(address as *const AtomicU64)).store(value, here) }
    }
}

/// Announces an access of shared memory.
fn seam_shared(address: u64, bytes: usize, writes: bool) {
    if let Some(checked) = current().checked() {
        checked.shared(address, bytes as u32, writes);
    }
}

/// The accesses of memory that one OS thread owns, the same for every width.
macro_rules! one_owner {
    () => {
        unsafe fn load_shared(address: u64) -> Self {
            seam_shared(address, size_of::<Self>(), false);
            // SAFETY: shared memory belongs to one block, whose threads share one OS thread.
            unsafe { (address as *const Self).read() }
        }
        unsafe fn store_shared(address: u64, value: Self) {
            seam_shared(address, size_of::<Self>(), true);
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
                    if let Some([bits, _]) = seam_load(address, size_of::<Self>() as u32, Order::Weak) {
                        return bits as Self;
                    }
                    // SAFETY: the caller vouches for an aligned, mapped address; all accesses to it are atomic.
                    unsafe { (*(address as *const $atomic)).load(Ordering::Relaxed) }
                }
                unsafe fn store_global(address: u64, value: Self) {
                    if seam_store(address, size_of::<Self>() as u32, Order::Weak, [u64::from(value), 0]) {
                        return;
                    }
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).store(value, Ordering::Relaxed) }
                }
                unsafe fn store_relaxed(address: u64, value: Self) {
                    if seam_store(address, size_of::<Self>() as u32, Order::Relaxed, [u64::from(value), 0]) {
                        return;
                    }
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).store(value, Ordering::Relaxed) }
                }
                unsafe fn load_relaxed(address: u64) -> Self {
                    if let Some([bits, _]) = seam_load(address, size_of::<Self>() as u32, Order::Relaxed) {
                        return bits as Self;
                    }
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).load(Ordering::Relaxed) }
                }
                unsafe fn load_acquire(address: u64) -> Self {
                    if let Some([bits, _]) = seam_load(address, size_of::<Self>() as u32, Order::Acquire) {
                        return bits as Self;
                    }
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).load(Ordering::Acquire) }
                }
                unsafe fn store_release(address: u64, value: Self) {
                    if seam_store(address, size_of::<Self>() as u32, Order::Release, [u64::from(value), 0]) {
                        return;
                    }
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).store(value, Ordering::Release) }
                }
                unsafe fn load_volatile(address: u64) -> Self {
                    if let Some([bits, _]) = seam_load(address, size_of::<Self>() as u32, Order::Relaxed) {
                        return bits as Self;
                    }
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).load(Ordering::Relaxed) }
                }
                unsafe fn store_volatile(address: u64, value: Self) {
                    if seam_store(address, size_of::<Self>() as u32, Order::Relaxed, [u64::from(value), 0]) {
                        return;
                    }
                    // SAFETY: as in `load_global`.
                    unsafe { (*(address as *const $atomic)).store(value, Ordering::Relaxed) }
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
        if let Some([low, high]) = seam_load(address, 16, Order::Weak) {
            return V16(low, high);
        }
        // SAFETY: passed on.
        let (a, b) = unsafe { halves(address) };
        V16(a.load(Ordering::Relaxed), b.load(Ordering::Relaxed))
    }
    unsafe fn store_global(address: u64, value: Self) {
        if seam_store(address, 16, Order::Weak, [value.0, value.1]) {
            return;
        }
        // SAFETY: passed on.
        let (a, b) = unsafe { halves(address) };
        a.store(value.0, Ordering::Relaxed);
        b.store(value.1, Ordering::Relaxed);
    }
    unsafe fn store_relaxed(address: u64, value: Self) {
        // SAFETY: passed on.
        unsafe { store_whole(address, value, Order::Relaxed) }
    }
    unsafe fn load_relaxed(address: u64) -> Self {
        // SAFETY: passed on.
        unsafe { load_whole(address, Order::Relaxed) }
    }
    unsafe fn load_acquire(address: u64) -> Self {
        // SAFETY: passed on.
        unsafe { load_whole(address, Order::Acquire) }
    }
    unsafe fn store_release(address: u64, value: Self) {
        // SAFETY: passed on.
        unsafe { store_whole(address, value, Order::Release) }
    }
    unsafe fn load_volatile(address: u64) -> Self {
        // SAFETY: passed on.
        unsafe { load_whole(address, Order::Relaxed) }
    }
    unsafe fn store_volatile(address: u64, value: Self) {
        // SAFETY: passed on.
        unsafe { store_whole(address, value, Order::Relaxed) }
    }
    one_owner!();
}

/// The device's 16-byte scalar access is single-copy atomic; a lock stands in for it, and orders it.
///
/// # Safety
/// `address` is 16-aligned and mapped.
unsafe fn store_whole(address: u64, value: V16, order: Order) {
    if seam_store(address, 16, order, [value.0, value.1]) {
        return;
    }
    let _whole = lock_16();
    // SAFETY: passed on.
    let (a, b) = unsafe { halves(address) };
    a.store(value.0, Ordering::Relaxed);
    b.store(value.1, Ordering::Relaxed);
}

/// As [`store_whole`].
///
/// # Safety
/// `address` is 16-aligned and mapped.
unsafe fn load_whole(address: u64, order: Order) -> V16 {
    if let Some([low, high]) = seam_load(address, 16, order) {
        return V16(low, high);
    }
    let _whole = lock_16();
    // SAFETY: passed on.
    let (a, b) = unsafe { halves(address) };
    V16(a.load(Ordering::Relaxed), b.load(Ordering::Relaxed))
}

/// Makes 16-byte strong accesses of this process exclude each other.
fn lock_16() -> std::sync::MutexGuard<'static, ()> {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
