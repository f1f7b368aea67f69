//! Whole work requests, one function for each operation: the segments in order, which stand in basic blocks of 64 bytes.
//!
//! A basic block (WQEBB) is what the send queue's index counts. A work request begins at one, and may go on at the queue's
//! beginning behind its last one. Only the first `len` segments are read: what stands behind them in the last block is not.
//!
//! Each function's `control` says everything of the control segment but operation and size.

use super::{
    Control, Inline, Key, Opcode, Segment, compare_swap, ctrl, data, fetch_add, inline_header,
    masked_compare_swap_4, masked_compare_swap_8, masked_fetch_add_4, masked_fetch_add_8, opmod, raddr,
};

/// Bytes of a basic block.
pub const BLOCK_BYTES: u64 = 64;
/// Segments of a basic block.
pub const SEGMENTS_PER_BLOCK: u32 = 4;

/// Basic blocks of a work request of so many segments.
#[inline(always)]
pub const fn blocks(segments: u32) -> u32 {
    segments.div_ceil(SEGMENTS_PER_BLOCK)
}

/// A range of memory that a NIC has registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The address by which it is registered.
    pub address: u64,
    /// Its lkey, or at a peer its rkey.
    pub key: Key,
}

impl Place {
    /// `bytes` further on, in the same registration.
    #[inline(always)]
    pub const fn plus(self, bytes: u64) -> Self {
        Self { address: self.address.wrapping_add(bytes), key: self.key }
    }
}

/// Completes after everything before it.
#[inline(always)]
pub const fn nop(control: Control) -> [Segment; 1] {
    [ctrl(control, Opcode::Nop, opmod::NONE, 1)]
}

/// Copies 1 byte to 1 GiB from local memory to the peer's.
#[inline(always)]
pub const fn write(control: Control, to: Place, from: Place, bytes: u32) -> [Segment; 3] {
    [
        ctrl(control, Opcode::RdmaWrite, opmod::NONE, 3),
        raddr(to.address, to.key),
        data(bytes, from.key, from.address),
    ]
}

/// Copies 1 byte to 1 GiB from the peer's memory to local memory.
#[inline(always)]
pub const fn read(control: Control, from: Place, to: Place, bytes: u32) -> [Segment; 3] {
    [
        ctrl(control, Opcode::RdmaRead, opmod::NONE, 3),
        raddr(from.address, from.key),
        data(bytes, to.key, to.address),
    ]
}

/// Writes at most 12 bytes, which stand in the work request.
#[inline(always)]
pub const fn write_inline(control: Control, to: Place, bytes: Inline) -> [Segment; 3] {
    [ctrl(control, Opcode::RdmaWrite, opmod::NONE, 3), raddr(to.address, to.key), bytes.segment()]
}

/// A write of [`WARP_BYTES`](warp::WARP_BYTES), 8 from each lane of a warp, that stand in the work request.
pub mod warp {
    use super::*;

    /// Bytes that it writes.
    pub const WARP_BYTES: u32 = 32 * 8;
    /// Its segments: control, remote address, and the data behind its header.
    pub const SEGMENTS: u32 = 2 + DATA_SEGMENTS;
    /// Segments of its data.
    pub const DATA_SEGMENTS: u32 = (4 + WARP_BYTES).div_ceil(16);

    const _: () = assert!(SEGMENTS == 19 && blocks(SEGMENTS) == 5);

    /// Its first two segments.
    #[inline(always)]
    pub const fn head(control: Control, to: Place) -> [Segment; 2] {
        [ctrl(control, Opcode::RdmaWrite, opmod::NONE, SEGMENTS), raddr(to.address, to.key)]
    }

    /// Segment `at` of its data, `0 .. DATA_SEGMENTS`, of what lanes `2 at - 1`, `2 at` and `2 at + 1` write. Lane -1 is the
    /// header's place, and lane 32's and 33's bytes are the padding.
    #[inline(always)]
    pub const fn data(at: u32, before: u64, here: u64, after: u64) -> Segment {
        let first = if at == 0 { inline_header(WARP_BYTES) } else { (before >> 32) as u32 };
        if at == DATA_SEGMENTS - 1 {
            return Segment::from_memory_words([first, 0, 0, 0]);
        }
        Segment::from_memory_words([first, here as u32, (here >> 32) as u32, after as u32])
    }
}

/// Adds to 8 bytes at the peer; the old value, in the machine's byte order, comes to `old`.
#[inline(always)]
pub const fn atomic_fetch_add(control: Control, at: Place, add: u64, old: Place) -> [Segment; 4] {
    [
        ctrl(control, Opcode::AtomicFetchAdd, opmod::NONE, 4),
        raddr(at.address, at.key),
        fetch_add(add),
        data(8, old.key, old.address),
    ]
}

/// Compares 8 bytes at the peer, and swaps them if they are equal; the old value, in the machine's byte order, comes to
/// `old`.
#[inline(always)]
pub const fn atomic_compare_swap(
    control: Control,
    at: Place,
    compare: u64,
    swap: u64,
    old: Place,
) -> [Segment; 4] {
    [
        ctrl(control, Opcode::AtomicCompareSwap, opmod::NONE, 4),
        raddr(at.address, at.key),
        compare_swap(compare, swap),
        data(8, old.key, old.address),
    ]
}

/// Adds to 4 bytes at the peer, without a carry out of the bits of `boundary`; the old value comes to `old`, **big
/// endian**.
#[inline(always)]
pub const fn atomic_add_4(control: Control, at: Place, add: u32, boundary: u32, old: Place) -> [Segment; 4] {
    [
        ctrl(control, Opcode::AtomicMaskedFetchAdd, opmod::MASKED_4_BYTES, 4),
        raddr(at.address, at.key),
        masked_fetch_add_4(add, boundary),
        data(4, old.key, old.address),
    ]
}

/// Adds to 8 bytes at the peer, without a carry out of the bits of `boundary`; the old value comes to `old`.
#[inline(always)]
pub const fn atomic_add_8(control: Control, at: Place, add: u64, boundary: u64, old: Place) -> [Segment; 4] {
    [
        ctrl(control, Opcode::AtomicMaskedFetchAdd, opmod::MASKED_8_BYTES, 4),
        raddr(at.address, at.key),
        masked_fetch_add_8(add, boundary),
        data(8, old.key, old.address),
    ]
}

/// What a compare-and-swap under masks does: where the bits of `compare_mask` are those of `compare`, the bits of
/// `swap_mask` become those of `swap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masked<T> {
    /// What is compared.
    pub compare: T,
    /// Which bits are compared.
    pub compare_mask: T,
    /// What is swapped in.
    pub swap: T,
    /// Which bits change.
    pub swap_mask: T,
}

/// [`Masked`] of 4 bytes at the peer; the old value comes to `old`, **big endian**.
#[inline(always)]
pub const fn atomic_swap_4(control: Control, at: Place, what: Masked<u32>, old: Place) -> [Segment; 4] {
    [
        ctrl(control, Opcode::AtomicMaskedCompareSwap, opmod::MASKED_4_BYTES, 4),
        raddr(at.address, at.key),
        masked_compare_swap_4(what.compare, what.compare_mask, what.swap, what.swap_mask),
        data(4, old.key, old.address),
    ]
}

/// [`Masked`] of 8 bytes at the peer; the old value comes to `old`. It takes two basic blocks, so that its index and one is
/// not the next one's: behind it, where its completion is waited for, stands a [`nop`].
#[inline(always)]
pub const fn atomic_swap_8(control: Control, at: Place, what: Masked<u64>, old: Place) -> [Segment; 5] {
    let [values, masks] = masked_compare_swap_8(what.compare, what.compare_mask, what.swap, what.swap_mask);
    [
        ctrl(control, Opcode::AtomicMaskedCompareSwap, opmod::MASKED_8_BYTES, 5),
        raddr(at.address, at.key),
        values,
        masks,
        data(8, old.key, old.address),
    ]
}

/// The NIC reads 1 byte to 1 GiB of local memory and drops what it read. Behind a fence it shows that what the NIC wrote
/// there has arrived.
#[inline(always)]
pub const fn dump(control: Control, from: Place, bytes: u32) -> [Segment; 2] {
    [ctrl(control, Opcode::Dump, opmod::NONE, 2), data(bytes, from.key, from.address)]
}

#[cfg(test)]
#[path = "wqe_tests.rs"]
mod tests;
