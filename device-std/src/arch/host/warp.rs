//! Warp collectives: see `arch/ptx/warp.rs`. All are one exchange of values among the lanes of the mask.

use super::hooks::current;

fn lane() -> u32 {
    let p = current().position();
    let linear = p.thread_idx[0] + p.block_dim[0] * (p.thread_idx[1] + p.block_dim[1] * p.thread_idx[2]);
    linear % 32
}

/// The value of lane `from`, or the own one where that lane is outside the warp or did not come.
fn pick(mask: u32, value: u32, from: Option<u32>) -> u32 {
    let (values, came) = current().warp_exchange(mask, u64::from(value), false);
    match from {
        Some(lane) if lane < 32 && came & (1 << lane) != 0 => values[lane as usize] as u32,
        _ => value,
    }
}

/// `bar.warp.sync`.
pub(crate) fn sync(mask: u32) {
    current().warp_exchange(mask, 0, true);
}

/// `shfl.sync.idx`.
pub(crate) fn shuffle_idx(mask: u32, value: u32, lane: u32) -> u32 {
    pick(mask, value, Some(lane & 31))
}

/// `shfl.sync.up`.
pub(crate) fn shuffle_up(mask: u32, value: u32, delta: u32) -> u32 {
    pick(mask, value, lane().checked_sub(delta & 31))
}

/// `shfl.sync.down`.
pub(crate) fn shuffle_down(mask: u32, value: u32, delta: u32) -> u32 {
    pick(mask, value, lane().checked_add(delta & 31))
}

/// `shfl.sync.bfly`.
pub(crate) fn shuffle_xor(mask: u32, value: u32, lane_mask: u32) -> u32 {
    pick(mask, value, Some(lane() ^ lane_mask & 31))
}

/// `vote.sync.any`.
pub(crate) fn any(mask: u32, predicate: bool) -> bool {
    ballot(mask, predicate) != 0
}

/// `vote.sync.all`.
pub(crate) fn all(mask: u32, predicate: bool) -> bool {
    let (values, came) = current().warp_exchange(mask, u64::from(predicate), false);
    (0..32).all(|lane| came & (1 << lane) == 0 || values[lane as usize] != 0)
}

/// `vote.sync.ballot`.
pub(crate) fn ballot(mask: u32, predicate: bool) -> u32 {
    let (values, came) = current().warp_exchange(mask, u64::from(predicate), false);
    (0..32)
        .filter(|&lane| came & (1 << lane) != 0 && values[lane as usize] != 0)
        .fold(0, |bits, lane| bits | 1 << lane)
}

/// `activemask`.
pub(crate) fn active_mask() -> u32 {
    current().active_lanes()
}

/// A shuffle within segments: `from` gets the own lane, the first one of the segment and the bits that number lanes
/// in it.
fn pick_within(
    mask: u32,
    value: u32,
    control: u32,
    from: impl Fn(u32, u32, u32) -> u32,
    reaches: impl Fn(u32, u32) -> bool,
) -> u32 {
    let (lane, segment, clamp) = (lane(), control >> 8 & 31, control & 31);
    let (first, last) = (lane & segment, lane & segment | clamp & !segment);
    let source = from(lane, first, !segment & 31);
    pick(mask, value, Some(source).filter(|&source| reaches(source, last)))
}

/// `shfl.sync.idx` within a segment.
pub(crate) fn shuffle_idx_within(mask: u32, value: u32, lane: u32, control: u32) -> u32 {
    let from = |_, first, within| first | lane & within;
    pick_within(mask, value, control, from, |source, last| source <= last)
}

/// `shfl.sync.up` within a segment.
pub(crate) fn shuffle_up_within(mask: u32, value: u32, delta: u32, control: u32) -> u32 {
    // Before lane 0 it wraps, and is past every lane.
    let from = |lane: u32, _, _| lane.wrapping_sub(delta & 31);
    pick_within(mask, value, control, from, |source, last| source < 32 && source >= last)
}

/// `shfl.sync.down` within a segment.
pub(crate) fn shuffle_down_within(mask: u32, value: u32, delta: u32, control: u32) -> u32 {
    pick_within(mask, value, control, |lane, _, _| lane + (delta & 31), |source, last| source <= last)
}

/// `shfl.sync.bfly` within a segment.
pub(crate) fn shuffle_xor_within(mask: u32, value: u32, lane_mask: u32, control: u32) -> u32 {
    pick_within(mask, value, control, |lane, _, _| lane ^ lane_mask & 31, |source, last| source <= last)
}

/// The values of the lanes that came.
fn came(mask: u32, value: u64) -> impl Iterator<Item = (u32, u64)> {
    let (values, came) = current().warp_exchange(mask, value, false);
    (0..32).filter(move |lane| came & (1 << lane) != 0).map(move |lane| (lane, values[lane as usize]))
}

/// `match.any.sync.b32`.
pub(crate) fn match_any_u32(mask: u32, value: u32) -> u32 {
    match_any_u64(mask, u64::from(value))
}

/// `match.any.sync.b64`.
pub(crate) fn match_any_u64(mask: u32, value: u64) -> u32 {
    came(mask, value).filter(|&(_, other)| other == value).fold(0, |lanes, (lane, _)| lanes | 1 << lane)
}

macro_rules! reduce {
    ($($name:ident $ty:ty, $fold:expr, $what:literal;)*) => {
        $(
            #[doc = $what]
            pub(crate) fn $name(mask: u32, value: $ty) -> $ty {
                let values = came(mask, u64::from(value as u32)).map(|(_, value)| value as u32 as $ty);
                values.reduce($fold).unwrap_or(value)
            }
        )*
    };
}
reduce! {
    reduce_add_u32 u32, u32::wrapping_add, "`redux.sync.add`.";
    reduce_min_u32 u32, u32::min, "`redux.sync.min.u32`.";
    reduce_max_u32 u32, u32::max, "`redux.sync.max.u32`.";
    reduce_min_i32 i32, i32::min, "`redux.sync.min.s32`.";
    reduce_max_i32 i32, i32::max, "`redux.sync.max.s32`.";
    reduce_and_u32 u32, |a, b| a & b, "`redux.sync.and.b32`.";
    reduce_or_u32 u32, |a, b| a | b, "`redux.sync.or.b32`.";
    reduce_xor_u32 u32, |a, b| a ^ b, "`redux.sync.xor.b32`.";
}
