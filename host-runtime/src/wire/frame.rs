//! One message on the wire: its length (4 bytes, little-endian), the payload, and a tag over the message's number
//! in its direction, the length and the payload. The number is not sent: both sides count. So a message that was
//! repeated, left out, moved or changed has a tag that does not fit.

use super::error::WireError;
use super::mac::{Key, TAG};

/// Bytes of the longest payload.
pub(crate) const MAX_FRAME: usize = 1 << 20;
/// Bytes of the length.
pub(super) const HEADER: usize = 4;

/// Makes the messages of one direction.
pub(super) struct Sealer {
    key: Key,
    number: u64,
}

/// Reads the messages of one direction.
pub(super) struct Opener {
    key: Key,
    number: u64,
}

impl Sealer {
    pub(super) fn new(key: Key) -> Self {
        Self { key, number: 0 }
    }

    /// The next message.
    pub(super) fn seal(&mut self, payload: &[u8]) -> Result<Vec<u8>, WireError> {
        if payload.len() > MAX_FRAME {
            return Err(WireError::TooLong { length: payload.len() as u64, limit: MAX_FRAME });
        }
        let header = (payload.len() as u32).to_le_bytes();
        let tag = self.key.tag(&[&self.number.to_le_bytes(), &header, payload]);
        self.number += 1;
        Ok([&header, payload, &tag[..]].concat())
    }
}

impl Opener {
    pub(super) fn new(key: Key) -> Self {
        Self { key, number: 0 }
    }

    /// The payload of the next message, if `frame` is that and nothing else.
    pub(super) fn open<'frame>(&mut self, frame: &'frame [u8]) -> Result<&'frame [u8], WireError> {
        let (header, body) = frame.split_first_chunk::<HEADER>().ok_or(WireError::Forged)?;
        let (payload, tag) = body.split_last_chunk::<TAG>().ok_or(WireError::Forged)?;
        if after_header(header)? != body.len() {
            return Err(WireError::Forged);
        }
        if !self.key.verifies(&[&self.number.to_le_bytes(), header, payload], tag) {
            return Err(WireError::Forged);
        }
        self.number += 1;
        Ok(payload)
    }
}

/// How many bytes follow a header.
pub(super) fn after_header(header: &[u8; HEADER]) -> Result<usize, WireError> {
    let length = u32::from_le_bytes(*header);
    match length as usize {
        payload @ 0..=MAX_FRAME => Ok(payload + TAG),
        _ => Err(WireError::TooLong { length: length.into(), limit: MAX_FRAME }),
    }
}
