//! Operators by number, for kernels that are to do all of them with few instances: integers of one width share one, since but
//! for the least and the greatest an operator makes the same bits of signed and unsigned ones.

use super::element::{Element, Integer};
use super::ops::{And, IntegerOp, Max, Min, Operator, Prod, Reduction, Sum, named};
use crate::{bf16, f16};

/// The number of the least of signed integers; the others have the numbers of [`IntegerOp`].
pub(super) const SIGNED_MIN: u32 = 7;
/// The number of the greatest of signed integers.
pub(super) const SIGNED_MAX: u32 = 8;

/// An element type of such kernels: unsigned integers stand for signed ones, too.
pub trait Numbers: Element {
    /// What the operator of this number does; another number is the last one's.
    #[doc(hidden)]
    fn next(number: u32, sum: Self::Sum, word: u64) -> Self::Sum;
    /// What [`Sum`] does.
    #[doc(hidden)]
    fn sum(sum: Self::Sum, word: u64) -> Self::Sum;
    /// A word of elements that change nothing.
    #[doc(hidden)]
    fn identity(number: u32) -> u64;
}

/// The operator of this number.
#[derive(Clone, Copy, Debug)]
pub struct Numbered(pub u32);

impl<T: Numbers> Reduction<T> for Numbered {}
impl<T: Numbers> Operator<T> for Numbered {
    #[inline(always)]
    fn next(self, sum: T::Sum, word: u64) -> T::Sum {
        T::next(self.0, sum, word)
    }
    #[inline(always)]
    fn identity(self) -> u64 {
        T::identity(self.0)
    }
    fn name(self) -> &'static str {
        named(self.0)
    }
}

/// [`Sum`], of all of these types.
#[derive(Clone, Copy, Debug)]
pub struct NumberedSum;

impl<T: Numbers> Reduction<T> for NumberedSum {}
impl<T: Numbers> Operator<T> for NumberedSum {
    #[inline(always)]
    fn next(self, sum: T::Sum, word: u64) -> T::Sum {
        T::sum(sum, word)
    }
    #[inline(always)]
    fn identity(self) -> u64 {
        T::identity(IntegerOp::Sum as u32)
    }
    fn name(self) -> &'static str {
        named(IntegerOp::Sum as u32)
    }
}

/// These bits if the numbers are the same, else 0. No choice between several constants: the compiler would make a table of
/// them, which it reads by non-coherent loads.
#[inline(always)]
fn bits_if(number: u32, same: u32, bits: u64) -> u64 {
    if number == same { bits } else { 0 }
}

macro_rules! integers {
    ($($ty:ident, $signed:ident;)*) => {
        $(
            impl Numbers for $ty {
                #[inline(always)]
                fn next(number: u32, sum: u64, word: u64) -> u64 {
                    $ty::map_in_turn(sum, word, |a, b| {
                        let (less, more) = match number {
                            SIGNED_MIN | SIGNED_MAX => ((b as $signed) < a as $signed, b as $signed > a as $signed),
                            _ => (b < a, b > a),
                        };
                        match number {
                            0 => a.wrapping_add(b),
                            1 => a.wrapping_mul(b),
                            2 | SIGNED_MIN => if less { b } else { a },
                            3 | SIGNED_MAX => if more { b } else { a },
                            4 => a & b,
                            5 => a | b,
                            _ => a ^ b,
                        }
                    })
                }
                #[inline(always)]
                fn sum(sum: u64, word: u64) -> u64 {
                    Operator::<$ty>::next(Sum, sum, word)
                }
                #[inline(always)]
                fn identity(number: u32) -> u64 {
                    bits_if(number, 1, Operator::<$ty>::identity(Prod))
                        | bits_if(number, 2, Operator::<$ty>::identity(Min))
                        | bits_if(number, 3, Operator::<$ty>::identity(Max))
                        | bits_if(number, 4, Operator::<$ty>::identity(And))
                        | bits_if(number, SIGNED_MIN, Operator::<$signed>::identity(Min))
                        | bits_if(number, SIGNED_MAX, Operator::<$signed>::identity(Max))
                }
            }
        )*
    };
}
integers! {
    u8, i8; u16, i16; u32, i32; u64, i64;
}

macro_rules! floats {
    ($($ty:ident)*) => {
        $(
            impl Numbers for $ty {
                #[inline(always)]
                fn next(number: u32, sum: Self::Sum, word: u64) -> Self::Sum {
                    match number {
                        0 => Operator::<$ty>::next(Sum, sum, word),
                        1 => Operator::<$ty>::next(Prod, sum, word),
                        2 => Operator::<$ty>::next(Min, sum, word),
                        _ => Operator::<$ty>::next(Max, sum, word),
                    }
                }
                #[inline(always)]
                fn sum(sum: Self::Sum, word: u64) -> Self::Sum {
                    Operator::<$ty>::next(Sum, sum, word)
                }
                #[inline(always)]
                fn identity(number: u32) -> u64 {
                    // That of a sum is 0.
                    bits_if(number, 1, Operator::<$ty>::identity(Prod))
                        | bits_if(number, 2, Operator::<$ty>::identity(Min))
                        | bits_if(number, 3, Operator::<$ty>::identity(Max))
                }
            }
        )*
    };
}
floats! { f16 bf16 f32 f64 }

#[cfg(test)]
mod tests {
    use super::super::ops::{Or, Xor};
    use super::*;

    #[test]
    fn a_number_does_what_its_operator_does_and_signed_integers_are_the_same_bits() {
        let (a, b) = (0x8001_7f02_ff03_0004u64, 0x0105_fe06_0107_8008u64);
        macro_rules! same {
            ($($number:expr, $op:ident: $($ty:ident as $with:ident),*;)*) => {
                $($(
                    let of_op = $ty::word(Operator::<$ty>::next($op, $ty::first(a), b));
                    let of_number = Operator::<$with>::next(Numbered($number), $with::first(a), b);
                    assert_eq!($with::word(of_number), of_op, stringify!($op $ty));
                    let identity = Operator::<$ty>::identity($op);
                    assert_eq!(Operator::<$with>::identity(Numbered($number)), identity, stringify!($op $ty));
                )*)*
            };
        }
        same! {
            0, Sum: i8 as u8, i16 as u16, i32 as u32, i64 as u64, f16 as f16, f32 as f32;
            1, Prod: i8 as u8, i16 as u16, i32 as u32, i64 as u64, bf16 as bf16, f64 as f64;
            2, Min: u8 as u8, u16 as u16, u32 as u32, u64 as u64, f32 as f32;
            3, Max: u8 as u8, u16 as u16, u32 as u32, u64 as u64, f16 as f16;
            4, And: i8 as u8, u64 as u64;
            5, Or: i16 as u16, u64 as u64;
            6, Xor: i32 as u32, u64 as u64;
            SIGNED_MIN, Min: i8 as u8, i16 as u16, i32 as u32, i64 as u64;
            SIGNED_MAX, Max: i8 as u8, i16 as u16, i32 as u32, i64 as u64;
        }
    }
}
