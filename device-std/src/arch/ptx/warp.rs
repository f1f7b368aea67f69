//! Warp collectives: LLVM intrinsics, which stay convergent.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(mask: u32, value: u32, lane_mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.activemask"]
    fn activemask() -> u32;
}

/// `bar.warp.sync`: joins the lanes in `mask` and orders their memory accesses among each other.
#[inline(always)]
pub(crate) fn sync(mask: u32) {
    // SAFETY: the caller's lanes are those in `mask`; convergent.
    unsafe { bar_warp_sync(mask) };
}

/// `shfl.sync.idx`: the value of lane `lane`.
#[inline(always)]
pub(crate) fn shuffle_idx(mask: u32, value: u32, lane: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { shfl_idx(mask, value, lane, 31) }
}

/// `shfl.sync.up`: the value of the lane `delta` below; a lane below `delta` keeps its own.
#[inline(always)]
pub(crate) fn shuffle_up(mask: u32, value: u32, delta: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { shfl_up(mask, value, delta, 0) }
}

/// `shfl.sync.down`: the value of the lane `delta` above; a lane past the end keeps its own.
#[inline(always)]
pub(crate) fn shuffle_down(mask: u32, value: u32, delta: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { shfl_down(mask, value, delta, 31) }
}

/// `shfl.sync.bfly`: the value of the lane whose number differs in the bits of `lane_mask`.
#[inline(always)]
pub(crate) fn shuffle_xor(mask: u32, value: u32, lane_mask: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { shfl_bfly(mask, value, lane_mask, 31) }
}

/// `vote.sync.any`.
#[inline(always)]
pub(crate) fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: as `sync`.
    unsafe { vote_any(mask, predicate) }
}

/// `vote.sync.all`.
#[inline(always)]
pub(crate) fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: as `sync`.
    unsafe { vote_all(mask, predicate) }
}

/// `vote.sync.ballot`: bit i is lane i's predicate.
#[inline(always)]
pub(crate) fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: as `sync`.
    unsafe { vote_ballot(mask, predicate) }
}

/// `activemask`: the lanes that execute this instruction together.
#[inline(always)]
pub(crate) fn active_mask() -> u32 {
    // SAFETY: no requirement.
    unsafe { activemask() }
}
