//! For the fuzz targets: everything that reads what a stranger sent.

use super::address::Address;
use super::frame::Opener;
use super::handshake::{ANSWER, Accepting, Connecting, HELLO, PROOF};
use super::mac::{Key, TAG};
use super::secret::Secret;
use super::unique_id::UniqueId;

/// Whether these bytes, at any place of a handshake or as a message, pass for those of somebody who knows the secret.
pub(crate) fn lets_in(bytes: &[u8]) -> bool {
    let secret = Secret::from_hex(&"5e".repeat(32)).expect("64 digits");
    let text = String::from_utf8_lossy(bytes);
    // Any text may be an address or an id; it must only be read without harm, and come back.
    if let Ok(address) = text.parse::<Address>() {
        assert_eq!(address.to_string().parse::<Address>().ok(), Some(address));
    }
    if let Ok(id) = text.parse::<UniqueId>() {
        assert!(id.to_text().parse::<UniqueId>().is_ok());
    }
    let accepted = Accepting::start().is_ok_and(|(accepting, _)| {
        fixed::<ANSWER>(bytes).is_some_and(|answer| accepting.judge(&secret, &answer).is_ok())
    });
    let connected = fixed::<HELLO>(bytes).is_some_and(|hello| {
        let Ok((connecting, _)) = Connecting::start(&secret, &hello) else { return false };
        fixed::<PROOF>(&bytes[HELLO..]).is_some_and(|proof| connecting.judge(&proof).is_ok())
    });
    let opened = Opener::new(Key::new(&[0x5e; TAG])).open(bytes).is_ok();
    accepted || connected || opened
}

/// The first bytes.
fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.first_chunk::<N>().copied()
}
