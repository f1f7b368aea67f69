//! The control segment: the first 16 bytes of every work request.
//!
//! | offset | content |
//! |---|---|
//! | 0 | modifier 8 bits, index of its first basic block 16 bits, opcode 8 bits |
//! | 4 | queue pair number 24 bits, size of the work request in segments 8 bits (of which 6 count) |
//! | 8 | signature, DCI stream: zero |
//! | 11 | fence bits 7 to 5, completion bits 3 and 2, solicited bit 1 |
//! | 12 | immediate data: zero |

use super::{Completion, Fence, Opcode, QueueNumber, Segment};

/// What the control segments of all operations have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The queue pair.
    pub queue: QueueNumber,
    /// Index of the work request's first basic block. Its lower 16 bits are written.
    pub index: u64,
    /// What it waits for.
    pub fence: Fence,
    /// When it writes a completion.
    pub completion: Completion,
}

/// Most segments of a work request.
pub(super) const MOST_SEGMENTS: u32 = 63;

/// A control segment. `segments` is the size of the whole work request, this one included, 1 to 63; of a larger number the
/// lower 6 bits are written.
#[inline(always)]
pub const fn ctrl(control: Control, opcode: Opcode, opmod: u8, segments: u32) -> Segment {
    let operation = (opmod as u32) << 24 | (control.index as u32 & 0xffff) << 8 | opcode as u32;
    Segment::from_memory_words([
        operation.to_be(),
        control.queue.to_memory() | (segments & MOST_SEGMENTS) << 24,
        (control.fence as u32 | control.completion as u32) << 24,
        0,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FENCES: [Fence; 5] =
        [Fence::None, Fence::InitiatorSmall, Fence::Fence, Fence::StrongOrdering, Fence::FenceAndSmall];
    const COMPLETIONS: [Completion; 4] =
        [Completion::OnError, Completion::OnFirstError, Completion::Always, Completion::AlwaysWithEvent];

    proptest! {
        #[test]
        fn each_field_stands_where_the_table_says(
            qpn in 0u32..1 << 24,
            index: u64,
            opcode in 0usize..Opcode::ALL.len(),
            opmod: u8,
            segments in 1u32..64,
            fence in 0usize..FENCES.len(),
            completion in 0usize..COMPLETIONS.len(),
        ) {
            let (opcode, fence, completion) = (Opcode::ALL[opcode], FENCES[fence], COMPLETIONS[completion]);
            let control = Control { queue: QueueNumber::new(qpn), index, fence, completion };
            let bytes = ctrl(control, opcode, opmod, segments).to_bytes();
            prop_assert_eq!(bytes[0], opmod);
            prop_assert_eq!(&bytes[1..3], &(index as u16).to_be_bytes());
            prop_assert_eq!(bytes[3], opcode as u8);
            prop_assert_eq!(&bytes[4..7], &qpn.to_be_bytes()[1..]);
            prop_assert_eq!(u32::from(bytes[7]), segments);
            prop_assert_eq!(&bytes[8..11], &[0; 3]);
            prop_assert_eq!(bytes[11], fence as u8 | completion as u8);
            prop_assert_eq!(&bytes[12..], &[0; 4]);
        }
    }
}
