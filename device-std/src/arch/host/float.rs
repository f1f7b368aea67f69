//! Conversions of the 16-bit types.

use crate::{bf16, f16};

/// Exact.
#[inline(always)]
pub(crate) fn from_f16(value: f16) -> f32 {
    value.to_f32()
}

/// To nearest, ties to even.
#[inline(always)]
pub(crate) fn to_f16(value: f32) -> f16 {
    f16::from_f32(value)
}

/// Exact.
#[inline(always)]
pub(crate) fn from_bf16(value: bf16) -> f32 {
    value.to_f32()
}

/// To nearest, ties to even.
#[inline(always)]
pub(crate) fn to_bf16(value: f32) -> bf16 {
    bf16::from_f32(value)
}
