//! Element types of the suite.

use oxshmem_device::bytemuck::Pod;

/// An element type of the suite.
pub(super) trait Element: Pod + PartialEq + std::fmt::Debug + Send {
    const NAME: &'static str;
    /// A value that depends on PE, place and round.
    fn value(pe: u32, i: usize, round: u32) -> Self;
}

macro_rules! element {
    ($($ty:ty)*) => {$(
        impl Element for $ty {
            const NAME: &'static str = stringify!($ty);
            fn value(pe: u32, i: usize, round: u32) -> Self {
                let mut x = u64::from(pe) << 40 ^ (i as u64) << 8 ^ u64::from(round);
                x = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let x = (x ^ x >> 29) as u128;
                (x << 64 | x ^ 0x5555) as $ty | 1
            }
        }
    )*};
}
element!(u8 u16 u32 u64 u128);

macro_rules! array {
    ($($ty:ty, $n:literal;)*) => {$(
        impl Element for [$ty; $n] {
            const NAME: &'static str = concat!("[", stringify!($ty), "; ", $n, "]");
            fn value(pe: u32, i: usize, round: u32) -> Self {
                core::array::from_fn(|part| <$ty>::value(pe, $n * i + part, round))
            }
        }
    )*};
}
array! {
    u8, 3;
    u16, 3;
    u32, 3;
    u16, 7;
}
