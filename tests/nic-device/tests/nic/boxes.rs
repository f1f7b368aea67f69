//! Memory for queues and data: pages that the NIC and this program both use.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// Pages of zeros. What the NIC writes is read with [`get`](Self::get) and [`word`](Self::word), which read memory afresh.
pub(crate) struct Pages {
    start: NonNull<u8>,
    length: usize,
}

impl Pages {
    pub(crate) fn new(length: usize) -> Self {
        Self::map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// The first bytes of a file.
    pub(crate) fn of_file(file: BorrowedFd<'_>, length: usize) -> Self {
        Self::map(length, libc::MAP_SHARED, file.as_raw_fd())
    }

    fn map(length: usize, flags: i32, file: i32) -> Self {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, file, 0) };
        assert!(start != libc::MAP_FAILED, "no memory for {length} bytes");
        Pages { start: NonNull::new(start.cast()).expect("a mapping is not at zero"), length }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    fn check(&self, at: usize, length: usize) {
        assert!(at + length <= self.length, "{length} bytes at {at} of {}", self.length);
    }

    pub(crate) fn put(&self, at: usize, bytes: &[u8]) {
        self.check(at, bytes.len());
        for (i, byte) in bytes.iter().enumerate() {
            // SAFETY: within the pages, by the check.
            unsafe { self.start().add(at + i).write_volatile(*byte) };
        }
    }

    pub(crate) fn get(&self, at: usize, length: usize) -> Vec<u8> {
        self.check(at, length);
        // SAFETY: within the pages, by the check.
        (0..length).map(|i| unsafe { self.start().add(at + i).read_volatile() }).collect()
    }

    /// Eight bytes at once.
    pub(crate) fn word(&self, at: usize) -> u64 {
        self.check(at, 8);
        assert!(at.is_multiple_of(8));
        // SAFETY: within the pages, by the check, and aligned.
        unsafe { self.start().add(at).cast::<u64>().read_volatile() }
    }

    /// Eight bytes at once.
    pub(crate) fn put_word(&self, at: usize, value: u64) {
        self.check(at, 8);
        assert!(at.is_multiple_of(8));
        // SAFETY: within the pages, by the check, and aligned.
        unsafe { self.start().add(at).cast::<u64>().write_volatile(value) };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.start().cast(), self.length) };
    }
}
