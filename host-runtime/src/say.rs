//! What the runtime tells people on the standard error stream without being asked.

use std::fmt::Display;
use std::io::Write as _;

/// Prints a line. Nobody may be reading it any more, or there may be no room for it: that is no reason to panic.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "oxshmem: {line}");
}
