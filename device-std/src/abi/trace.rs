//! The log of a traced kernel's operations, in the memory of its PE's device: a [`TraceLog`], then its [`TraceRecord`]s.
//!
//! | who | does | and so |
//! |---|---|---|
//! | host, before any launch | zeroes all, writes `capacity` | a record that nobody wrote has no begin |
//! | leader of an operation's scope, at its begin | adds 1 to `next`, relaxed: the number of its record | no two write one record |
//! | the same, if the number is below `capacity` | writes the record but for `end`; at the operation's end writes `end` | an operation that did not return has no end |
//! | host, when the kernels are over, well or not | reads `next` and the records | everything is there, and what did not fit is counted |

use super::Operation;
use crate::together::Together;

/// The start of a log.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceLog {
    /// How many operations came, also those for which there was no room.
    pub next: u64,
    /// How many records there is room for.
    pub capacity: u64,
}

/// One operation. It stands so that all but the times is written by two 16-byte stores.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceRecord {
    /// When it began, in nanoseconds of the device's clock; 0 in a record that nobody wrote.
    pub begin: u64,
    /// When it returned; 0 if it did not.
    pub end: u64,
    /// Bytes that the whole scope moves.
    pub bytes: u64,
    /// In the lower 48 bits the heap offset in bytes of what it names at the target, 0 where it names nothing; above it what a
    /// collective operation has chosen: see [`TraceRecord::choice`].
    pub offset: u64,
    /// Which operation, by which scope and which thread: see [`TraceRecord::what`].
    pub what: u32,
    /// The job's number of the PE that it names, or the own one.
    pub peer: u32,
    /// The block's number in the grid, x first.
    pub block: u32,
    /// The launch ([`ContextAbi::launch`](super::ContextAbi::launch)).
    pub launch: u32,
}

impl TraceRecord {
    /// Packs an operation (8 bits), a scope (8 bits), and the number of its leader in the block (16 bits).
    #[inline(always)]
    pub const fn what(operation: Operation, together: Together, thread: u32) -> u32 {
        operation as u32 | (together as u32) << 8 | thread << 16
    }

    /// Packs what a collective operation has chosen: packets or plain stores, and how many blocks do it.
    #[inline(always)]
    pub const fn choice(packets: bool, lanes: u32) -> u16 {
        (lanes << 2) as u16 | if packets { 1 } else { 2 }
    }

    /// By which protocol a collective operation was done, in a word, and by how many blocks.
    pub const fn chosen(&self) -> Option<(&'static str, u32)> {
        let choice = (self.offset >> 48) as u32;
        match choice & 3 {
            1 => Some(("packets", choice >> 2)),
            2 => Some(("stores", choice >> 2)),
            _ => None,
        }
    }

    /// The heap offset.
    pub const fn place(&self) -> u64 {
        self.offset & ((1 << 48) - 1)
    }

    /// Which operation, if the number is one.
    pub const fn operation(&self) -> Option<Operation> {
        Operation::from_number(self.what & 0xff)
    }

    /// By which scope, in a word.
    pub const fn scope(&self) -> &'static str {
        match self.what >> 8 & 0xff {
            0 => "thread",
            1 => "warp",
            2 => "warps",
            3 => "block",
            _ => "grid",
        }
    }

    /// The number in its block of the thread that wrote it.
    pub const fn thread(&self) -> u32 {
        self.what >> 16
    }
}

/// From a record to its two bytes of [`TraceRecord::choice`].
pub const CHOICE: u64 = 30;

/// Where a host asks a kernel for the time of its device, in host memory. Each round the host writes its number to `asked`,
/// and the kernel the time, then the number to `answered`, with release.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct ClockWords {
    /// The round for which the host waits.
    pub asked: u64,
    /// The last round that the kernel has answered.
    pub answered: u64,
    /// Its answer: nanoseconds of the device's clock.
    pub time: u64,
}

const _: () = {
    assert!(size_of::<TraceLog>() == 16 && size_of::<TraceRecord>() == 48 && size_of::<ClockWords>() == 64);
    assert!(
        core::mem::offset_of!(TraceRecord, bytes) == 16 && core::mem::offset_of!(TraceRecord, what) == 32
    );
    assert!(core::mem::offset_of!(TraceRecord, offset) as u64 + 6 == CHOICE);
    assert!(Together::OneThread as u32 == 0 && Together::WholeGrid as u32 == 4);
};
