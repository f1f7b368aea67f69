//! What the processes of one job share and nobody else knows.

use super::address::BadText;
use rustix::io::retry_on_intr;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fmt::{self, Debug, Formatter};
use std::io;

/// Bytes of a secret.
const LENGTH: usize = 32;

/// A job's key. It is never shown but by [`Secret::to_hex`].
#[derive(Clone)]
pub(crate) struct Secret([u8; LENGTH]);

impl Secret {
    /// A new one, from the system's random numbers.
    pub(crate) fn random() -> io::Result<Self> {
        random().map(Self)
    }

    /// 64 lower-case digits.
    pub(crate) fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads what [`Secret::to_hex`] wrote, in either case.
    pub(crate) fn from_hex(text: &str) -> Result<Self, BadText> {
        let digits = text.as_bytes();
        if digits.len() != 2 * LENGTH {
            return Err(BadText::Secret);
        }
        let mut bytes = [0; LENGTH];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }
}

impl Debug for Secret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn digit(character: u8) -> Result<u8, BadText> {
    // A digit of base 16 is less than 16.
    char::from(character).to_digit(16).map(|value| value as u8).ok_or(BadText::Secret)
}

/// Random bytes from the system, once it has enough.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += retry_on_intr(|| getrandom(&mut bytes[filled..], GetRandomFlags::empty()))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_survives_its_text() {
        let secret = Secret::random().unwrap();
        let text = secret.to_hex();
        assert_eq!(text.len(), 64);
        assert_eq!(Secret::from_hex(&text).unwrap().bytes(), secret.bytes());
        assert_eq!(Secret::from_hex(&text.to_uppercase()).unwrap().bytes(), secret.bytes());
        assert_ne!(Secret::random().unwrap().bytes(), secret.bytes());
    }

    #[test]
    fn what_is_no_secret_is_refused() {
        let good = "0123456789abcdef".repeat(4);
        assert!(Secret::from_hex(&good).is_ok());
        let bad = [String::new(), good[1..].into(), format!("{good}0"), good.replace('7', "g")];
        // The length in bytes is right, in characters it is not.
        let wide = good.replacen("01", "é", 1);
        for text in bad.iter().chain([&wide, &good.replacen('0', "+", 1)]) {
            assert!(matches!(Secret::from_hex(text), Err(BadText::Secret)), "{text:?}");
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Secret([0x5a; LENGTH])), "Secret(..)");
    }
}
