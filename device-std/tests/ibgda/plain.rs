//! Memory by its addresses in this process, every access of which is sequentially consistent.

use oxshmem_device::net::ibgda::{Edge, Memory, Visible};
use oxshmem_device::net::mlx5::Segment;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

pub(crate) fn word(address: u64) -> &'static AtomicU64 {
    assert!(address != 0 && address.is_multiple_of(8), "{address:#x}");
    // SAFETY: the worlds of these tests are never freed, and reach their memory by atomics alone.
    unsafe { &*(address as *const AtomicU64) }
}

pub(crate) fn half(address: u64) -> &'static AtomicU32 {
    assert!(address != 0 && address.is_multiple_of(4), "{address:#x}");
    // SAFETY: as in `word`.
    unsafe { &*(address as *const AtomicU32) }
}

impl Memory for Plain {
    fn field_u32(&self, address: u64) -> u32 {
        half(address).load(SeqCst)
    }
    fn field_u64(&self, address: u64) -> u64 {
        word(address).load(SeqCst)
    }
    fn look(&self, at: u64) -> u64 {
        word(at).load(SeqCst)
    }
    fn load(&self, at: u64, _: Edge) -> u64 {
        word(at).load(SeqCst)
    }
    fn write(&self, at: u64, value: u64) {
        word(at).store(value, SeqCst);
    }
    fn store(&self, at: u64, value: u64, _: Edge) {
        word(at).store(value, SeqCst);
    }
    fn add(&self, at: u64, value: u64) -> u64 {
        word(at).fetch_add(value, SeqCst)
    }
    fn set(&self, at: u64, bits: u64) {
        word(at).fetch_or(bits, SeqCst);
    }
    fn clear(&self, at: u64, bits: u64, _: Edge) {
        word(at).fetch_and(!bits, SeqCst);
    }
    fn recheck(&self, at: u64, _: Edge) -> u64 {
        word(at).fetch_add(0, SeqCst)
    }
    fn lock(&self, at: u64, _: Edge) -> bool {
        word(at).compare_exchange(0, 1, SeqCst, SeqCst).is_ok()
    }
    fn publish(&self, at: u64, from: u64, to: u64, _: Visible) -> bool {
        word(at).compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }
    fn claim(&self, at: u64, value: u64) -> u64 {
        word(at).compare_exchange(0, value, SeqCst, SeqCst).unwrap_or_else(|before| before)
    }
    fn write_segment(&self, address: u64, segment: Segment) {
        assert!(address.is_multiple_of(16));
        let [low, high] = segment.to_memory();
        word(address).store(low, SeqCst);
        word(address + 8).store(high, SeqCst);
    }
    fn write_record(&self, address: u64, value: u32) {
        half(address).store(value, SeqCst);
    }
    fn fence_doorbell(&self) {}
    fn write_doorbell(&self, address: u64, value: u64) {
        word(address).store(value, SeqCst);
    }
    fn write_next(&self, address: u64, next: u64) {
        word(address).store(next, SeqCst);
    }
    fn look_completion(&self, address: u64) -> u32 {
        half(address).load(SeqCst)
    }
    fn load_completion(&self, address: u64) -> u32 {
        half(address).load(SeqCst)
    }
    fn read_u32(&self, address: u64) -> u32 {
        half(address).load(SeqCst)
    }
    fn read_u64(&self, address: u64) -> u64 {
        word(address).load(SeqCst)
    }
    fn write_consumer(&self, address: u64, value: u32) {
        half(address).store(value, SeqCst);
    }
}
