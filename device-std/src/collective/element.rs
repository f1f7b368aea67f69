//! The element types of reductions, in words of 8 bytes in which as many elements lie side by side as there is room for.

use crate::arch::{float, order};
use crate::sym::Data;
use crate::{bf16, f16};

/// An element type that can be combined: integers of 8 to 64 bits, `isize`, `usize`, `f16`, `bf16`, `f32`, `f64`.
#[diagnostic::on_unimplemented(
    message = "elements of type `{Self}` cannot be combined",
    label = "no type of reductions",
    note = "reductions and scans take integers of 8 to 64 bits, `f16`, `bf16`, `f32` and `f64`"
)]
pub trait Element: Data + sealed::Sealed {
    /// What a word's elements are accumulated in.
    #[doc(hidden)]
    type Sum: Copy;
    /// Of the first PE's elements.
    #[doc(hidden)]
    fn first(word: u64) -> Self::Sum;
    /// The elements.
    #[doc(hidden)]
    fn word(sum: Self::Sum) -> u64;
}

mod sealed {
    pub trait Sealed {}
}

/// Integers stay as they are.
pub(super) trait Integer: Sized {
    /// A word of `f` of the elements of two.
    fn map(a: u64, b: u64, f: impl Fn(Self, Self) -> Self) -> u64;
    /// The same in a loop that is not unrolled: there is one `f` in the kernel.
    fn map_in_turn(a: u64, b: u64, f: impl Fn(Self, Self) -> Self) -> u64;
}

macro_rules! integers {
    ($($ty:ident, $unsigned:ident;)*) => {
        $(
            impl sealed::Sealed for $ty {}
            impl Element for $ty {
                type Sum = u64;
                #[inline(always)]
                fn first(word: u64) -> u64 {
                    word
                }
                #[inline(always)]
                fn word(sum: u64) -> u64 {
                    sum
                }
            }
            impl Integer for $ty {
                #[inline(always)]
                fn map(a: u64, b: u64, f: impl Fn(Self, Self) -> Self) -> u64 {
                    let (mut word, mut at) = (0u64, 0);
                    while at < 64 {
                        let of = f((a >> at) as $unsigned as Self, (b >> at) as $unsigned as Self);
                        word |= (of as $unsigned as u64) << at;
                        at += $unsigned::BITS;
                    }
                    word
                }
                #[inline(always)]
                fn map_in_turn(a: u64, b: u64, f: impl Fn(Self, Self) -> Self) -> u64 {
                    let (mut word, mut at) = (0u64, order::opaque(0));
                    loop {
                        let of = f((a >> at) as $unsigned as Self, (b >> at) as $unsigned as Self);
                        word |= (of as $unsigned as u64) << at;
                        at += u64::from($unsigned::BITS);
                        if at >= 64 {
                            return word;
                        }
                    }
                }
            }
        )*
    };
}
integers! {
    u8, u8; u16, u16; u32, u32; u64, u64; usize, u64;
    i8, u8; i16, u16; i32, u32; i64, u64; isize, u64;
}

/// Floating-point numbers are accumulated in `Wide`.
pub(super) trait Float: Element {
    /// `f64` for `f64`, else `f32`.
    type Wide;
    /// `f` of the elements of two sums.
    fn with(a: Self::Sum, b: Self::Sum, f: impl Fn(Self::Wide, Self::Wide) -> Self::Wide) -> Self::Sum;
}

impl sealed::Sealed for f64 {}
impl Element for f64 {
    type Sum = f64;
    #[inline(always)]
    fn first(word: u64) -> f64 {
        f64::from_bits(word)
    }
    #[inline(always)]
    fn word(sum: f64) -> u64 {
        sum.to_bits()
    }
}
impl Float for f64 {
    type Wide = f64;
    #[inline(always)]
    fn with(a: f64, b: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
        f(a, b)
    }
}

impl sealed::Sealed for f32 {}
impl Element for f32 {
    type Sum = (f32, f32);
    #[inline(always)]
    fn first(word: u64) -> (f32, f32) {
        (f32::from_bits(word as u32), f32::from_bits((word >> 32) as u32))
    }
    #[inline(always)]
    fn word((low, high): (f32, f32)) -> u64 {
        u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32
    }
}
impl Float for f32 {
    type Wide = f32;
    #[inline(always)]
    fn with(a: (f32, f32), b: (f32, f32), f: impl Fn(f32, f32) -> f32) -> (f32, f32) {
        (f(a.0, b.0), f(a.1, b.1))
    }
}

/// Four elements of 16 bits.
type Four = (f32, f32, f32, f32);

macro_rules! halves {
    ($($ty:ident $from:ident $to:ident;)*) => {
        $(
            impl sealed::Sealed for $ty {}
            impl Element for $ty {
                type Sum = Four;
                #[inline(always)]
                fn first(word: u64) -> Four {
                    let wide = |at: u32| float::$from($ty::from_bits((word >> at) as u16));
                    (wide(0), wide(16), wide(32), wide(48))
                }
                #[inline(always)]
                fn word(sum: Four) -> u64 {
                    let narrow = |value: f32, at: u32| u64::from(float::$to(value).to_bits()) << at;
                    narrow(sum.0, 0) | narrow(sum.1, 16) | narrow(sum.2, 32) | narrow(sum.3, 48)
                }
            }
            impl Float for $ty {
                type Wide = f32;
                #[inline(always)]
                fn with(a: Four, b: Four, f: impl Fn(f32, f32) -> f32) -> Four {
                    (f(a.0, b.0), f(a.1, b.1), f(a.2, b.2), f(a.3, b.3))
                }
            }
        )*
    };
}
halves! {
    f16 from_f16 to_f16;
    bf16 from_bf16 to_bf16;
}
