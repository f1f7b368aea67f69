//! Warp collectives: shuffles and votes. All threads of the warp call them together.
//!
//! The value of a lane that the warp does not have (a block's last warp may have fewer than 32 threads) is not
//! specified.

use crate::arch::warp;
use crate::thread;

/// The calling thread's lane, 0 to 31.
#[inline(always)]
pub fn lane() -> u32 {
    thread::in_block() & 31
}

/// Threads in this warp: 32, or what is left of the block in its last warp.
#[inline(always)]
pub fn size() -> u32 {
    let rest = thread::per_block() - (thread::in_block() & !31);
    if rest < 32 { rest } else { 32 }
}

/// The lanes of this warp, as a mask.
#[inline(always)]
pub(crate) fn mask() -> u32 {
    u32::MAX >> (32 - size())
}

/// Joins the warp's threads and orders their memory accesses among each other.
#[inline(always)]
#[track_caller]
pub fn sync() {
    crate::seam::access(crate::together::Together::OneWarp, crate::abi::Operation::Sync);
    warp::sync(mask());
}

/// The lanes that execute this call together. They may differ from one call to the next.
#[inline(always)]
pub fn active_mask() -> u32 {
    warp::active_mask()
}

/// A value that shuffles can move: 32 or 64 bits.
pub trait Shuffle: Copy + sealed::Halves {}
impl<T: Copy + sealed::Halves> Shuffle for T {}

mod sealed {
    /// Conversion to and from two 32-bit halves.
    pub trait Halves {
        /// Whether the high half is used.
        const WIDE: bool;
        fn split(self) -> (u32, u32);
        fn join(low: u32, high: u32) -> Self;
    }
    macro_rules! narrow {
        ($($ty:ty: $to:expr, $from:expr;)*) => {
            $(impl Halves for $ty {
                const WIDE: bool = false;
                #[inline(always)]
                fn split(self) -> (u32, u32) { ($to(self), 0) }
                #[inline(always)]
                fn join(low: u32, _: u32) -> Self { $from(low) }
            })*
        };
    }
    macro_rules! wide {
        ($($ty:ty: $to:expr, $from:expr;)*) => {
            $(impl Halves for $ty {
                const WIDE: bool = true;
                #[inline(always)]
                fn split(self) -> (u32, u32) {
                    let bits: u64 = $to(self);
                    (bits as u32, (bits >> 32) as u32)
                }
                #[inline(always)]
                fn join(low: u32, high: u32) -> Self { $from(u64::from(low) | u64::from(high) << 32) }
            })*
        };
    }
    narrow! {
        u32: |v| v, |b| b;
        i32: |v| v as u32, |b| b as i32;
        f32: f32::to_bits, f32::from_bits;
    }
    wide! {
        u64: |v| v, |b| b;
        i64: |v| v as u64, |b| b as i64;
        f64: f64::to_bits, f64::from_bits;
    }
}

#[inline(always)]
fn each_half<T: Shuffle>(value: T, shuffle: impl Fn(u32) -> u32) -> T {
    let (low, high) = value.split();
    let low = shuffle(low);
    T::join(low, if T::WIDE { shuffle(high) } else { 0 })
}

/// The value of lane `lane`.
#[inline(always)]
pub fn shuffle<T: Shuffle>(value: T, lane: u32) -> T {
    each_half(value, |half| warp::shuffle_idx(mask(), half, lane))
}

/// The value of the lane `delta`, modulo 32, above; past lane 31, the own one. (PTX ISA, `shfl.sync`.)
#[inline(always)]
pub fn shuffle_down<T: Shuffle>(value: T, delta: u32) -> T {
    each_half(value, |half| warp::shuffle_down(mask(), half, delta))
}

/// The value of the lane `delta`, modulo 32, below; before lane 0, the own one. (PTX ISA, `shfl.sync`.)
#[inline(always)]
pub fn shuffle_up<T: Shuffle>(value: T, delta: u32) -> T {
    each_half(value, |half| warp::shuffle_up(mask(), half, delta))
}

/// The value of the lane whose number differs in the lower five of `bits`.
#[inline(always)]
pub fn shuffle_xor<T: Shuffle>(value: T, bits: u32) -> T {
    each_half(value, |half| warp::shuffle_xor(mask(), half, bits))
}

/// Whether `predicate` is true for any thread of the warp.
#[inline(always)]
pub fn any(predicate: bool) -> bool {
    warp::any(mask(), predicate)
}

/// Whether `predicate` is true for every thread of the warp.
#[inline(always)]
pub fn all(predicate: bool) -> bool {
    warp::all(mask(), predicate)
}

/// One bit per lane: its `predicate`.
#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    warp::ballot(mask(), predicate)
}
