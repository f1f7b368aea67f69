//! Reading and writing of the C structures that calls carry, by byte offset.

use crate::attribute::Refusal;

/// A structure that the caller gave.
#[derive(Clone, Copy)]
pub(super) struct Given<'a>(pub(super) &'a [u8]);

impl Given<'_> {
    fn array<const N: usize>(self, at: usize) -> Result<[u8; N], Refusal> {
        self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
            Refusal::new(libc::EINVAL, format!("a structure of {} bytes ends before {at}", self.0.len()))
        })
    }

    pub(super) fn u8(self, at: usize) -> Result<u8, Refusal> {
        Ok(u8::from_ne_bytes(self.array(at)?))
    }

    pub(super) fn u16(self, at: usize) -> Result<u16, Refusal> {
        Ok(u16::from_ne_bytes(self.array(at)?))
    }

    pub(super) fn u32(self, at: usize) -> Result<u32, Refusal> {
        Ok(u32::from_ne_bytes(self.array(at)?))
    }

    pub(super) fn u64(self, at: usize) -> Result<u64, Refusal> {
        Ok(u64::from_ne_bytes(self.array(at)?))
    }

    pub(super) fn gid(self, at: usize) -> Result<[u8; 16], Refusal> {
        self.array(at)
    }
}

/// A structure for the caller, zero where nothing is put.
pub(super) struct Reply<const N: usize>(pub(super) [u8; N]);

impl<const N: usize> Reply<N> {
    pub(super) fn new() -> Self {
        Reply([0; N])
    }

    /// Puts the bytes of a field.
    pub(super) fn put(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(super) fn u8(self, at: usize, value: u8) -> Self {
        self.put(at, &[value])
    }

    pub(super) fn u16(self, at: usize, value: u16) -> Self {
        self.put(at, &value.to_ne_bytes())
    }

    pub(super) fn u32(self, at: usize, value: u32) -> Self {
        self.put(at, &value.to_ne_bytes())
    }

    pub(super) fn u64(self, at: usize, value: u64) -> Self {
        self.put(at, &value.to_ne_bytes())
    }
}
