//! Collectives of the lanes of a warp that a mask names. As `cuda_std::warp`.
//!
//! Every function that takes a mask is called by all lanes of the mask, with the same mask, and by no others; that is
//! what its caller promises. A lane that has exited is not in the mask.

use crate::arch::warp;
use crate::{bf16, f16};

/// Joins the lanes of `mask` and orders their memory accesses among each other.
///
/// # Safety
/// See [the module](self).
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    warp::sync(mask);
}

/// The calling thread's lane, 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    crate::warp::lane()
}

/// The lanes that execute this call together. They may differ from one call to the next.
#[inline(always)]
pub fn activemask() -> u32 {
    warp::active_mask()
}

/// What [`warp_reduce`] does with the lanes' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum; it wraps.
    Add,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Bits set in all.
    And,
    /// Bits set in any.
    Or,
    /// Bits set in an odd number.
    Xor,
}

/// A value that [`warp_reduce`] takes.
pub trait WarpReduceValue: Sized {
    /// See [`warp_reduce`].
    ///
    /// # Safety
    /// See [the module](self).
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

impl WarpReduceValue for u32 {
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: u32, op: WarpReductionOp) -> u32 {
        match op {
            WarpReductionOp::Add => warp::reduce_add_u32(mask, value),
            WarpReductionOp::Min => warp::reduce_min_u32(mask, value),
            WarpReductionOp::Max => warp::reduce_max_u32(mask, value),
            WarpReductionOp::And => warp::reduce_and_u32(mask, value),
            WarpReductionOp::Or => warp::reduce_or_u32(mask, value),
            WarpReductionOp::Xor => warp::reduce_xor_u32(mask, value),
        }
    }
}

impl WarpReduceValue for i32 {
    #[inline(always)]
    unsafe fn reduce(mask: u32, value: i32, op: WarpReductionOp) -> i32 {
        match op {
            WarpReductionOp::Min => warp::reduce_min_i32(mask, value),
            WarpReductionOp::Max => warp::reduce_max_i32(mask, value),
            // The others are the same on the bits.
            // SAFETY: passed on.
            _ => unsafe { u32::reduce(mask, value as u32, op) as i32 },
        }
    }
}

/// `op` over the values of the lanes of `mask`, for each of them.
///
/// # Safety
/// See [the module](self).
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: passed on.
    unsafe { T::reduce(mask, value, op) }
}

/// A value that matches take: 32 or 64 bits, compared by their bits.
pub trait WarpMatchValue: Sized {
    /// See [`warp_match_any`].
    ///
    /// # Safety
    /// See [the module](self).
    unsafe fn match_any(mask: u32, value: Self) -> u32;

    /// See [`warp_match_all`].
    ///
    /// # Safety
    /// See [the module](self).
    #[inline(always)]
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32> {
        // SAFETY: passed on. All lanes of the mask come, so they are equal if they all match this one.
        let same = unsafe { Self::match_any(mask, value) };
        if same == mask { Some(mask) } else { None }
    }
}

macro_rules! match_value {
    ($($ty:ty, $match_any:ident, $bits:expr;)*) => {
        $(
            impl WarpMatchValue for $ty {
                #[inline(always)]
                unsafe fn match_any(mask: u32, value: Self) -> u32 {
                    warp::$match_any(mask, $bits(value))
                }
            }
        )*
    };
}
match_value! {
    u32, match_any_u32, |v| v;
    i32, match_any_u32, |v| v as u32;
    f32, match_any_u32, f32::to_bits;
    u64, match_any_u64, |v| v;
    i64, match_any_u64, |v| v as u64;
    f64, match_any_u64, f64::to_bits;
}

/// The lanes of `mask` whose value has the bits of the caller's.
///
/// # Safety
/// See [the module](self).
#[inline(always)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: passed on.
    unsafe { T::match_any(mask, value) }
}

/// `mask` if all its lanes' values have the same bits.
///
/// # Safety
/// See [the module](self).
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: passed on.
    unsafe { T::match_all(mask, value) }
}

/// Whether `predicate` is true for every lane of `mask`.
///
/// # Safety
/// See [the module](self).
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    warp::all(mask, predicate)
}

/// Whether `predicate` is true for any lane of `mask`.
///
/// # Safety
/// See [the module](self).
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    warp::any(mask, predicate)
}

/// One bit per lane of `mask`: its `predicate`.
///
/// # Safety
/// See [the module](self).
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    warp::ballot(mask, predicate)
}

/// From which lane a shuffle takes the value.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpShuffleMode {
    /// The lane `b` below.
    Up,
    /// The lane `b` above.
    Down,
    /// The lane `b` of the segment.
    Idx,
    /// The lane whose number differs in the bits of `b`.
    Xor,
}

/// A value that shuffles move: 32 bits at a time.
pub trait WarpShuffleValue: Sized {
    /// See [`warp_shuffle_idx`]; `mode` is a constant.
    ///
    /// # Safety
    /// See [the module](self).
    unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool);
}

/// One 32-bit shuffle, within segments of `width` lanes.
#[inline(always)]
fn shuffle(mode: WarpShuffleMode, mask: u32, value: u32, b: u32, width: u32) -> (u32, bool) {
    assert!(width.is_power_of_two() && width <= 32, "the width of a shuffle is a power of two, at most 32");
    let segments = (32 - width) << 8;
    let (within, b) = (lane_id() & (width - 1), b & 31);
    match mode {
        WarpShuffleMode::Up => (warp::shuffle_up_within(mask, value, b, segments), b <= within),
        WarpShuffleMode::Down => {
            (warp::shuffle_down_within(mask, value, b, segments | 31), within + b < width)
        }
        WarpShuffleMode::Idx => (warp::shuffle_idx_within(mask, value, b, segments | 31), true),
        // A lane of an earlier segment can be reached, of a later one not.
        WarpShuffleMode::Xor => {
            let last = lane_id() | (width - 1);
            (warp::shuffle_xor_within(mask, value, b, segments | 31), lane_id() ^ b <= last)
        }
    }
}

macro_rules! narrow {
    ($($ty:ty, $to:expr, $from:expr;)*) => {
        $(
            impl WarpShuffleValue for $ty {
                #[inline(always)]
                unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
                    let (bits, inside) = shuffle(mode, mask, $to(value), b, width);
                    ($from(bits), inside)
                }
            }
        )*
    };
}
narrow! {
    u8, u32::from, |b| b as u8;
    i8, |v| v as u32, |b| b as i8;
    u16, u32::from, |b| b as u16;
    i16, |v| v as u32, |b| b as i16;
    u32, |v| v, |b| b;
    i32, |v| v as u32, |b| b as i32;
    f32, f32::to_bits, f32::from_bits;
    f16, |v: f16| u32::from(v.to_bits()), |b| f16::from_bits(b as u16);
    bf16, |v: bf16| u32::from(v.to_bits()), |b| bf16::from_bits(b as u16);
}

macro_rules! wide {
    ($($ty:ty, $whole:ty, $half:ty, $bits:literal, $to:expr, $from:expr;)*) => {
        $(
            impl WarpShuffleValue for $ty {
                #[inline(always)]
                unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
                    let bits: $whole = $to(value);
                    // SAFETY: passed on.
                    let (low, inside) = unsafe { <$half>::shuffle(mode, mask, bits as $half, b, width) };
                    // SAFETY: passed on.
                    let (high, _) = unsafe { <$half>::shuffle(mode, mask, (bits >> $bits) as $half, b, width) };
                    ($from(<$whole>::from(high) << $bits | <$whole>::from(low)), inside)
                }
            }
        )*
    };
}
wide! {
    u64, u64, u32, 32, |v| v, |b| b;
    i64, u64, u32, 32, |v| v as u64, |b| b as i64;
    f64, u64, u32, 32, f64::to_bits, f64::from_bits;
    u128, u128, u64, 64, |v| v, |b| b;
    i128, u128, u64, 64, |v| v as u128, |b| b as i128;
}

/// The value of the lane `delta` above, and whether that lane is in the caller's segment of `width` lanes; if it is not,
/// the own value. `delta` is less than 32.
///
/// # Safety
/// See [the module](self). The value of a lane outside `mask` is not specified.
///
/// # Panics
/// If `width` is no power of two or above 32.
#[inline(always)]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: passed on.
    unsafe { T::shuffle(WarpShuffleMode::Down, mask, value, delta, width) }
}

/// The value of the lane `delta` below, and whether that lane is in the caller's segment; as [`warp_shuffle_down`].
///
/// # Safety
/// As [`warp_shuffle_down`].
///
/// # Panics
/// As [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    // SAFETY: passed on.
    unsafe { T::shuffle(WarpShuffleMode::Up, mask, value, delta, width) }
}

/// The value of lane `idx`, modulo `width`, of the caller's segment; always true.
///
/// # Safety
/// As [`warp_shuffle_down`].
///
/// # Panics
/// As [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, idx: u32, width: u32) -> (T, bool) {
    // SAFETY: passed on.
    unsafe { T::shuffle(WarpShuffleMode::Idx, mask, value, idx, width) }
}

/// The value of the lane whose number differs in the bits of `lane_mask`, and whether that lane is in the caller's
/// segment or an earlier one; if it is not, the own value.
///
/// # Safety
/// As [`warp_shuffle_down`].
///
/// # Panics
/// As [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane_mask: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: passed on.
    unsafe { T::shuffle(WarpShuffleMode::Xor, mask, value, lane_mask, width) }
}
