//! What the runtime tells people on the standard error stream without being asked.

use std::fmt::Display;
use std::io::Write as _;

/// Prints a line. Nobody may be reading it any more, or there may be no room for it: that is no reason to panic.
pub(crate) fn say(line: impl Display) {
    // In one piece: other processes of the job write there, too.
    let line = format!("oxshmem: {line}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
