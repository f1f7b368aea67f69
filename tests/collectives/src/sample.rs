//! The element types of the suite.

use oxshmem_device::collective::{Element, FloatOp, IntegerOp, Reduction};
use oxshmem_device::{bf16, f16};

/// An element type with its operators, and values of which every result is exact.
pub trait Sample: Element + PartialEq + core::fmt::Debug + Send + Sync {
    /// Which of the types it is, from 0.
    const INDEX: u32;
    /// How many operators it has.
    const OPS: u32;
    /// Its operators, by number.
    type Op: Reduction<Self>;
    /// The operator of this number, less than [`OPS`](Self::OPS).
    fn op(number: u32) -> Self::Op;
    /// A value of 16 bits or less: as it is of floating-point numbers 1 or 2, of integers any.
    fn value(bits: u32) -> Self;
    /// `a` and `b` by the operator of this number, as the host computes it.
    fn combined(number: u32, a: Self, b: Self) -> Self;
    /// What changes nothing.
    fn identity(number: u32) -> Self;
}

macro_rules! integers {
    ($($ty:ident $index:literal;)*) => {
        $(impl Sample for $ty {
            const INDEX: u32 = $index;
            const OPS: u32 = 7;
            type Op = IntegerOp;
            #[inline(always)]
            fn op(number: u32) -> IntegerOp {
                IntegerOp::from_number(number).unwrap_or(IntegerOp::Sum)
            }
            fn value(bits: u32) -> Self {
                // All bits are used, the sign's too.
                (u64::from(bits).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) as $ty
            }
            fn combined(number: u32, a: Self, b: Self) -> Self {
                match number {
                    0 => a.wrapping_add(b),
                    1 => a.wrapping_mul(b),
                    2 => a.min(b),
                    3 => a.max(b),
                    4 => a & b,
                    5 => a | b,
                    _ => a ^ b,
                }
            }
            fn identity(number: u32) -> Self {
                [0, 1, <$ty>::MAX, <$ty>::MIN, !0, 0, 0][number as usize]
            }
        })*
    };
}
integers! { u8 0; i8 1; u16 2; i16 3; u32 4; i32 5; u64 6; i64 7; }

macro_rules! floats {
    ($($ty:ident $index:literal, $of:expr;)*) => {
        $(impl Sample for $ty {
            const INDEX: u32 = $index;
            const OPS: u32 = 4;
            type Op = FloatOp;
            #[inline(always)]
            fn op(number: u32) -> FloatOp {
                FloatOp::from_number(number).unwrap_or(FloatOp::Sum)
            }
            fn value(bits: u32) -> Self {
                let of: fn(f32) -> $ty = $of;
                of((1 + (bits >> 3) % 2) as f32)
            }
            fn combined(number: u32, a: Self, b: Self) -> Self {
                match number {
                    0 => a + b,
                    1 => a * b,
                    2 if b < a => b,
                    3 if b > a => b,
                    _ => a,
                }
            }
            fn identity(number: u32) -> Self {
                let of: fn(f32) -> $ty = $of;
                of([0.0, 1.0, f32::INFINITY, f32::NEG_INFINITY][number as usize])
            }
        })*
    };
}
floats! {
    f16 8, f16::from_f32;
    bf16 9, bf16::from_f32;
    f32 10, |x| x;
    f64 11, f64::from;
}
