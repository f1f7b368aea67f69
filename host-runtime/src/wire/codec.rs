//! What stands in a message: numbers in little-endian order, bytes and texts after their length, nothing aligned.
//! A reader believes nothing: each length is compared with what is left before anything is done with it, and what
//! it returns lies in the message, so that it allocates nothing.

use std::str::from_utf8;

/// Writes a message.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

/// Reads a message from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Reader<'message> {
    left: &'message [u8],
}

/// Why a message is not what its reader expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    /// It ends too early.
    #[error("the message ends where {wanted} more bytes are expected and {left} are left")]
    Short {
        /// What the next item needs.
        wanted: usize,
        /// What there is.
        left: usize,
    },
    /// Bytes or a text are longer than they may be.
    #[error("the message has an item of {length} bytes where at most {limit} may be")]
    TooLong {
        /// Its length.
        length: usize,
        /// The most there may be.
        limit: usize,
    },
    /// A text is not UTF-8.
    #[error("the message has a text that is not UTF-8")]
    NotText,
    /// A yes or no is neither.
    #[error("the message has {0} where 0 or 1 is expected")]
    NotBool(u8),
    /// A number stands for nothing.
    #[error("the message has the number {0}, which stands for nothing here")]
    Unknown(u32),
    /// It goes on after its end.
    #[error("the message has {0} bytes after its end")]
    Trailing(usize),
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.put(&[value])
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        self.u8(value.into())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        // A longer one makes a message that is too long to be sent.
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX)).put(bytes)
    }

    pub(crate) fn str(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }

    /// The message.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

impl<'message> Reader<'message> {
    pub(crate) fn new(message: &'message [u8]) -> Self {
        Self { left: message }
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn bool(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Malformed::NotBool(other)),
        }
    }

    /// At most `limit` bytes.
    pub(crate) fn bytes(&mut self, limit: usize) -> Result<&'message [u8], Malformed> {
        let length = self.u32()? as usize;
        if length > limit {
            return Err(Malformed::TooLong { length, limit });
        }
        let (bytes, left) = self.left.split_at_checked(length).ok_or(self.short(length))?;
        self.left = left;
        Ok(bytes)
    }

    /// A text of at most `limit` bytes.
    pub(crate) fn str(&mut self, limit: usize) -> Result<&'message str, Malformed> {
        from_utf8(self.bytes(limit)?).map_err(|_| Malformed::NotText)
    }

    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Ends, if the message does.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        match self.left.len() {
            0 => Ok(()),
            left => Err(Malformed::Trailing(left)),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (bytes, left) = self.left.split_first_chunk().ok_or(self.short(N))?;
        self.left = left;
        Ok(*bytes)
    }

    fn short(&self, wanted: usize) -> Malformed {
        Malformed::Short { wanted, left: self.left.len() }
    }
}
