//! Memory of the machine: addresses and what lies behind them, as CUDA's virtual memory management has it.
//!
//! A [`Reservation`] is a range of addresses; a [`Physical`] is memory of one device (a memfd, so that other
//! processes can map it too); mapping puts the second behind the first. [`Allocation`] is plain local memory
//! of a device, [`HostMemory`] host memory that devices may access. The table of all of these is what kernel
//! accesses are checked against. Symmetric heaps are built on this by the host runtime.

mod physical;
mod reserve;
mod table;

pub use physical::{Allocation, HostMemory, HostRegistration, Physical};
pub use reserve::Reservation;
pub(crate) use table::{Range, Table, find};

use crate::error::Error;

/// Unit of physical memory and of mappings, in bytes.
pub const GRANULARITY: u64 = 2 << 20;

/// `bytes` rounded up to [`GRANULARITY`].
///
/// # Errors
/// [`Error::System`] if there is no such number, or it is 0.
pub(crate) fn whole(bytes: u64) -> Result<u64, Error> {
    let rounded = bytes.checked_next_multiple_of(GRANULARITY).filter(|&b| b > 0 && b <= i64::MAX as u64);
    rounded.ok_or_else(|| Error::System {
        what: "an allocation",
        bytes,
        reason: "the size must be at least 1 byte and less than 2^63".to_owned(),
    })
}

/// Bytes of memory that the system has available, by `/proc/meminfo` and the control group's limit.
pub fn available() -> u64 {
    let kib = |text: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let system = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| kib(&text)).map(|k| k * 1024);
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    // Neither file: assume little.
    match (system, group) {
        (Some(a), Some(b)) => a.min(b),
        (Some(a), None) | (None, Some(a)) => a,
        (None, None) => 4 << 30,
    }
}

/// The error of a failed memory call.
pub(crate) fn failed(what: &'static str, bytes: u64, errno: rustix::io::Errno) -> Error {
    Error::System { what, bytes, reason: errno.to_string() }
}
