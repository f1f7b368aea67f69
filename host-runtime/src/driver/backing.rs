//! What stands behind a part of the heap.

/// Where a PE's physical memory for a growth of the heap comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// The PE's device.
    Device,
    /// The host, whose memory is pinned: all devices and the host reach it.
    Host,
    /// The program: PE `pe` has memory of its device at this address, which is mapped a second time.
    Existing { pe: u32, address: u64 },
}
