//! Conversions of the 16-bit types.

use crate::{bf16, f16};
use core::arch::asm;

/// `cvt.f32.f16`: exact.
#[inline(always)]
pub(crate) fn from_f16(value: f16) -> f32 {
    let wide: f32;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.f32.f16 {}, {};", out(reg32) wide, in(reg16) value.to_bits(), options(pure, nomem, nostack))
    };
    wide
}

/// `cvt.rn.f16.f32`: to nearest, ties to even.
#[inline(always)]
pub(crate) fn to_f16(value: f32) -> f16 {
    let narrow: u16;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.rn.f16.f32 {}, {};", out(reg16) narrow, in(reg32) value, options(pure, nomem, nostack))
    };
    f16::from_bits(narrow)
}

/// The upper half of an `f32`: exact.
#[inline(always)]
pub(crate) fn from_bf16(value: bf16) -> f32 {
    f32::from_bits(u32::from(value.to_bits()) << 16)
}

/// `cvt.rn.bf16.f32`: to nearest, ties to even.
#[inline(always)]
pub(crate) fn to_bf16(value: f32) -> bf16 {
    let narrow: u16;
    // SAFETY: arithmetic.
    unsafe {
        asm!("cvt.rn.bf16.f32 {}, {};", out(reg16) narrow, in(reg32) value, options(pure, nomem, nostack))
    };
    bf16::from_bits(narrow)
}
