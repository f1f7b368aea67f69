//! The remote address segment: where at the peer an operation reads or writes.
//!
//! | offset | content |
//! |---|---|
//! | 0 | address, 8 bytes |
//! | 8 | rkey, 4 bytes |
//! | 12 | zero |

use super::{Key, Segment};

/// A remote address segment. `address` is as the peer has registered it.
#[inline(always)]
pub const fn raddr(address: u64, rkey: Key) -> Segment {
    Segment::from_memory(address.to_be(), rkey.to_memory() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_stands_where_the_table_says() {
        let bytes = raddr(0x0102_0304_0506_0708, Key::new(0x1801a6)).to_bytes();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 0x00, 0x18, 0x01, 0xa6, 0, 0, 0, 0]);
    }
}
