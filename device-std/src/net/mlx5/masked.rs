//! The segments of atomics under masks ("extended atomics"), of 4 and of 8 bytes.
//!
//! | operation | offset | content |
//! |---|---|---|
//! | fetch-and-add of 4 bytes | 0, 4 | what is added; bits from which no carry goes on |
//! | fetch-and-add of 8 bytes | 0, 8 | the same |
//! | compare-and-swap of 4 bytes | 0, 4, 8, 12 | swap, compare, mask of swap, mask of compare |
//! | compare-and-swap of 8 bytes | 0, 8; 16, 24 | swap, compare; mask of swap, mask of compare |
//!
//! Compare-and-swap compares the bits under the mask of compare, and if they are equal makes the word
//! `old & !swap_mask | swap & swap_mask`. With no bit to compare it always does.

use super::Segment;

/// As the boundary of a fetch-and-add: no bit carries into the next, so that it is an exclusive or.
pub const CARRY_NOWHERE: u64 = u64::MAX;

/// Of a masked fetch-and-add of 4 bytes.
#[inline(always)]
pub const fn masked_fetch_add_4(add: u32, boundary: u32) -> Segment {
    Segment::from_memory_words([add.to_be(), boundary.to_be(), 0, 0])
}

/// Of a masked fetch-and-add of 8 bytes.
#[inline(always)]
pub const fn masked_fetch_add_8(add: u64, boundary: u64) -> Segment {
    Segment::from_u64(add, boundary)
}

/// Of a masked compare-and-swap of 4 bytes.
#[inline(always)]
pub const fn masked_compare_swap_4(compare: u32, compare_mask: u32, swap: u32, swap_mask: u32) -> Segment {
    Segment::from_memory_words([swap.to_be(), compare.to_be(), swap_mask.to_be(), compare_mask.to_be()])
}

/// Of a masked compare-and-swap of 8 bytes: two segments.
#[inline(always)]
pub const fn masked_compare_swap_8(
    compare: u64,
    compare_mask: u64,
    swap: u64,
    swap_mask: u64,
) -> [Segment; 2] {
    [Segment::from_u64(swap, compare), Segment::from_u64(swap_mask, compare_mask)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_stands_where_the_table_says() {
        let counted: [u8; 16] = core::array::from_fn(|at| at as u8 + 1);
        assert_eq!(
            masked_fetch_add_4(0x0102_0304, 0x0506_0708).to_bytes(),
            [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(masked_fetch_add_8(0x0102_0304_0506_0708, 0x090a_0b0c_0d0e_0f10).to_bytes(), counted);
        assert_eq!(
            masked_compare_swap_4(0x0506_0708, 0x0d0e_0f10, 0x0102_0304, 0x090a_0b0c).to_bytes(),
            counted
        );
        let [values, masks] = masked_compare_swap_8(2, 4, 1, 3);
        assert_eq!((values, masks), (Segment::from_u64(1, 2), Segment::from_u64(3, 4)));
    }
}
