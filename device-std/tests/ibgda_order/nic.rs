//! The NIC as a thread.

use crate::memory::{BLOCKS, Loom};
use loom::sync::atomic::Ordering;
use loom::thread;

/// What makes it look at the send queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wakes {
    /// The doorbell.
    Doorbell,
    /// It reads the record when it likes to.
    Record,
}

/// Carries out `count` requests of one block.
pub(crate) fn run(memory: &Loom, wakes: Wakes, count: u64) {
    let cells = &memory.0;
    let (mut done, mut seen) = (0, 0);
    while done < count {
        if wakes == Wakes::Doorbell {
            let rung = cells.doorbell.load(Ordering::Acquire) >> 8;
            if rung <= done {
                thread::yield_now();
                continue;
            }
            let record = u64::from(cells.record.load(Ordering::Relaxed));
            assert!(record >= rung, "doorbell {rung} before its record {record}");
        }
        let record = u64::from(cells.record.load(Ordering::Acquire));
        assert!(record >= seen, "the record goes back from {seen} to {record}");
        assert!(record <= done + BLOCKS, "the record is ahead");
        seen = record;
        if record == done {
            thread::yield_now();
        }
        while done < record {
            carry_out(memory, done);
            done += 1;
        }
    }
    assert_eq!(u64::from(cells.record.load(Ordering::Acquire)), count);
}

fn carry_out(memory: &Loom, index: u64) {
    let cells = &memory.0;
    // SAFETY: loom checks that nobody writes it.
    let control = cells.blocks[(index % BLOCKS) as usize].with(|block| unsafe { *block });
    let word = (control as u32).swap_bytes();
    assert_eq!(u64::from(word >> 8 & 0xffff), index, "the block at {index} is not written");
    if word as u8 == 0x10 {
        // SAFETY: loom checks that nobody else is at it.
        cells.landing.with_mut(|landing| unsafe { *landing = index + 100 });
    }
    let consumed = u64::from(cells.consumer.load(Ordering::Relaxed));
    assert!(index - consumed <= BLOCKS, "the completion queue overflows");
    let owner = (index / BLOCKS) as u8 & 1;
    let [high, low] = (index as u16).to_be_bytes();
    let tail = u32::from_le_bytes([high, low, 0, owner]);
    cells.tails[(index % BLOCKS) as usize].store(tail, Ordering::Release);
}
