//! Words that the threads of one device share about an RDMA NIC, and the NIC's registers: see `arch/ptx/nic.rs`.

use super::atomic::{fetched, updated};
use super::hooks::{Change, Order};
use super::memory::{load_word, store_word};
use core::sync::atomic::{AtomicU64, Ordering};

/// The word at `address`.
///
/// # Safety
/// It is mapped and aligned, and every access to it is atomic.
unsafe fn word(address: u64) -> &'static AtomicU64 {
    // SAFETY: passed on.
    unsafe { &*(address as *const AtomicU64) }
}

/// A read-modify-write.
///
/// # Safety
/// As [`word`].
unsafe fn fetch(address: u64, order: Order, new: fn(u64, u64) -> u64, value: u64) -> u64 {
    let change = || -> Change { Box::new(move |old| new(old, value)) };
    match fetched(order, address, 8, change) {
        Some(old) => old,
        // SAFETY: passed on. The order is at least what was asked for; the failing one is that of a load.
        None => match unsafe { word(address) }
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| Some(new(old, value)))
        {
            Ok(old) | Err(old) => old,
        },
    }
}

/// `ld.relaxed.gpu`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn load_relaxed_gpu(address: u64) -> u64 {
    // SAFETY: passed on.
    unsafe { load_word(address, Order::Relaxed, Ordering::Relaxed) }
}

/// `ld.acquire.gpu`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn load_acquire_gpu(address: u64) -> u64 {
    // SAFETY: passed on.
    unsafe { load_word(address, Order::Acquire, Ordering::Acquire) }
}

/// `st.relaxed.gpu`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn store_relaxed_gpu(address: u64, value: u64) {
    // SAFETY: passed on.
    unsafe { store_word(address, value, Order::Relaxed, Ordering::Relaxed) }
}

/// `atom.relaxed.gpu.add`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn fetch_add_relaxed_gpu(address: u64, value: u64) -> u64 {
    // SAFETY: passed on.
    unsafe { fetch(address, Order::Relaxed, u64::wrapping_add, value) }
}

/// `atom.release.gpu.add`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn fetch_add_release_gpu(address: u64, value: u64) -> u64 {
    // SAFETY: passed on.
    unsafe { fetch(address, Order::Release, u64::wrapping_add, value) }
}

/// A compare-and-swap.
///
/// # Safety
/// As [`word`].
unsafe fn compare_swap(order: Order, address: u64, expected: u64, new: u64) -> u64 {
    use super::hooks::{Access, Instruction, current};
    if let Some(checked) = current().checked() {
        return checked.compare_swap(Access { address, bytes: 8, order }, expected, new);
    }
    current().instruction(Instruction::Atomic { address, bytes: 8, order });
    // SAFETY: passed on. The order is at least what was asked for.
    match unsafe { word(address) }.compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(old) | Err(old) => old,
    }
}

/// `atom.acquire.gpu.cas`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn compare_swap_acquire_gpu(address: u64, expected: u64, new: u64) -> u64 {
    // SAFETY: passed on.
    unsafe { compare_swap(Order::Acquire, address, expected, new) }
}

/// `atom.acq_rel.gpu.cas`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn compare_swap_acq_rel_gpu(address: u64, expected: u64, new: u64) -> u64 {
    // SAFETY: passed on.
    unsafe { compare_swap(Order::AcqRel, address, expected, new) }
}

/// `red.relaxed.gpu.or`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn or_relaxed_gpu(address: u64, value: u64) {
    if !updated(Order::Relaxed, address, 8, || Box::new(move |old| old | value)) {
        // SAFETY: passed on.
        unsafe { word(address) }.fetch_or(value, Ordering::Relaxed);
    }
}

/// `red.release.gpu.and`.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn and_release_gpu(address: u64, value: u64) {
    if !updated(Order::Release, address, 8, || Box::new(move |old| old & value)) {
        // SAFETY: passed on.
        unsafe { word(address) }.fetch_and(value, Ordering::Release);
    }
}

/// `st.mmio`. The emulated NIC reads its doorbell pages.
///
/// # Safety
/// As [`word`].
pub(crate) unsafe fn store_mmio(address: u64, value: u64) {
    // SAFETY: passed on.
    unsafe { store_word(address, value, Order::Relaxed, Ordering::Relaxed) }
}
