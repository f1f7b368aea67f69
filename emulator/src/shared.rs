//! Shared memory of a block: the dynamic part, whose size the launch says, and the static part, one array for each place
//! in the program that asks for one.
//!
//! Only the dynamic part counts for how many blocks are resident.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;

/// What fresh shared memory is filled with: reading it unwritten should show.
const POISON: u8 = 0xa5;
/// Most static shared memory of a block, in bytes (CUDA C++ Programming Guide, Compute Capabilities).
const MOST_FIXED: usize = 48 * 1024;

/// One piece of shared memory.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    start: NonNull<u8>,
    layout: Layout,
}

impl SharedMemory {
    /// Fresh memory; `align` is a power of two.
    pub(crate) fn new(bytes: usize, align: usize) -> Self {
        let layout =
            Layout::from_size_align(bytes.max(1), align).expect("at most 4 GiB, aligned to a power of two");
        // SAFETY: the size is not 0.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        // SAFETY: the allocation has that many bytes.
        unsafe { start.write_bytes(POISON, layout.size()) };
        Self { start, layout }
    }

    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr().expose_provenance() as u64
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout by `new`; the block's threads have ended.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// A block's static shared memory, by the place in the program.
#[derive(Debug, Default)]
pub(crate) struct Fixed(RefCell<Vec<(usize, SharedMemory)>>);

impl Fixed {
    /// The array of `site`; made when the first thread of the block comes there.
    pub(crate) fn of(&self, site: usize, bytes: usize, align: usize) -> u64 {
        let mut all = self.0.borrow_mut();
        if let Some((_, memory)) = all.iter().find(|(other, _)| *other == site) {
            return memory.address();
        }
        let taken: usize = all.iter().map(|(_, memory)| memory.layout.size()).sum();
        assert!(
            bytes <= MOST_FIXED - taken,
            "a block has at most {MOST_FIXED} bytes of static shared memory; {taken} are taken, and {bytes} more are asked for"
        );
        let memory = SharedMemory::new(bytes, align);
        let address = memory.address();
        all.push((site, memory));
        address
    }
}

#[cfg(test)]
mod tests {
    use super::{Fixed, MOST_FIXED};

    #[test]
    fn each_place_has_its_own_array_and_keeps_it() {
        let fixed = Fixed::default();
        let (first, second) = (fixed.of(1, 40, 16), fixed.of(2, 40, 32));
        assert!(first.abs_diff(second) >= 40 && second % 32 == 0);
        assert_eq!((fixed.of(1, 40, 16), fixed.of(2, 40, 32)), (first, second));
    }

    #[test]
    #[should_panic(expected = "a block has at most 49152 bytes of static shared memory; 49152 are taken")]
    fn a_block_has_so_much_and_no_more() {
        let fixed = Fixed::default();
        fixed.of(1, MOST_FIXED, 16);
        fixed.of(2, 1, 16);
    }
}
