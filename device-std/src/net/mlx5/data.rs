//! The data segment: a range of local memory.
//!
//! | offset | content |
//! |---|---|
//! | 0 | bytes, 4 bytes; 0 means 2 GiB |
//! | 4 | lkey, 4 bytes |
//! | 8 | address, 8 bytes |

use super::{Key, Segment};

/// Most bytes of one message: what queue pairs are made with (`log_msg_max` 30).
pub const MAX_MESSAGE: u64 = 1 << 30;

/// A data segment of 1 to [`MAX_MESSAGE`] bytes. The NIC takes a count of 0 for 2 GiB: an operation of no bytes is not
/// posted.
#[inline(always)]
pub const fn data(bytes: u32, lkey: Key, address: u64) -> Segment {
    Segment::from_memory(bytes.to_be() as u64 | (lkey.to_memory() as u64) << 32, address.to_be())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_stands_where_the_table_says() {
        let bytes = data(4068, Key::new(0x1800a5), 0x0102_0304_0506_0708).to_bytes();
        assert_eq!(bytes, [0, 0, 0x0f, 0xe4, 0x00, 0x18, 0x00, 0xa5, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
