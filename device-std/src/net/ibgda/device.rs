//! [`Memory`] of a device: each function one instruction of the arch layer, or on the host its twin.

use super::super::mlx5::Segment;
use super::memory::{Edge, Memory, Visible};
use crate::arch::{Exchange, Semantic, V16, Word, atomic, nic, order};

/// The memory that the device's threads and the NIC share, by its device addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory;

// SAFETY of every block below: the addresses come from a description of which `QueuePair::new`'s caller has promised that
// all that it names is mapped, aligned and accessed by this protocol alone.
impl Memory for DeviceMemory {
    #[inline(always)]
    fn field_u32(&self, address: u64) -> u32 {
        // SAFETY: see above; nobody writes a description.
        unsafe { u32::load_global(address) }
    }
    #[inline(always)]
    fn field_u64(&self, address: u64) -> u64 {
        // SAFETY: as `field_u32`.
        unsafe { u64::load_global(address) }
    }

    #[inline(always)]
    fn look(&self, word: u64) -> u64 {
        // SAFETY: see above.
        unsafe { nic::load_relaxed_gpu(word) }
    }
    #[inline(always)]
    fn load(&self, word: u64, _: Edge) -> u64 {
        // SAFETY: see above.
        unsafe { nic::load_acquire_gpu(word) }
    }
    #[inline(always)]
    fn write(&self, word: u64, value: u64) {
        // SAFETY: see above.
        unsafe { nic::store_relaxed_gpu(word, value) }
    }
    #[inline(always)]
    fn store(&self, word: u64, value: u64, _: Edge) {
        // SAFETY: see above.
        unsafe { atomic::store_release_gpu_u64(word, value) }
    }
    #[inline(always)]
    fn add(&self, word: u64, value: u64) -> u64 {
        // SAFETY: see above.
        unsafe { nic::fetch_add_relaxed_gpu(word, value) }
    }
    #[inline(always)]
    fn set(&self, word: u64, bits: u64) {
        // SAFETY: see above.
        unsafe { nic::or_relaxed_gpu(word, bits) }
    }
    #[inline(always)]
    fn clear(&self, word: u64, bits: u64, _: Edge) {
        // SAFETY: see above.
        unsafe { nic::and_release_gpu(word, !bits) }
    }
    #[inline(always)]
    fn recheck(&self, word: u64, _: Edge) -> u64 {
        // SAFETY: see above.
        unsafe { nic::fetch_add_release_gpu(word, 0) }
    }
    #[inline(always)]
    fn lock(&self, word: u64, _: Edge) -> bool {
        // SAFETY: see above.
        unsafe { nic::compare_swap_acquire_gpu(word, 0, 1) == 0 }
    }
    #[inline(always)]
    fn publish(&self, word: u64, from: u64, to: u64, visible: Visible) -> bool {
        // SAFETY: see above.
        let before = unsafe {
            match visible {
                Visible::Device => nic::compare_swap_acq_rel_gpu(word, from, to),
                Visible::System => u64::compare_swap(Semantic::AcqRel, word, from, to),
            }
        };
        before == from
    }
    #[inline(always)]
    fn claim(&self, word: u64, value: u64) -> u64 {
        // SAFETY: see above.
        unsafe { u64::compare_swap(Semantic::Relaxed, word, 0, value) }
    }

    #[inline(always)]
    fn write_segment(&self, address: u64, segment: Segment) {
        let [low, high] = segment.to_memory();
        // SAFETY: see above; the block belongs to the calling thread, and the NIC reads it behind the doorbell record.
        unsafe { V16::store_global(address, V16(low, high)) }
    }
    #[inline(always)]
    fn write_record(&self, address: u64, word: u32) {
        // SAFETY: see above.
        unsafe { u32::store_release(address, word) }
    }
    #[inline(always)]
    fn fence_doorbell(&self) {
        order::fence_acq_rel_sys();
    }
    #[inline(always)]
    fn write_doorbell(&self, address: u64, word: u64) {
        // SAFETY: see above.
        unsafe { nic::store_mmio(address, word) }
    }
    #[inline(always)]
    fn write_next(&self, address: u64, next: u64) {
        // SAFETY: see above.
        unsafe { u64::store_release(address, next) }
    }
    #[inline(always)]
    fn look_completion(&self, address: u64) -> u32 {
        // SAFETY: see above.
        unsafe { u32::load_relaxed(address) }
    }
    #[inline(always)]
    fn load_completion(&self, address: u64) -> u32 {
        // SAFETY: see above.
        unsafe { u32::load_acquire(address) }
    }
    #[inline(always)]
    fn read_u32(&self, address: u64) -> u32 {
        // SAFETY: see above.
        unsafe { u32::load_relaxed(address) }
    }
    #[inline(always)]
    fn read_u64(&self, address: u64) -> u64 {
        // SAFETY: see above.
        unsafe { u64::load_relaxed(address) }
    }
    #[inline(always)]
    fn write_consumer(&self, address: u64, word: u32) {
        // SAFETY: see above.
        unsafe { u32::store_relaxed(address, word) }
    }
}
