//! The segment of an 8-byte atomic.
//!
//! | offset | content |
//! |---|---|
//! | 0 | what is added, or swapped in, 8 bytes |
//! | 8 | what is compared, 8 bytes; fetch-and-add does not look at it |

use super::Segment;

/// Of [`Opcode::AtomicFetchAdd`](super::Opcode::AtomicFetchAdd).
#[inline(always)]
pub const fn fetch_add(add: u64) -> Segment {
    Segment::from_u64(add, 0)
}

/// Of [`Opcode::AtomicCompareSwap`](super::Opcode::AtomicCompareSwap).
#[inline(always)]
pub const fn compare_swap(compare: u64, swap: u64) -> Segment {
    Segment::from_u64(swap, compare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_stands_where_the_table_says() {
        let added = fetch_add(0x0102_0304_0506_0708).to_bytes();
        assert_eq!(added, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
        let swapped = compare_swap(0x090a_0b0c_0d0e_0f10, 0x0102_0304_0506_0708).to_bytes();
        assert_eq!(swapped, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    }
}
