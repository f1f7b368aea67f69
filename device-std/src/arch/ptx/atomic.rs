//! Read-modify-writes, each with its semantic and scope. `core::sync::atomic` must not be used for them: LLVM
//! lowers its `fetch_add` to a plain `atom.global.add`, which is relaxed and of gpu scope whatever was asked.

use crate::arch::{Add, Bitwise, Exchange, Semantic, Word};
use crate::{bf16, f16};
use core::arch::asm;

/// One instruction for each order. `$order` is a constant where it is used, so three of them go away.
macro_rules! atom {
    ($order:expr, $tail:expr, $($operands:tt)*) => {
        match $order {
            Semantic::Relaxed => asm!(concat!("atom.relaxed.sys.global.", $tail), $($operands)*),
            Semantic::Acquire => asm!(concat!("atom.acquire.sys.global.", $tail), $($operands)*),
            Semantic::Release => asm!(concat!("atom.release.sys.global.", $tail), $($operands)*),
            Semantic::AcqRel => asm!(concat!("atom.acq_rel.sys.global.", $tail), $($operands)*),
        }
    };
}

/// `red` has no acquire (PTX ISA 9.7.13.8): with it, an `atom` whose result is dropped.
macro_rules! red {
    ($order:expr, $inst:literal, $reg:ident, $address:expr, $value:expr, $fetch:expr) => {
        match $order {
            Semantic::Relaxed => asm!(concat!("red.relaxed.sys.global.", $inst, " [{}], {};"), in(reg64) $address, in($reg) $value, options(nostack)),
            Semantic::Release => asm!(concat!("red.release.sys.global.", $inst, " [{}], {};"), in(reg64) $address, in($reg) $value, options(nostack)),
            Semantic::Acquire | Semantic::AcqRel => {
                $fetch;
            }
        }
    };
}

macro_rules! operation {
    ($name:ident $fetch:ident $inst:literal $reg:ident) => {
        #[inline(always)]
        unsafe fn $name(order: Semantic, address: u64, value: Self) {
            // SAFETY: the caller vouches for the address.
            unsafe { red!(order, $inst, $reg, address, value, Self::$fetch(order, address, value)) };
        }
        #[inline(always)]
        unsafe fn $fetch(order: Semantic, address: u64, value: Self) -> Self {
            let old: Self;
            // SAFETY: the caller vouches for the address.
            unsafe { atom!(order, concat!($inst, " {}, [{}], {};"), out($reg) old, in(reg64) address, in($reg) value, options(nostack)) };
            old
        }
    };
}

macro_rules! words {
    ($($ty:ty, $reg:ident, $b:literal, $add:literal, $and:literal $or:literal $xor:literal;)*) => {
        $(
            impl Exchange for $ty {
                #[inline(always)]
                unsafe fn compare_swap(order: Semantic, address: u64, expected: Self, new: Self) -> Self {
                    let old: Self;
                    // SAFETY: the caller vouches for the address.
                    unsafe { atom!(order, concat!("cas.", $b, " {}, [{}], {}, {};"), out($reg) old, in(reg64) address, in($reg) expected, in($reg) new, options(nostack)) };
                    old
                }
                #[inline(always)]
                unsafe fn swap(order: Semantic, address: u64, value: Self) -> Self {
                    let old: Self;
                    // SAFETY: the caller vouches for the address.
                    unsafe { atom!(order, concat!("exch.", $b, " {}, [{}], {};"), out($reg) old, in(reg64) address, in($reg) value, options(nostack)) };
                    old
                }
            }
            impl Add for $ty {
                operation!(add fetch_add $add $reg);
            }
            impl Bitwise for $ty {
                operation!(and fetch_and $and $reg);
                operation!(or fetch_or $or $reg);
                operation!(xor fetch_xor $xor $reg);
            }
        )*
    };
}
words! {
    u32, reg32, "b32", "add.u32", "and.b32" "or.b32" "xor.b32";
    u64, reg64, "b64", "add.u64", "and.b64" "or.b64" "xor.b64";
}

// 16 bits: compare-and-swap is an instruction and leaves the other half of the 32-bit word alone (PTX ISA 6.3); what
// there is no instruction for goes through it.
impl Exchange for u16 {
    #[inline(always)]
    unsafe fn compare_swap(order: Semantic, address: u64, expected: Self, new: Self) -> Self {
        let old: Self;
        // SAFETY: the caller vouches for the address.
        unsafe {
            atom!(order, "cas.b16 {}, [{}], {}, {};", out(reg16) old, in(reg64) address, in(reg16) expected, in(reg16) new, options(nostack))
        };
        old
    }
    #[inline(always)]
    unsafe fn swap(order: Semantic, address: u64, value: Self) -> Self {
        // SAFETY: passed on.
        unsafe { replace_u16(order, address, |_| value) }
    }
}

/// Replaces a 16-bit word by what `new` makes of it, returns the old one.
///
/// # Safety
/// `address` is aligned and mapped for this device.
#[inline(always)]
unsafe fn replace_u16(order: Semantic, address: u64, new: impl Fn(u16) -> u16) -> u16 {
    // SAFETY: passed on.
    let mut seen = unsafe { u16::load_relaxed(address) };
    loop {
        // SAFETY: passed on.
        let old = unsafe { Exchange::compare_swap(order, address, seen, new(seen)) };
        if old == seen {
            return old;
        }
        seen = old;
    }
}

macro_rules! floats {
    ($($ty:ty as $bits:ty, $reg:ident, $add:literal;)*) => {
        $(
            impl Add for $ty {
                #[inline(always)]
                unsafe fn add(order: Semantic, address: u64, value: Self) {
                    let bits: $bits = value.to_bits();
                    // SAFETY: the caller vouches for the address.
                    unsafe { red!(order, $add, $reg, address, bits, Self::fetch_add(order, address, value)) };
                }
                #[inline(always)]
                unsafe fn fetch_add(order: Semantic, address: u64, value: Self) -> Self {
                    let (old, bits): ($bits, $bits);
                    bits = value.to_bits();
                    // SAFETY: the caller vouches for the address.
                    unsafe { atom!(order, concat!($add, " {}, [{}], {};"), out($reg) old, in(reg64) address, in($reg) bits, options(nostack)) };
                    Self::from_bits(old)
                }
            }
        )*
    };
}
floats! {
    f32 as u32, reg32, "add.f32";
    f64 as u64, reg64, "add.f64";
    f16 as u16, reg16, "add.noftz.f16";
}
#[cfg(target_feature = "sm_90")]
floats! {
    bf16 as u16, reg16, "add.noftz.bf16";
}

#[cfg(not(target_feature = "sm_90"))]
impl Add for bf16 {
    #[inline(always)]
    unsafe fn add(order: Semantic, address: u64, value: Self) {
        // SAFETY: passed on.
        unsafe { Self::fetch_add(order, address, value) };
    }
    #[inline(always)]
    unsafe fn fetch_add(order: Semantic, address: u64, value: Self) -> Self {
        let wide = |bits: u16| f32::from_bits(u32::from(bits) << 16);
        let sum = |old: u16| {
            let rounded: u16;
            let exact = (wide(old) + wide(value.to_bits())).to_bits();
            // SAFETY: arithmetic. The 24 bits of `f32` are more than twice the 8 of `bf16` and two, so that rounding
            // twice gives what rounding once would.
            unsafe {
                asm!("cvt.rn.bf16.f32 {}, {};", out(reg16) rounded, in(reg32) exact, options(pure, nomem, nostack))
            };
            rounded
        };
        // SAFETY: passed on.
        Self::from_bits(unsafe { replace_u16(order, address, sum) })
    }
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

/// `st.release.gpu`: for who reads it on the same device. With stores under way it takes a fifth of the time of `st.release.sys`.
///
/// # Safety
/// `address` is aligned and lies in this device's memory.
#[inline(always)]
pub(crate) unsafe fn store_release_gpu_u64(address: u64, value: u64) {
    // SAFETY: the caller vouches for the address.
    unsafe {
        asm!("st.release.gpu.global.b64 [{}], {};", in(reg64) address, in(reg64) value, options(nostack))
    };
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

/// `atom.relaxed.cta.shared.add`: a place in a list that the block's threads fill.
///
/// # Safety
/// As [`arrive_shared_u32`].
#[inline(always)]
pub(crate) unsafe fn fetch_add_shared_u32(address: u64, value: u32) -> u32 {
    let old: u32;
    // SAFETY: the caller vouches for the address.
    unsafe {
        asm!("atom.relaxed.cta.shared.add.u32 {}, [{}], {};", out(reg32) old, in(reg32) address as u32, in(reg32) value, options(nostack))
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
