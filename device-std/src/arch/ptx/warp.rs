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
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any_i32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    fn match_any_i64(mask: u32, value: u64) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.add"]
    fn redux_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    fn redux_umin(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    fn redux_umax(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.min"]
    fn redux_min(value: i32, mask: u32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.max"]
    fn redux_max(value: i32, mask: u32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    fn redux_and(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    fn redux_or(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    fn redux_xor(value: u32, mask: u32) -> u32;
}

/// Calls with the mask as a constant where it is that of a whole warp. Of a mask that it does not know the assembler first
/// looks which lanes have it (`MATCH`, `VOTE`, a loop), which takes longer than what is called.
macro_rules! known {
    ($mask:ident, $call:expr) => {
        if $mask == u32::MAX {
            let $mask = u32::MAX;
            $call
        } else {
            $call
        }
    };
}

/// `bar.warp.sync`: joins the lanes in `mask` and orders their memory accesses among each other.
#[inline(always)]
pub(crate) fn sync(mask: u32) {
    // SAFETY: the caller's lanes are those in `mask`; convergent.
    unsafe { known!(mask, bar_warp_sync(mask)) };
}

/// `shfl.sync.idx`: the value of lane `lane`.
#[inline(always)]
pub(crate) fn shuffle_idx(mask: u32, value: u32, lane: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, shfl_idx(mask, value, lane, 31)) }
}

/// `shfl.sync.up`: the value of the lane `delta` below; a lane below `delta` keeps its own.
#[inline(always)]
pub(crate) fn shuffle_up(mask: u32, value: u32, delta: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, shfl_up(mask, value, delta, 0)) }
}

/// `shfl.sync.down`: the value of the lane `delta` above; a lane past the end keeps its own.
#[inline(always)]
pub(crate) fn shuffle_down(mask: u32, value: u32, delta: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, shfl_down(mask, value, delta, 31)) }
}

/// `shfl.sync.bfly`: the value of the lane whose number differs in the bits of `lane_mask`.
#[inline(always)]
pub(crate) fn shuffle_xor(mask: u32, value: u32, lane_mask: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, shfl_bfly(mask, value, lane_mask, 31)) }
}

/// `vote.sync.any`.
#[inline(always)]
pub(crate) fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: as `sync`.
    unsafe { known!(mask, vote_any(mask, predicate)) }
}

/// `vote.sync.all`.
#[inline(always)]
pub(crate) fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: as `sync`.
    unsafe { known!(mask, vote_all(mask, predicate)) }
}

/// `vote.sync.ballot`: bit i is lane i's predicate.
#[inline(always)]
pub(crate) fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, vote_ballot(mask, predicate)) }
}

/// `activemask`: the lanes that execute this instruction together.
#[inline(always)]
pub(crate) fn active_mask() -> u32 {
    // SAFETY: no requirement.
    unsafe { activemask() }
}

// The shuffles again, with the instruction's last operand: segment mask in bits 8 to 12, clamp in bits 0 to 4
// (PTX ISA, `shfl.sync`).

/// `shfl.sync.idx` within a segment.
#[inline(always)]
pub(crate) fn shuffle_idx_within(mask: u32, value: u32, lane: u32, control: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, shfl_idx(mask, value, lane, control)) }
}

/// `shfl.sync.up` within a segment.
#[inline(always)]
pub(crate) fn shuffle_up_within(mask: u32, value: u32, delta: u32, control: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, shfl_up(mask, value, delta, control)) }
}

/// `shfl.sync.down` within a segment.
#[inline(always)]
pub(crate) fn shuffle_down_within(mask: u32, value: u32, delta: u32, control: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, shfl_down(mask, value, delta, control)) }
}

/// `shfl.sync.bfly` within a segment.
#[inline(always)]
pub(crate) fn shuffle_xor_within(mask: u32, value: u32, lane_mask: u32, control: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, shfl_bfly(mask, value, lane_mask, control)) }
}

/// `match.any.sync.b32`: the lanes whose value is the caller's.
#[inline(always)]
pub(crate) fn match_any_u32(mask: u32, value: u32) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, match_any_i32(mask, value)) }
}

/// `match.any.sync.b64`: the lanes whose value is the caller's.
#[inline(always)]
pub(crate) fn match_any_u64(mask: u32, value: u64) -> u32 {
    // SAFETY: as `sync`.
    unsafe { known!(mask, match_any_i64(mask, value)) }
}

macro_rules! reduce {
    ($($name:ident $intrinsic:ident $ty:ty, $what:literal;)*) => {
        $(
            #[doc = $what]
            #[inline(always)]
            pub(crate) fn $name(mask: u32, value: $ty) -> $ty {
                // SAFETY: as `sync`.
                unsafe { known!(mask, $intrinsic(value, mask)) }
            }
        )*
    };
}
reduce! {
    reduce_add_u32 redux_add u32, "`redux.sync.add`: the sum, wrapping.";
    reduce_min_u32 redux_umin u32, "`redux.sync.min.u32`.";
    reduce_max_u32 redux_umax u32, "`redux.sync.max.u32`.";
    reduce_min_i32 redux_min i32, "`redux.sync.min.s32`.";
    reduce_max_i32 redux_max i32, "`redux.sync.max.s32`.";
    reduce_and_u32 redux_and u32, "`redux.sync.and.b32`.";
    reduce_or_u32 redux_or u32, "`redux.sync.or.b32`.";
    reduce_xor_u32 redux_xor u32, "`redux.sync.xor.b32`.";
}
