//! Entries for the fuzz targets in `fuzz/`. Not for programs.

use crate::exchange;
use crate::group::{FromPe, ToPe};
use crate::wire;

/// Reads a message of every kind. What is understood is the same when it is said again.
pub fn messages(bytes: &[u8]) {
    if let Ok(message) = FromPe::read(bytes) {
        let again = FromPe::read(&message.write());
        assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, ()>(message)));
    }
    if let Ok(message) = ToPe::read(bytes) {
        let again = ToPe::read(&message.write());
        assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, ()>(message)));
    }
    exchange::read_anything(bytes);
}

/// Reads what a stranger may send: nobody is let in by it.
pub fn strangers(bytes: &[u8]) {
    assert!(!wire::lets_in(bytes), "{bytes:?}");
}
