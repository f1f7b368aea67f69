//! Warp collectives: see `arch/ptx/warp.rs`. All are one exchange of values among the lanes of the mask.

use super::hooks::current;

fn lane() -> u32 {
    let p = current().position();
    let linear = p.thread_idx[0] + p.block_dim[0] * (p.thread_idx[1] + p.block_dim[1] * p.thread_idx[2]);
    linear % 32
}

/// The value of lane `from`, or the own one where that lane is outside the warp or did not come.
fn pick(mask: u32, value: u32, from: Option<u32>) -> u32 {
    let (values, came) = current().warp_exchange(mask, u64::from(value));
    match from {
        Some(lane) if lane < 32 && came & (1 << lane) != 0 => values[lane as usize] as u32,
        _ => value,
    }
}

/// `bar.warp.sync`.
pub(crate) fn sync(mask: u32) {
    current().warp_exchange(mask, 0);
}

/// `shfl.sync.idx`.
pub(crate) fn shuffle_idx(mask: u32, value: u32, lane: u32) -> u32 {
    pick(mask, value, Some(lane & 31))
}

/// `shfl.sync.up`.
pub(crate) fn shuffle_up(mask: u32, value: u32, delta: u32) -> u32 {
    pick(mask, value, lane().checked_sub(delta))
}

/// `shfl.sync.down`.
pub(crate) fn shuffle_down(mask: u32, value: u32, delta: u32) -> u32 {
    pick(mask, value, lane().checked_add(delta))
}

/// `shfl.sync.bfly`.
pub(crate) fn shuffle_xor(mask: u32, value: u32, lane_mask: u32) -> u32 {
    pick(mask, value, Some(lane() ^ lane_mask))
}

/// `vote.sync.any`.
pub(crate) fn any(mask: u32, predicate: bool) -> bool {
    ballot(mask, predicate) != 0
}

/// `vote.sync.all`.
pub(crate) fn all(mask: u32, predicate: bool) -> bool {
    let (values, came) = current().warp_exchange(mask, u64::from(predicate));
    (0..32).all(|lane| came & (1 << lane) == 0 || values[lane as usize] != 0)
}

/// `vote.sync.ballot`.
pub(crate) fn ballot(mask: u32, predicate: bool) -> u32 {
    let (values, came) = current().warp_exchange(mask, u64::from(predicate));
    (0..32)
        .filter(|&lane| came & (1 << lane) != 0 && values[lane as usize] != 0)
        .fold(0, |bits, lane| bits | 1 << lane)
}

/// `activemask`.
pub(crate) fn active_mask() -> u32 {
    current().active_lanes()
}
