//! Read-modify-writes: see `arch/ptx/atomic.rs`.

use super::hooks::{Access, Change, Instruction, Order, current};
use super::memory::store_word;
use crate::arch::{Add, Bitwise, Exchange, Semantic};
use crate::{bf16, f16};
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// How a read-modify-write is ordered, as the seam and as Rust calls it.
fn orders(order: Semantic) -> (Order, Ordering) {
    match order {
        Semantic::Relaxed => (Order::Relaxed, Ordering::Relaxed),
        Semantic::Acquire => (Order::Acquire, Ordering::Acquire),
        Semantic::Release => (Order::Release, Ordering::Release),
        Semantic::AcqRel => (Order::AcqRel, Ordering::AcqRel),
    }
}

/// Announces a read-modify-write; the old bits if the run is checked.
pub(super) fn fetched(
    order: Order,
    address: u64,
    bytes: usize,
    change: impl FnOnce() -> Change,
) -> Option<u64> {
    let (hooks, bytes) = (current(), bytes as u32);
    match hooks.checked() {
        Some(checked) => Some(checked.fetch(Access { address, bytes, order }, change())),
        None => {
            hooks.instruction(Instruction::Atomic { address, bytes, order });
            None
        }
    }
}

/// As [`fetched`], of one that returns nothing; whether it is done.
pub(super) fn updated(order: Order, address: u64, bytes: usize, change: impl FnOnce() -> Change) -> bool {
    let (hooks, bytes) = (current(), bytes as u32);
    match hooks.checked() {
        Some(checked) => checked.update(Access { address, bytes, order }, change()),
        None => {
            hooks.instruction(Instruction::Atomic { address, bytes, order });
            return false;
        }
    }
    true
}

macro_rules! operation {
    ($name:ident $fetch:ident $rust:ident $atomic:ty, $new:expr) => {
        unsafe fn $name(order: Semantic, address: u64, value: Self) {
            let (seen, here) = orders(order);
            let new: fn(Self, Self) -> Self = $new;
            let change = || -> Change { Box::new(move |old| u64::from(new(old as Self, value))) };
            if !updated(seen, address, size_of::<Self>(), change) {
                // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                unsafe { (*(address as *const $atomic)).$rust(value, here) };
            }
        }
        unsafe fn $fetch(order: Semantic, address: u64, value: Self) -> Self {
            let (seen, here) = orders(order);
            let new: fn(Self, Self) -> Self = $new;
            let change = || -> Change { Box::new(move |old| u64::from(new(old as Self, value))) };
            match fetched(seen, address, size_of::<Self>(), change) {
                Some(old) => old as Self,
                // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                None => unsafe { (*(address as *const $atomic)).$rust(value, here) },
            }
        }
    };
}

macro_rules! exchange {
    ($ty:ty, $atomic:ty) => {
        impl Exchange for $ty {
            unsafe fn compare_swap(order: Semantic, address: u64, expected: Self, new: Self) -> Self {
                let (seen, order) = orders(order);
                let (hooks, bytes) = (current(), size_of::<Self>() as u32);
                if let Some(checked) = hooks.checked() {
                    let access = Access { address, bytes, order: seen };
                    return checked.compare_swap(access, expected.into(), new.into()) as Self;
                }
                hooks.instruction(Instruction::Atomic { address, bytes, order: seen });
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
                let (seen, order) = orders(order);
                let change = || -> Change { Box::new(move |_| u64::from(value)) };
                match fetched(seen, address, size_of::<Self>(), change) {
                    Some(old) => old as Self,
                    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                    None => unsafe { (*(address as *const $atomic)).swap(value, order) },
                }
            }
        }
    };
}

macro_rules! words {
    ($($ty:ty, $atomic:ty;)*) => {
        $(
            exchange!($ty, $atomic);
            impl Add for $ty {
                operation!(add fetch_add fetch_add $atomic, Self::wrapping_add);
            }
            impl Bitwise for $ty {
                operation!(and fetch_and fetch_and $atomic, |old, value| old & value);
                operation!(or fetch_or fetch_or $atomic, |old, value| old | value);
                operation!(xor fetch_xor fetch_xor $atomic, |old, value| old ^ value);
            }
        )*
    };
}
words! {
    u32, AtomicU32;
    u64, AtomicU64;
}

exchange!(u16, AtomicU16);

macro_rules! floats {
    ($($ty:ty as $atomic:ty, $sum:expr;)*) => {
        $(
            impl Add for $ty {
                unsafe fn add(order: Semantic, address: u64, value: Self) {
                    let sum: fn(Self, Self) -> Self = $sum;
                    if current().checked().is_none() {
                        // SAFETY: passed on.
                        unsafe { Self::fetch_add(order, address, value) };
                        return;
                    }
                    let change = || -> Change { Box::new(move |old| added(sum, old, value)) };
                    updated(orders(order).0, address, size_of::<Self>(), change);
                }
                unsafe fn fetch_add(order: Semantic, address: u64, value: Self) -> Self {
                    let sum: fn(Self, Self) -> Self = $sum;
                    let (seen, order) = orders(order);
                    let change = || -> Change { Box::new(move |old| added(sum, old, value)) };
                    if let Some(old) = fetched(seen, address, size_of::<Self>(), change) {
                        return Self::from_word(old);
                    }
                    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
                    let word = unsafe { &*(address as *const $atomic) };
                    let add = |old| Some(sum(Self::from_bits(old), value).to_bits());
                    // The failing order is that of a load.
                    match word.fetch_update(order, Ordering::Acquire, add) {
                        Ok(old) | Err(old) => Self::from_bits(old),
                    }
                }
            }
        )*
    };
}
// Rounding twice gives what rounding once would: `f32` has at least twice the bits of `f16` and `bf16`, and two.
floats! {
    f32 as AtomicU32, |a, b| flushed(flushed(a) + flushed(b));
    f64 as AtomicU64, |a, b| a + b;
    f16 as AtomicU16, |a, b| f16::from_f32(a.to_f32() + b.to_f32());
    bf16 as AtomicU16, |a, b| bf16::from_f32(a.to_f32() + b.to_f32());
}

/// Floating-point numbers as the bits of a word.
trait Float: Copy {
    fn from_word(bits: u64) -> Self;
    fn to_word(self) -> u64;
}
macro_rules! words_of {
    ($($ty:ty: $bits:ty;)*) => {
        $(impl Float for $ty {
            fn from_word(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }
            fn to_word(self) -> u64 {
                u64::from(self.to_bits())
            }
        })*
    };
}
words_of! {
    f32: u32;
    f64: u64;
    f16: u16;
    bf16: u16;
}

/// The bits of a sum.
fn added<T: Float>(sum: fn(T, T) -> T, old: u64, value: T) -> u64 {
    sum(T::from_word(old), value).to_word()
}

/// `atom.add.f32` on global memory flushes subnormal inputs and results to zero of the same sign (PTX ISA, `atom`).
fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// `atom.acq_rel.gpu.add`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn arrive_gpu_u32(address: u64, value: u32) -> u32 {
    let change = || -> Change { Box::new(move |old| u64::from((old as u32).wrapping_add(value))) };
    if let Some(old) = fetched(Order::Gpu, address, 4, change) {
        return old as u32;
    }
    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
    unsafe { (*(address as *const AtomicU32)).fetch_add(value, Ordering::AcqRel) }
}

/// `ld.acquire.gpu`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn load_acquire_gpu_u32(address: u64) -> u32 {
    let access = Access { address, bytes: 4, order: Order::Gpu };
    if let Some(checked) = current().checked() {
        return checked.load(access)[0] as u32;
    }
    current().instruction(Instruction::Load { address, bytes: 4, order: Order::Gpu });
    // SAFETY: the caller vouches for the address; all accesses to it are atomic.
    unsafe { (*(address as *const AtomicU32)).load(Ordering::Acquire) }
}

/// `st.release.gpu`.
///
/// # Safety
/// `address` is aligned and mapped.
pub(crate) unsafe fn store_release_gpu_u64(address: u64, value: u64) {
    // SAFETY: passed on; all accesses to it are atomic.
    unsafe { store_word(address, value, Order::Gpu, Ordering::Release) }
}

/// `atom.acq_rel.cta.shared.add`.
///
/// # Safety
/// `address` is aligned and lies in the block's shared memory.
pub(crate) unsafe fn arrive_shared_u32(address: u64, value: u32) -> u32 {
    match current().checked() {
        Some(checked) => checked.shared_word(address, true),
        None => current().instruction(Instruction::Arrive),
    }
    // SAFETY: shared memory belongs to one block, whose threads share one OS thread.
    unsafe {
        let word = address as *mut u32;
        word.replace((*word).wrapping_add(value))
    }
}

/// `atom.relaxed.cta.shared.add`.
///
/// # Safety
/// As [`arrive_shared_u32`].
pub(crate) unsafe fn fetch_add_shared_u32(address: u64, value: u32) -> u32 {
    if let Some(checked) = current().checked() {
        checked.shared_word(address, true);
    }
    // SAFETY: as in `arrive_shared_u32`.
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
    if let Some(checked) = current().checked() {
        checked.shared_word(address, false);
    }
    // SAFETY: as in `arrive_shared_u32`.
    unsafe { (address as *const u32).read() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnormal_sum_of_f32_is_flushed_with_its_sign() {
        let least = f32::MIN_POSITIVE;
        assert_eq!(flushed(least / 2.0).to_bits(), 0);
        assert_eq!(flushed(-least / 2.0).to_bits(), (-0f32).to_bits());
        assert_eq!(flushed(least), least);
    }
}
