//! Floating-point operations that `core` has no methods for on the device. As `cuda_std::GpuFloat`.
//!
//! Here is what is exact or correctly rounded, and the same on device and host. What rust-cuda takes from NVIDIA's
//! libdevice (exponentials, logarithms, trigonometry, `powf`, `cbrt`, `hypot`) is not here, nor are `div_euclid` and
//! `rem_euclid`: the device's remainder of floats is not exact.

/// `f32` and `f64`.
pub trait GpuFloat: Copy + PartialOrd + sealed::Sealed {
    /// The greatest integer that is not greater.
    #[must_use]
    fn floor(self) -> Self;
    /// The least integer that is not less.
    #[must_use]
    fn ceil(self) -> Self;
    /// The nearest integer; halfway, the one farther from zero.
    #[must_use]
    fn round(self) -> Self;
    /// The integer part.
    #[must_use]
    fn trunc(self) -> Self;
    /// The rest after the integer part, with the sign of `self`.
    #[must_use]
    fn fract(self) -> Self;
    /// The absolute value.
    #[must_use]
    fn abs(self) -> Self;
    /// 1 with the sign of `self`; NaN for NaN.
    #[must_use]
    fn signum(self) -> Self;
    /// `self` with the sign of `sign`.
    #[must_use]
    fn copysign(self, sign: Self) -> Self;
    /// `self * a + b`, rounded once.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// `self` to the power of `n`, by repeated multiplication.
    #[must_use]
    fn powi(self, n: i32) -> Self;
    /// The square root, correctly rounded.
    #[must_use]
    fn sqrt(self) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! gpu_float {
    ($($ty:ident)*) => {
        $(
            impl GpuFloat for $ty {
                gpu_float!(@core $ty floor(); ceil(); round(); trunc(); sqrt(); mul_add(a, b););

                #[inline(always)]
                fn fract(self) -> Self {
                    self - GpuFloat::trunc(self)
                }
                #[inline(always)]
                fn abs(self) -> Self {
                    $ty::abs(self)
                }
                #[inline(always)]
                fn signum(self) -> Self {
                    $ty::signum(self)
                }
                #[inline(always)]
                fn copysign(self, sign: Self) -> Self {
                    $ty::copysign(self, sign)
                }
                #[inline(always)]
                fn powi(self, n: i32) -> Self {
                    let (mut result, mut square, mut left) = (1.0, self, n.unsigned_abs());
                    while left != 0 {
                        if left & 1 == 1 {
                            result *= square;
                        }
                        square *= square;
                        left >>= 1;
                    }
                    if n < 0 { 1.0 / result } else { result }
                }
            }
        )*
    };
    // An instruction of the device; std's method on the host.
    (@core $ty:ident $($name:ident($($arg:ident),*);)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: Self),*) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    core::$ty::math::$name(self, $($arg),*)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    $ty::$name(self, $($arg),*)
                }
            }
        )*
    };
}
gpu_float!(f32 f64);

#[cfg(test)]
mod tests {
    use super::GpuFloat;

    #[test]
    fn powers_are_repeated_products() {
        for (x, n, expected) in
            [(3.0, 0, 1.0), (3.0, 5, 243.0), (2.0, -3, 0.125), (-2.0, 3, -8.0), (1.0, i32::MIN, 1.0)]
        {
            assert_eq!(<f64 as GpuFloat>::powi(x, n), expected, "{x} to the power of {n}");
        }
    }

    #[test]
    fn fractions_keep_the_sign() {
        assert_eq!(<f32 as GpuFloat>::fract(-1.25), -0.25);
        assert_eq!(<f32 as GpuFloat>::round(-2.5), -3.0);
    }
}
