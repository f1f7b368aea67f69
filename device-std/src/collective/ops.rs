//! The operators of reductions and scans.
//!
//! Elements are combined in the order of the team's PEs, from PE 0 on, whatever the scope, the size and the way the data
//! takes: all PEs get the same bits, and get them again in every run. Sums and products of `f16` and `bf16` are accumulated
//! in `f32` and rounded once. Integers wrap. Of `Min` and `Max` of floating-point numbers, NaN is the result if every element
//! is one, else it is left out; of equal elements, zeros of different signs too, it is the first PE's.

use super::element::{Element, Float, Integer};
use super::numbered::{Numbers, SIGNED_MAX, SIGNED_MIN};
use crate::{bf16, f16};

/// An operator that combines elements of type `T`: one of [`Sum`], [`Prod`], [`Min`], [`Max`], [`And`], [`Or`], [`Xor`], or one
/// that is chosen when the kernel runs, [`IntegerOp`] or [`FloatOp`].
///
/// | | integers of 8 to 64 bits, `isize`, `usize` | `f16`, `bf16`, `f32`, `f64` |
/// |---|---|---|
/// | `Sum`, `Prod`, `Min`, `Max` | yes | yes |
/// | `And`, `Or`, `Xor` | yes | no |
#[diagnostic::on_unimplemented(
    message = "elements of type `{T}` cannot be combined by `{Self}`",
    label = "no such reduction",
    note = "`Sum`, `Prod`, `Min` and `Max` take integers of 8 to 64 bits, `f16`, `bf16`, `f32` and `f64`; `And`, `Or` and `Xor` take integers"
)]
pub trait Reduction<T: Element>: Copy + Operator<T> {}

/// Adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum;
/// Multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prod;
/// The least element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Min;
/// The greatest element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Max;
/// Bitwise and.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct And;
/// Bitwise or.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Or;
/// Bitwise exclusive or.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xor;

/// An operator on integers, chosen when the kernel runs: a compare for each word more than the types have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum IntegerOp {
    /// [`Sum`].
    Sum = 0,
    /// [`Prod`].
    Prod = 1,
    /// [`Min`].
    Min = 2,
    /// [`Max`].
    Max = 3,
    /// [`And`].
    And = 4,
    /// [`Or`].
    Or = 5,
    /// [`Xor`].
    Xor = 6,
}

/// An operator on floating-point numbers, chosen when the kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum FloatOp {
    /// [`Sum`].
    Sum = 0,
    /// [`Prod`].
    Prod = 1,
    /// [`Min`].
    Min = 2,
    /// [`Max`].
    Max = 3,
}

impl IntegerOp {
    /// The operator of this number, if there is one.
    #[inline(always)]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Sum,
            1 => Self::Prod,
            2 => Self::Min,
            3 => Self::Max,
            4 => Self::And,
            5 => Self::Or,
            6 => Self::Xor,
            _ => return None,
        })
    }
}

impl IntegerOp {
    /// Its number where signed and unsigned integers share kernels.
    #[doc(hidden)]
    #[inline(always)]
    pub const fn number(self, signed: bool) -> u32 {
        // No `match`: the compiler would make a table of it, which it reads by non-coherent loads.
        const FURTHER: u32 = SIGNED_MIN - IntegerOp::Min as u32;
        const { assert!(SIGNED_MAX == IntegerOp::Max as u32 + FURTHER) };
        let number = self as u32;
        let differs = number == Self::Min as u32 || number == Self::Max as u32;
        if signed && differs { number + FURTHER } else { number }
    }
}

impl FloatOp {
    /// The operator of this number, if there is one.
    #[inline(always)]
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Sum,
            1 => Self::Prod,
            2 => Self::Min,
            3 => Self::Max,
            _ => return None,
        })
    }
}

mod sealed {
    use super::Element;

    /// An operator on words of 8 bytes, in which as many elements lie side by side as there is room for.
    pub trait Operator<T: Element> {
        /// The sum so far with the next PE's word.
        fn next(self, sum: T::Sum, word: u64) -> T::Sum;
        /// A word of elements that change nothing.
        fn identity(self) -> u64;
        /// What it is called in a report.
        fn name(self) -> &'static str;
    }
}
pub(super) use sealed::Operator;

/// The name of the operator of this number.
pub(super) fn named(number: u32) -> &'static str {
    match number {
        0 => "Sum",
        1 => "Prod",
        2 | SIGNED_MIN => "Min",
        3 | SIGNED_MAX => "Max",
        4 => "And",
        5 => "Or",
        _ => "Xor",
    }
}

/// A word whose elements all have these bits.
const fn repeated(bits: u64, width: u32) -> u64 {
    let mut word = 0;
    let mut at = 0;
    while at < 64 {
        word |= bits << at;
        at += width;
    }
    word
}

macro_rules! integers {
    ($($ty:ident, $unsigned:ident;)*) => {
        $(
            integers!($ty, $unsigned, Sum, 0, |a, b| $ty::map(a, b, |a, b| a.wrapping_add(b)));
            integers!($ty, $unsigned, Prod, 1, |a, b| $ty::map(a, b, |a, b| a.wrapping_mul(b)));
            integers!($ty, $unsigned, Min, $ty::MAX, |a, b| $ty::map(a, b, |a, b| if b < a { b } else { a }));
            integers!($ty, $unsigned, Max, $ty::MIN, |a, b| $ty::map(a, b, |a, b| if b > a { b } else { a }));
            integers!($ty, $unsigned, And, $unsigned::MAX, |a, b| a & b);
            integers!($ty, $unsigned, Or, 0, |a, b| a | b);
            integers!($ty, $unsigned, Xor, 0, |a, b| a ^ b);
            impl Reduction<$ty> for IntegerOp {}
            impl Operator<$ty> for IntegerOp {
                #[inline(always)]
                fn next(self, sum: u64, word: u64) -> u64 {
                    <$unsigned as Numbers>::next(self.number($ty::MIN != 0), sum, word)
                }
                #[inline(always)]
                fn identity(self) -> u64 {
                    <$unsigned as Numbers>::identity(self.number($ty::MIN != 0))
                }
                fn name(self) -> &'static str {
                    named(self as u32)
                }
            }
        )*
    };
    ($ty:ident, $unsigned:ident, $op:ident, $identity:expr, |$a:ident, $b:ident| $f:expr) => {
        impl Reduction<$ty> for $op {}
        impl Operator<$ty> for $op {
            #[inline(always)]
            fn next(self, $a: u64, $b: u64) -> u64 {
                $f
            }
            #[inline(always)]
            fn identity(self) -> u64 {
                const { repeated($identity as $unsigned as u64, $unsigned::BITS) }
            }
            fn name(self) -> &'static str {
                stringify!($op)
            }
        }
    };
}
integers! {
    u8, u8; u16, u16; u32, u32; u64, u64; usize, u64;
    i8, u8; i16, u16; i32, u32; i64, u64; isize, u64;
}

/// Of those that are not NaN the least; of equal ones the first.
macro_rules! least {
    ($a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        if b < a || a != a { b } else { a }
    }};
}
/// Of those that are not NaN the greatest; of equal ones the first.
macro_rules! greatest {
    ($a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        if b > a || a != a { b } else { a }
    }};
}

macro_rules! floats {
    ($($ty:ident $wide:ident $width:literal, $sum:expr, $prod:expr, $min:expr, $max:expr;)*) => {
        $(
            floats!($ty $wide $width, Sum, $sum, |a, b| a + b);
            floats!($ty $wide $width, Prod, $prod, |a, b| a * b);
            floats!($ty $wide $width, Min, $min, |a, b| least!(a, b));
            floats!($ty $wide $width, Max, $max, |a, b| greatest!(a, b));
            impl Reduction<$ty> for FloatOp {}
            impl Operator<$ty> for FloatOp {
                #[inline(always)]
                fn next(self, sum: <$ty as Element>::Sum, word: u64) -> <$ty as Element>::Sum {
                    <$ty as Numbers>::next(self as u32, sum, word)
                }
                #[inline(always)]
                fn identity(self) -> u64 {
                    <$ty as Numbers>::identity(self as u32)
                }
                fn name(self) -> &'static str {
                    named(self as u32)
                }
            }
        )*
    };
    ($ty:ident $wide:ident $width:literal, $op:ident, $identity:expr, |$a:ident, $b:ident| $f:expr) => {
        impl Reduction<$ty> for $op {}
        impl Operator<$ty> for $op {
            #[inline(always)]
            fn next(self, sum: <$ty as Element>::Sum, word: u64) -> <$ty as Element>::Sum {
                $ty::with(sum, $ty::first(word), |$a: $wide, $b: $wide| $f)
            }
            #[inline(always)]
            fn identity(self) -> u64 {
                const { repeated($identity.to_bits() as u64, $width) }
            }
            fn name(self) -> &'static str {
                stringify!($op)
            }
        }
    };
}
floats! {
    f64 f64 64, 0.0f64, 1.0f64, f64::INFINITY, f64::NEG_INFINITY;
    f32 f32 32, 0.0f32, 1.0f32, f32::INFINITY, f32::NEG_INFINITY;
    f16 f32 16, f16::ZERO, f16::ONE, f16::INFINITY, f16::NEG_INFINITY;
    bf16 f32 16, bf16::ZERO, bf16::ONE, bf16::INFINITY, bf16::NEG_INFINITY;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two words give.
    fn of<T: Element, O: Reduction<T>>(op: O, a: u64, b: u64) -> u64 {
        T::word(op.next(T::first(a), b))
    }

    #[test]
    fn each_element_of_a_word_is_combined_by_itself() {
        let (a, b) = (u64::from_le_bytes([1, 255, 3, 4, 5, 6, 7, 128]), u64::from_le_bytes([9; 8]));
        let bytes = |word: u64| word.to_le_bytes();
        assert_eq!(bytes(of::<u8, _>(Sum, a, b)), [10, 8, 12, 13, 14, 15, 16, 137]);
        assert_eq!(bytes(of::<u8, _>(Min, a, b)), [1, 9, 3, 4, 5, 6, 7, 9]);
        assert_eq!(bytes(of::<i8, _>(Min, a, b)), [1, 255, 3, 4, 5, 6, 7, 128]);
        assert_eq!(bytes(of::<i8, _>(Max, a, b)), [9; 8]);
        assert_eq!(of::<u16, _>(Prod, 0x0003_0002_ffff_0100, 0x0005_0004_0002_0101), 0x000f_0008_fffe_0100);
        assert_eq!(
            of::<u32, _>(IntegerOp::Sum, 0xffff_ffff_0000_0001, 0x0000_0002_0000_0003),
            0x0000_0001_0000_0004
        );
        assert_eq!(of::<i64, _>(IntegerOp::Max, (-5i64) as u64, 3), 3);
    }

    #[test]
    fn sums_of_16_bits_are_rounded_once() {
        let word = |x: f32| u64::from(f16::from_f32(x).to_bits());
        // 2048 + 1 is a tie in f16; with another 1 it is 2050.
        let op = Sum;
        let sum = Operator::<f16>::next(op, f16::first(word(2048.0)), word(1.0));
        let sum = Operator::<f16>::next(op, sum, word(1.0));
        assert_eq!(f16::word(sum) as u16, f16::from_f32(2050.0).to_bits());
    }

    #[test]
    fn nan_is_left_out_by_min_and_max_and_kept_by_sums() {
        let bits = |x: f64| x.to_bits();
        for (a, b, expected) in
            [(f64::NAN, 2.0, 2.0), (2.0, f64::NAN, 2.0), (-0.0, 0.0, -0.0), (0.0, -0.0, 0.0)]
        {
            assert_eq!(of::<f64, _>(Min, bits(a), bits(b)), bits(expected));
            assert_eq!(of::<f64, _>(FloatOp::Max, bits(a), bits(b)), bits(expected));
        }
        assert!(f64::from_bits(of::<f64, _>(Max, bits(f64::NAN), bits(f64::NAN))).is_nan());
        assert!(f64::from_bits(of::<f64, _>(Sum, bits(f64::NAN), bits(1.0))).is_nan());
    }

    #[test]
    fn identities_change_nothing() {
        let a = 0x8123_4567_89ab_cdefu64;
        macro_rules! same {
            ($($op:ident $ty:ident),*) => {
                $(assert_eq!(of::<$ty, _>($op, Operator::<$ty>::identity($op), a), a, stringify!($op $ty));)*
            };
        }
        same!(Sum u8, Prod u8, Min u8, Max u8, And u8, Or u8, Xor u8);
        same!(Sum i16, Prod i16, Min i16, Max i16, And i16, Or i16, Xor i16);
        same!(Sum i32, Prod u32, Min i64, Max u64, And usize, Or isize, Xor u16);
        same!(Sum f32, Prod f32, Min f32, Max f32, Sum f64, Prod f64, Min f64, Max f64);
        same!(Sum bf16, Prod bf16, Min bf16, Max bf16);
    }
}
