//! What a failed kernel left: the device's error record, read and put into words. The first failure of the job
//! by ticket is the one that is reported; later ones follow from it.

use crate::board;
use oxshmem_device::Cmp;
use oxshmem_device::abi::collective::reserved;
use oxshmem_device::abi::{Cause, ErrorRecord, Operation, control};
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// Why the job is poisoned: the first failing thread of all PEs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The PE whose thread failed.
    pub pe: u32,
    /// Why.
    pub cause: Cause,
    /// What it was doing.
    pub operation: Operation,
    /// The comparison of a wait.
    pub cmp: Option<Cmp>,
    /// The PE that the operation named, if it named one.
    pub peer: Option<u32>,
    /// Byte offset in the heap of what the operation named.
    pub offset: u64,
    /// What stands there.
    pub place: Place,
    /// The value waited for; the blocks of a grid that meets; the destination's length; the length that an index
    /// was out of, 0 if it is not known.
    pub expected: u64,
    /// The value last seen; the blocks that had come; the source's length; the index; the slot of a team.
    pub seen: u64,
    /// The deadline of one wait.
    pub deadline: Duration,
    /// The kernel's symbol, if the launch is recent enough to be known.
    pub kernel: Option<&'static str>,
    /// Number of the launch on its PE, from 1; 0 for a kernel of a graph.
    pub launch: u32,
    /// For a kernel of a [`Graph`](crate::Graph) its number there, from 1.
    pub node: Option<u32>,
    /// Block index, x, y, z.
    pub block: [u32; 3],
    /// Thread index in the block, x, y, z.
    pub thread: [u32; 3],
}

/// An emulated kernel thread that panicked or made an access that a GPU would fault on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPanic {
    /// The PE.
    pub pe: u32,
    /// The kernel.
    pub kernel: String,
    /// Block index, x, y, z.
    pub block: [u32; 3],
    /// Thread index in the block, x, y, z.
    pub thread: [u32; 3],
    /// What it said.
    pub message: String,
    /// Where in the source, if it is known.
    pub at: Option<String>,
    /// The last operation that the thread entered, if any.
    pub last_operation: Option<String>,
}

/// What stands at a heap offset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The runtime's own words: what they are for.
    Control(&'static str),
    /// An element of an allocation.
    Allocation {
        /// The allocation's number, in the order of allocation, from 0.
        number: u64,
        /// What it holds.
        holds: &'static str,
        /// The element.
        element: u64,
    },
    /// Nothing that is allocated.
    Nothing,
}

/// What [`Place::Control`] calls the words of collective operations.
const COLLECTIVE: &str = "collective operation's";
/// The part of a round's number that counts the operations of a team's channel.
const ROUND: u64 = (1 << 40) - 1;

impl Place {
    /// What stands at an offset inside what is the runtime's own, in a job of `n_pes` PEs.
    pub(crate) fn control(offset: u64, n_pes: u32) -> Option<Self> {
        Some(Self::Control(match offset {
            o if o >= reserved(n_pes) => return None,
            o if o >= control::BYTES => COLLECTIVE,
            o if o >= control::TEAMS => "team barrier",
            o if o >= control::GRID => "grid barrier",
            o if o >= control::BARRIER => "barrier_all",
            _ => "control area",
        }))
    }
}

impl Failure {
    /// A record in words. `None` if the record is not complete or does not make sense.
    pub(crate) fn from_record(
        record: &ErrorRecord,
        place: Place,
        kernel: Option<&'static str>,
        deadline: Duration,
    ) -> Option<Self> {
        let operation = Operation::from_number(record.operation)?;
        let waits = matches!(
            operation,
            Operation::WaitUntil
                | Operation::WaitReached
                | Operation::WaitUntilAll
                | Operation::WaitUntilAny
                | Operation::WaitUntilSome
                | Operation::BarrierAll
                | Operation::SyncAll
                | Operation::TeamBarrier
                | Operation::TeamSync
                | Operation::Updates
        ) || is_collective(operation) && record.cause == Cause::Deadline as u32;
        Some(Self {
            pe: record.pe,
            cause: Cause::from_number(record.cause)?,
            operation,
            cmp: if waits { Cmp::from_number(record.cmp) } else { None },
            peer: (record.peer != u32::MAX).then_some(record.peer),
            offset: record.offset,
            place,
            expected: record.expected,
            seen: record.seen,
            deadline,
            kernel,
            launch: if board::node(record.launch).is_some() { 0 } else { record.launch },
            node: board::node(record.launch),
            block: record.block,
            thread: record.thread,
        })
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "PE {}: {}", self.pe, self.operation)?;
        match (&self.place, self.operation) {
            // These causes name no word of the heap.
            _ if matches!(
                self.cause,
                Cause::IndexOutOfRange
                    | Cause::SharedMemory
                    | Cause::TileNotNamed
                    | Cause::NotInTeam
                    | Cause::GlobalExit
                    | Cause::Zero
                    | Cause::UpdateBins
            ) => {}
            // Nor do lists, and these operations.
            _ if self.cause == Cause::LengthMismatch && waits_for_several(self.operation) => {}
            (_, Operation::WarpsSync | Operation::BulkLoad) => {}
            (Place::Control(what), _) => write!(f, " on the {what} word at heap offset {:#x}", self.offset)?,
            (Place::Allocation { number, holds, element }, operation) => {
                let word =
                    if holds.ends_with("atomic") || !names_a_signal(operation) { "" } else { " on signal" };
                write!(f, "{word} at heap offset {:#x} ", self.offset)?;
                write!(f, "(allocation #{number} {holds:?}, element {element})")?;
            }
            (Place::Nothing, _) => write!(f, " at heap offset {:#x} (not allocated)", self.offset)?,
        }
        match (self.cause, self.peer) {
            (Cause::Deadline, Some(peer)) if peer != self.pe => write!(f, " from PE {peer}")?,
            (Cause::LengthMismatch | Cause::IndexOutOfRange | Cause::Zero, Some(peer)) if peer != self.pe => {
                write!(f, " with PE {peer}")?;
            }
            _ => {}
        }
        match self.cause {
            // A barrier waits two deadlines: who comes to it may wait one before.
            Cause::Deadline if matches!(self.operation, Operation::GridSync | Operation::WarpsSync) => {
                let who = if self.operation == Operation::GridSync { "blocks" } else { "warps" };
                write!(f, ": {} of {} {who} had come; ", self.seen, self.expected)?;
                write!(f, "{} s, twice the deadline, expired", 2.0 * self.deadline.as_secs_f64())?;
            }
            Cause::Deadline if self.operation == Operation::BulkLoad => {
                write!(f, " did not arrive; deadline {} s expired", self.deadline.as_secs_f64())?;
            }
            Cause::Deadline => {
                let cmp = self.cmp.unwrap_or(Cmp::Eq).symbol();
                match self.place {
                    Place::Control(COLLECTIVE) => {
                        let (expected, seen) = (self.expected & ROUND, self.seen & ROUND);
                        write!(f, ": operation {expected} of the channel had not come, {seen} was there; ")?;
                    }
                    // `i32 atomic`, `i64 atomic`, `isize atomic`: the record extends the sign.
                    Place::Allocation { holds, .. }
                        if holds.starts_with('i') && holds.ends_with("atomic") =>
                    {
                        let (expected, seen) = (self.expected as i64, self.seen as i64);
                        write!(f, ": expected {cmp} {expected}, seen {seen}; ")?;
                    }
                    _ => write!(f, ": expected {cmp} {}, seen {}; ", self.expected, self.seen)?,
                }
                write!(f, "deadline {} s expired", self.deadline.as_secs_f64())?;
            }
            Cause::PeOutOfRange => {
                write!(f, ": there is no PE {}, the job or team has {}", self.seen, self.expected)?
            }
            Cause::NotInTeam => write!(f, ": this PE does not belong to the team in slot {}", self.seen)?,
            Cause::LengthMismatch if waits_for_several(self.operation) => {
                write!(f, ": {} words, and a list of {} elements", self.expected, self.seen)?;
            }
            Cause::LengthMismatch => {
                write!(f, ": the destination has {} elements, the source {}", self.expected, self.seen)?;
            }
            Cause::IndexOutOfRange if self.expected == 0 => {
                write!(f, ": index {} is out of range", self.seen)?;
            }
            Cause::IndexOutOfRange => write!(f, ": index {} of {}", self.seen, self.expected)?,
            Cause::TileNotNamed => write!(
                f,
                ": the kernel uses a layout with a tile or a stage, and names one without, or none: name it by \
                 `#[nvshmem_kernel(shared = ...)]`"
            )?,
            Cause::SharedMemory => {
                write!(f, ": the kernel uses {} bytes, its launch gave {}", self.expected, self.seen)?;
            }
            Cause::InboxBlocks => {
                write!(f, ": the launch has {} blocks, the inbox is for {}", self.seen, self.expected)?;
            }
            Cause::InboxBatch => {
                write!(f, ": the buffer has batches of {}, the inbox of {}", self.seen, self.expected)?;
            }
            Cause::TooShort => {
                write!(f, ": it has {} elements, {} are needed", self.seen, self.expected)?;
            }
            Cause::UpdateBins => write!(f, ": the buffer has {} bins, for {} PEs", self.seen, self.expected)?,
            Cause::InboxInUse => {
                let user = which(self.seen as u32, board::node(self.seen as u32));
                write!(f, ": {user} uses the inbox, or has ended without `finish`")?;
            }
            Cause::Zero if self.operation == Operation::WarpsSync => {
                write!(f, ": groups of 0 warps were asked for")?;
            }
            Cause::Zero => write!(f, ": a stride of 0 was asked for")?,
            other => write!(f, ": {other}")?,
        }
        let which = which(self.launch, self.node);
        match self.kernel {
            Some(kernel) => write!(f, "; kernel {kernel} ({which})")?,
            None => write!(f, "; {which}")?,
        }
        let (b, t) = (self.block, self.thread);
        write!(f, ", block ({},{},{}), thread ({},{},{})", b[0], b[1], b[2], t[0], t[1], t[2])
    }
}

impl Display for KernelPanic {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (b, t) = (self.block, self.thread);
        write!(f, "PE {}: {} failed in block ({},{},{}), ", self.pe, self.kernel, b[0], b[1], b[2])?;
        write!(f, "thread ({},{},{}): {}", t[0], t[1], t[2], self.message)?;
        if let Some(at) = &self.at {
            write!(f, ", at {at}")?;
        }
        if let Some(last) = &self.last_operation {
            write!(f, "; last operation: {last}")?;
        }
        Ok(())
    }
}

/// A launch in words, or a kernel of a graph.
fn which(launch: u32, node: Option<u32>) -> String {
    match node {
        Some(node) => format!("number {node} of a graph"),
        None => format!("launch {launch}"),
    }
}

fn is_collective(operation: Operation) -> bool {
    use Operation::{
        Alltoall, Alltoallv, Broadcast, Collect, Exscan, Fcollect, Reduce, ReduceScatter, ReduceTo, Scan,
    };
    matches!(
        operation,
        Alltoall
            | Alltoallv
            | Broadcast
            | Collect
            | Exscan
            | Fcollect
            | Reduce
            | ReduceScatter
            | ReduceTo
            | Scan
    )
}

fn waits_for_several(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::WaitUntilAll
            | Operation::WaitUntilAny
            | Operation::WaitUntilSome
            | Operation::TestAll
            | Operation::TestAny
            | Operation::TestSome
    )
}

fn names_a_signal(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::WaitUntil
            | Operation::WaitReached
            | Operation::WaitUntilAll
            | Operation::WaitUntilAny
            | Operation::WaitUntilSome
            | Operation::Test
            | Operation::Signal
            | Operation::SignalWeak
            | Operation::SignalFetch
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(cause: Cause, operation: Operation, expected: u64, seen: u64) -> Failure {
        let record = ErrorRecord {
            cause: cause as u32,
            operation: operation as u32,
            peer: u32::MAX,
            launch: 1,
            offset: control::GRID,
            expected,
            seen,
            ..ErrorRecord::default()
        };
        let place = Place::control(control::GRID, 2).unwrap();
        Failure::from_record(&record, place, Some("k"), Duration::from_secs(30)).unwrap()
    }

    #[test]
    fn a_grid_that_did_not_meet_says_how_many_blocks_had_come() {
        let failure = failure(Cause::Deadline, Operation::GridSync, 8, 5);
        let expected = "on the grid barrier word at heap offset 0x2000: 5 of 8 blocks had come; \
                        60 s, twice the deadline, expired; kernel k (launch 1)";
        assert!(failure.to_string().contains(expected), "{failure}");
    }

    #[test]
    fn a_wait_for_a_signed_word_says_signed_values() {
        let failure = Failure {
            place: Place::Allocation { number: 3, holds: "i32 atomic", element: 2 },
            ..failure(Cause::Deadline, Operation::WaitUntilAny, (-5i64) as u64, (-7i64) as u64)
        };
        let expected = "wait_until_any at heap offset 0x2000 (allocation #3 \"i32 atomic\", element 2): \
                        expected == -5, seen -7; deadline 30 s expired";
        assert!(failure.to_string().contains(expected), "{failure}");
    }

    #[test]
    fn a_list_that_does_not_go_with_its_words_says_both_lengths() {
        let failure = failure(Cause::LengthMismatch, Operation::TestSome, 8, 5);
        assert!(failure.to_string().contains(": 8 words, and a list of 5 elements;"), "{failure}");
    }

    #[test]
    fn what_names_no_word_of_the_heap_says_what_it_is_about() {
        for (cause, operation, says) in [
            (
                Cause::Deadline,
                Operation::WarpsSync,
                "warps sync: 1 of 2 warps had come; 60 s, twice the deadline, expired;",
            ),
            (
                Cause::Deadline,
                Operation::BulkLoad,
                "bulk copy into shared memory did not arrive; deadline 30 s expired;",
            ),
            (Cause::Zero, Operation::WarpsSync, "warps sync: groups of 0 warps were asked for;"),
            (Cause::Zero, Operation::Iput, "iput: a stride of 0 was asked for;"),
            (
                Cause::LengthMismatch,
                Operation::WaitUntilAll,
                "wait_until_all: 2 words, and a list of 1 elements;",
            ),
        ] {
            let failure = failure(cause, operation, 2, 1);
            assert!(failure.to_string().contains(says), "{failure}");
        }
    }

    #[test]
    fn an_index_is_out_of_a_length_if_that_is_known() {
        for (length, says) in [(8, ": index 10 of 8;"), (0, ": index 10 is out of range;")] {
            let failure = failure(Cause::IndexOutOfRange, Operation::Access, length, 10);
            assert!(failure.to_string().contains(says), "{failure}");
        }
    }
}
