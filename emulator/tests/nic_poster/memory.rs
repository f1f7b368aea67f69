//! Memory that tests and the NIC's thread access at the same time.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Zeroed memory, aligned to a page.
pub struct Memory {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: owned memory that is accessed by atomics only.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn new(bytes: u64) -> Self {
        let layout = Layout::from_size_align(bytes as usize, 4096).unwrap();
        assert!(bytes > 0);
        // SAFETY: the size is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        assert!(!start.is_null());
        Self { start, layout }
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }

    fn at(&self, offset: u64, bytes: u64) -> *mut u8 {
        assert!(offset + bytes <= self.layout.size() as u64 && offset.is_multiple_of(bytes));
        self.start.wrapping_add(offset as usize)
    }

    fn byte(&self, offset: u64) -> &AtomicU8 {
        // SAFETY: inside.
        unsafe { AtomicU8::from_ptr(self.at(offset, 1)) }
    }

    fn word(&self, offset: u64) -> &AtomicU64 {
        // SAFETY: inside and aligned.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    pub fn load64(&self, offset: u64) -> u64 {
        self.word(offset).load(Ordering::Acquire)
    }

    pub fn store64(&self, offset: u64, value: u64) {
        self.word(offset).store(value, Ordering::Release);
    }

    pub fn store32(&self, offset: u64, value: u32) {
        // SAFETY: inside and aligned.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }.store(value, Ordering::Release);
    }

    pub fn write(&self, offset: u64, bytes: &[u8]) {
        for (at, &byte) in (offset..).zip(bytes) {
            self.byte(at).store(byte, Ordering::Relaxed);
        }
    }

    pub fn read(&self, offset: u64, bytes: u64) -> Vec<u8> {
        (offset..offset + bytes).map(|at| self.byte(at).load(Ordering::Relaxed)).collect()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout by `new`.
        unsafe { dealloc(self.start, self.layout) };
    }
}
