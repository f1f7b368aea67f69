//! Doorbell records, which lie in memory, and doorbells, which lie in a page of the NIC.
//!
//! A send queue's *record* says which of its basic blocks is the next that is not filled yet; the *doorbell*, a store of 8
//! bytes to the NIC, makes it look. Both indexes count basic blocks and have 16 bits, whatever the queue's size. The record is
//! written first. A NIC may read it at any time, so that what stands in front of its index is complete before it is written.
//!
//! Hardware takes the index from the record where there is one; in the doorbell NVSHMEM and gpunetio write the next index, as
//! the record, and so do we, while libmlx5 writes the first 8 bytes of the last work request's control segment.

use super::QueueNumber;

/// Bytes of a queue pair's doorbell record: a word for the receive queue, one for the send queue.
pub const RECORD_BYTES: u64 = 8;
/// From the record of a queue pair to the word of its send queue.
pub const RECORD_SEND: u64 = 4;
/// From the record of a completion queue to the word of its consumer index.
pub const RECORD_CONSUMER: u64 = 0;

/// Bytes of a doorbell page.
pub const PAGE_BYTES: u64 = 4096;
/// From a page to its first doorbell register.
pub const REGISTERS: u64 = 0x800;
/// Bytes of a doorbell register where the NIC says nothing else (`log_bf_reg_size` 9). It has two halves.
pub const REGISTER_BYTES: u64 = 512;
/// From a page to the doorbell that arms a completion queue.
pub const ARM: u64 = 0x20;

/// Most basic blocks of a send queue: half of what an index can tell apart.
pub const MOST_BLOCKS: u64 = 1 << 15;

/// The word of memory in a send queue's record, of the next index.
#[inline(always)]
pub const fn send_record(next: u64) -> u32 {
    (next as u32 & 0xffff).to_be()
}

/// The word of memory in a completion queue's record, of how many completions were taken.
#[inline(always)]
pub const fn consumer_record(taken: u64) -> u32 {
    (taken as u32 & 0x00ff_ffff).to_be()
}

/// The 8 bytes of a send queue's doorbell, of the next index, as a word of memory.
#[inline(always)]
pub const fn send_doorbell(next: u64, queue: QueueNumber) -> u64 {
    ((next as u32 & 0xffff) << 8).to_be() as u64 | (queue.to_memory() as u64) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_wrap_where_the_hardware_wraps_them() {
        assert_eq!(send_record(0x1_2345).to_ne_bytes(), [0, 0, 0x23, 0x45]);
        assert_eq!(consumer_record(0x1_ff23_4567).to_ne_bytes(), [0, 0x23, 0x45, 0x67]);
        let doorbell = send_doorbell(0x9_ffff, QueueNumber::new(0x1003));
        assert_eq!(doorbell.to_ne_bytes(), [0, 0xff, 0xff, 0, 0x00, 0x10, 0x03, 0]);
    }
}
