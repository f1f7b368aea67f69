//! The one cryptographic primitive of this layer: HMAC-SHA256, as a tag and to derive keys.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a tag, and of a key.
pub(super) const TAG: usize = 32;

/// A key, made ready. Neither it nor what it has read can be shown.
#[derive(Clone)]
pub(super) struct Key(Hmac<Sha256>);

impl Key {
    pub(super) fn new(bytes: &[u8; TAG]) -> Self {
        Self(Hmac::new_from_slice(bytes).expect("HMAC takes keys of every length"))
    }

    /// The tag of `parts`, one after the other. Where they end is for the caller to make plain.
    pub(super) fn tag(&self, parts: &[&[u8]]) -> [u8; TAG] {
        self.over(parts).finalize().into_bytes().into()
    }

    /// Whether `tag` is that of `parts`, in a time that does not depend on where it differs.
    pub(super) fn verifies(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.over(parts).verify_slice(tag).is_ok()
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        parts.iter().fold(self.0.clone(), Mac::chain_update)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2, with its key of 4 bytes filled up by zeros, as HMAC does.
    #[test]
    fn a_published_tag_comes_out() {
        let mut key = [0; TAG];
        key[..4].copy_from_slice(b"Jefe");
        let key = Key::new(&key);
        let tag = key.tag(&[b"what do ya want ", b"for nothing?"]);
        let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        assert!(key.verifies(&[b"what do ya want for nothing?"], &tag));
        assert!(!key.verifies(&[b"what do ya want for nothing!"], &tag));
        assert!(!key.verifies(&[b"what do ya want for nothing?"], &tag[..31]));
    }
}
