//! Memory that a NIC shares with threads, GPUs and other processes.
//!
//! Every access is a relaxed atomic of the widest size that its alignment allows, up to 8 bytes: so an aligned
//! word of 8 bytes is never torn, and an access that races with a thread's own is no undefined behaviour. Such
//! memory is written by others than this program's threads, so no reference into it is ever made.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A range of memory of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    start: *mut u8,
    length: u64,
}

// SAFETY: a span is an address and a length; who makes one promises that any thread may access it.
unsafe impl Send for Span {}

impl Span {
    /// # Safety
    /// The memory stays valid for reads and writes, by any thread, for as long as this span or a part of it is
    /// used.
    pub(super) unsafe fn new(start: *mut u8, length: u64) -> Self {
        Self { start, length }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether its first byte is at a multiple of `align`.
    pub(super) fn is_aligned(&self, align: usize) -> bool {
        self.start.addr().is_multiple_of(align)
    }

    /// The address of a byte, modulo a cache line.
    pub(super) fn line_offset(&self, offset: u64) -> u64 {
        (self.start.addr() as u64).wrapping_add(offset) % 64
    }

    /// The addresses that it spans: two spans may be the same memory by different keys.
    pub(super) fn addresses(&self) -> Range<u64> {
        let start = self.start.addr() as u64;
        start..start.saturating_add(self.length)
    }

    /// The part of `bytes` bytes at `offset`, if it lies inside.
    pub(super) fn part(&self, offset: u64, bytes: u64) -> Option<Self> {
        let end = offset.checked_add(bytes)?;
        if end > self.length {
            return None;
        }
        // `length` bytes are there, so the offset fits the address space.
        Some(Self { start: self.start.wrapping_add(offset as usize), length: bytes })
    }

    /// Copies the bytes at `offset` out; what lies outside of the span is left as it is.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) {
        debug_assert!(self.part(offset, out.len() as u64).is_some());
        let Some(part) = self.part(offset, out.len() as u64) else { return };
        let (mut at, mut rest) = (part.start, out);
        while !rest.is_empty() {
            let unit = unit(at.addr(), rest.len());
            let (head, tail) = rest.split_at_mut(unit);
            // SAFETY: `unit` bytes lie inside the span at an address aligned to them; the span's memory is valid
            // and accessed by atomics only on this side.
            unsafe {
                match unit {
                    8 => head.copy_from_slice(
                        &AtomicU64::from_ptr(at.cast()).load(Ordering::Relaxed).to_ne_bytes(),
                    ),
                    4 => head.copy_from_slice(
                        &AtomicU32::from_ptr(at.cast()).load(Ordering::Relaxed).to_ne_bytes(),
                    ),
                    2 => head.copy_from_slice(
                        &AtomicU16::from_ptr(at.cast()).load(Ordering::Relaxed).to_ne_bytes(),
                    ),
                    _ => head[0] = AtomicU8::from_ptr(at).load(Ordering::Relaxed),
                }
            }
            at = at.wrapping_add(unit);
            rest = tail;
        }
    }

    /// Copies the bytes to `offset`; what lies outside of the span is not written.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) {
        debug_assert!(self.part(offset, bytes.len() as u64).is_some());
        let Some(part) = self.part(offset, bytes.len() as u64) else { return };
        let (mut at, mut rest) = (part.start, bytes);
        while !rest.is_empty() {
            let unit = unit(at.addr(), rest.len());
            let (head, tail) = rest.split_at(unit);
            let mut word = [0; 8];
            word[..unit].copy_from_slice(head);
            let [a, b, c, d, ..] = word;
            // SAFETY: as in `read`.
            unsafe {
                match unit {
                    8 => AtomicU64::from_ptr(at.cast()).store(u64::from_ne_bytes(word), Ordering::Relaxed),
                    4 => {
                        AtomicU32::from_ptr(at.cast())
                            .store(u32::from_ne_bytes([a, b, c, d]), Ordering::Relaxed);
                    }
                    2 => AtomicU16::from_ptr(at.cast()).store(u16::from_ne_bytes([a, b]), Ordering::Relaxed),
                    _ => AtomicU8::from_ptr(at).store(a, Ordering::Relaxed),
                }
            }
            at = at.wrapping_add(unit);
            rest = tail;
        }
    }

    /// The word of 8 bytes at `offset`, if it lies inside and is aligned.
    pub(super) fn word64(&self, offset: u64) -> Option<&AtomicU64> {
        let part = self.part(offset, 8).filter(|part| part.is_aligned(8))?;
        // SAFETY: 8 aligned bytes of the span; a reference to an atomic may be shared with any thread.
        Some(unsafe { AtomicU64::from_ptr(part.start.cast()) })
    }

    /// The word of 4 bytes at `offset`, if it lies inside and is aligned.
    pub(super) fn word32(&self, offset: u64) -> Option<&AtomicU32> {
        let part = self.part(offset, 4).filter(|part| part.is_aligned(4))?;
        // SAFETY: as in `word64`.
        Some(unsafe { AtomicU32::from_ptr(part.start.cast()) })
    }
}

/// The widest access at an address: aligned, and no longer than what is left.
fn unit(address: usize, left: usize) -> usize {
    [8, 4, 2].into_iter().find(|&unit| address.is_multiple_of(unit) && left >= unit).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn any_offset_and_length_is_copied_exactly() {
        for offset in 0..17 {
            for length in 0..40 {
                let mut memory = [0xee_u8; 64];
                // SAFETY: the array outlives the span, and nothing else touches it meanwhile.
                let span = unsafe { Span::new(memory.as_mut_ptr(), 64) };
                let bytes: Vec<u8> = (1..=length as u8).collect();
                span.write(offset, &bytes);
                let mut back = vec![0; length];
                span.read(offset, &mut back);
                assert_eq!(back, bytes);
                let (from, to) = (offset as usize, offset as usize + length);
                assert!(memory[..from].iter().chain(&memory[to..]).all(|&byte| byte == 0xee));
            }
        }
    }

    #[test]
    fn a_part_lies_inside_and_words_are_aligned() {
        let mut memory = [0_u64; 4];
        // SAFETY: as above.
        let span = unsafe { Span::new(memory.as_mut_ptr().cast(), 32) };
        assert!(span.part(32, 0).is_some() && span.part(31, 1).is_some());
        assert!(span.part(32, 1).is_none() && span.part(u64::MAX, 2).is_none());
        assert!(span.word64(24).is_some() && span.word64(25).is_none() && span.word64(20).is_none());
        assert!(span.word32(28).is_some() && span.word32(30).is_none());
    }
}
