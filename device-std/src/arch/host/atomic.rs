//! Read-modify-writes: see `arch/ptx/atomic.rs`.

use super::hooks::{Instruction, Order, current};
use crate::arch::{Add, Bitwise, Exchange, Semantic};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

fn seam(address: u64, bytes: u32, order: Order) {
    current().instruction(Instruction::Atomic { address, bytes, order });
}

/// Announces a read-modify-write; how Rust calls its order.
fn ordered(order: Semantic, address: u64, bytes: u32) -> Ordering {
    let (seen, here) = match order {
        Semantic::Relaxed => (Order::Relaxed, Ordering::Relaxed),
        Semantic::Acquire => (Order::Acquire, Ordering::Acquire),
        Semantic::Release => (Order::Release, Ordering::Release),
        Semantic::AcqRel => (Order::AcqRel, Ordering::AcqRel),
    };
    seam(address, bytes, seen);
    here
}

macro_rules! operation {
    ($name:ident $fetch:ident $rust:ident $atomic:ty) => {
        unsafe fn $name(order: Semantic, address: u64, value: Self) {
            // SAFETY: passed on.
            unsafe { Self::$fetch(order, address, value) };
        }
        unsafe fn $fetch(order: Semantic, address: u64, value: Self) -> Self {
            let order = ordered(order, address, size_of::<Self>() as u32);
            // SAFETY: the caller vouches for the address; all accesses to it are atomic.
            unsafe { (*(address as *const $atomic)).$rust(value, order) }
        }
    };
}

macro_rules! exchange {
    ($ty:ty, $atomic:ty) => {
        impl Exchange for $ty {
            unsafe fn compare_swap(order: Semantic, address: u64, expected: Self, new: Self) -> Self {
                let order = ordered(order, address, size_of::<Self>() as u32);
                let failed = match order {
                    Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
                    _ => Ordering::Relaxed,
                };
                // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                match unsafe { &*(address as *const $atomic) }.compare_exchange(expected, new, order, failed)
                {
                    Ok(old) | Err(old) => old,
                }
            }
            unsafe fn swap(order: Semantic, address: u64, value: Self) -> Self {
                let order = ordered(order, address, size_of::<Self>() as u32);
                // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                unsafe { (*(address as *const $atomic)).swap(value, order) }
            }
        }
    };
}

macro_rules! words {
    ($($ty:ty, $atomic:ty;)*) => {
        $(
            exchange!($ty, $atomic);
            impl Add for $ty {
                operation!(add fetch_add fetch_add $atomic);
            }
            impl Bitwise for $ty {
                operation!(and fetch_and fetch_and $atomic);
                operation!(or fetch_or fetch_or $atomic);
                operation!(xor fetch_xor fetch_xor $atomic);
            }
        )*
    };
}
words! {
    u32, AtomicU32;
    u64, AtomicU64;
}

/// `atom.relaxed.sys.add`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn fetch_add_u32(address: u64, value: u32) -> u32 {
    // SAFETY: passed on.
    unsafe { Add::fetch_add(Semantic::Relaxed, address, value) }
}

/// `atom.relaxed.sys.cas`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn compare_swap_u32(address: u64, expected: u32, new: u32) -> u32 {
    // SAFETY: passed on.
    unsafe { Exchange::compare_swap(Semantic::Relaxed, address, expected, new) }
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
