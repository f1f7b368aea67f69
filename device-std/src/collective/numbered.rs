//! Operators by number, for kernels that are to do all of them with few instances: integers of one width share one, since but
//! for the least and the greatest an operator makes the same bits of signed and unsigned ones.

use super::element::Element;
use super::ops::{And, IntegerOp, Max, Min, Operator, Or, Prod, Reduction, Sum, Xor};
use crate::{bf16, f16};

/// The number of the least of signed integers; the others have the numbers of [`IntegerOp`].
pub const SIGNED_MIN: u32 = 7;
/// The number of the greatest of signed integers.
pub const SIGNED_MAX: u32 = 8;

/// An element type of such kernels: unsigned integers stand for signed ones, too.
pub trait Numbers: Element {
    /// What the operator of this number does; another number is the last one's.
    #[doc(hidden)]
    fn next(number: u32, sum: Self::Sum, word: u64) -> Self::Sum;
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
}

/// [`Sum`], of all of these types.
#[derive(Clone, Copy, Debug)]
pub struct NumberedSum;

impl<T: Numbers> Reduction<T> for NumberedSum {}
impl<T: Numbers> Operator<T> for NumberedSum {
    #[inline(always)]
    fn next(self, sum: T::Sum, word: u64) -> T::Sum {
        T::next(IntegerOp::Sum as u32, sum, word)
    }
    #[inline(always)]
    fn identity(self) -> u64 {
        T::identity(IntegerOp::Sum as u32)
    }
}

macro_rules! numbers {
    ($($ty:ident $(, $signed:ident)?: $($number:literal $op:ident,)* _ $last:ident;)*) => {
        $(
            impl Numbers for $ty {
                #[inline(always)]
                fn next(number: u32, sum: Self::Sum, word: u64) -> Self::Sum {
                    match number {
                        $($number => Operator::<$ty>::next($op, sum, word),)*
                        $(
                            SIGNED_MIN => Operator::<$signed>::next(Min, sum, word),
                            SIGNED_MAX => Operator::<$signed>::next(Max, sum, word),
                        )?
                        _ => Operator::<$ty>::next($last, sum, word),
                    }
                }
                #[inline(always)]
                fn identity(number: u32) -> u64 {
                    match number {
                        $($number => Operator::<$ty>::identity($op),)*
                        $(
                            SIGNED_MIN => Operator::<$signed>::identity(Min),
                            SIGNED_MAX => Operator::<$signed>::identity(Max),
                        )?
                        _ => Operator::<$ty>::identity($last),
                    }
                }
            }
        )*
    };
}
numbers! {
    u8, i8: 0 Sum, 1 Prod, 2 Min, 3 Max, 4 And, 5 Or, _ Xor;
    u16, i16: 0 Sum, 1 Prod, 2 Min, 3 Max, 4 And, 5 Or, _ Xor;
    u32, i32: 0 Sum, 1 Prod, 2 Min, 3 Max, 4 And, 5 Or, _ Xor;
    u64, i64: 0 Sum, 1 Prod, 2 Min, 3 Max, 4 And, 5 Or, _ Xor;
    f16: 0 Sum, 1 Prod, 2 Min, _ Max;
    bf16: 0 Sum, 1 Prod, 2 Min, _ Max;
    f32: 0 Sum, 1 Prod, 2 Min, _ Max;
    f64: 0 Sum, 1 Prod, 2 Min, _ Max;
}

#[cfg(test)]
mod tests {
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
