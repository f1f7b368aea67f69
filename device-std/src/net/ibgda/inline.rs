//! `p`: values that travel in the work request itself. The source is free when the call returns.

use super::super::mlx5::wqe::{self, Place, warp};
use super::super::mlx5::{Completion, Inline};
use super::deadline::Deadline;
use super::failure::Failure;
use super::memory::Memory;
use super::queue::{QueuePair, Reserved};
use crate::arch::warp as lanes;
use crate::warp::lane;

/// All lanes: as a constant, which costs the assembler least.
const ALL: u32 = u32::MAX;

/// The value of another lane.
#[inline(always)]
fn shuffle(value: u64, lane: u32) -> u64 {
    let low = lanes::shuffle_idx(ALL, value as u32, lane);
    let high = lanes::shuffle_idx(ALL, (value >> 32) as u32, lane);
    u64::from(low) | u64::from(high) << 32
}

impl<M: Memory> QueuePair<M> {
    /// Writes 1 to 12 bytes at the peer.
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn p(&self, to: Place, bytes: Inline, deadline: &mut impl Deadline) -> Result<(), Failure> {
        let blocks = self.reserve(1, deadline)?;
        let control = self.control(blocks.first, Completion::Always);
        self.write_at(blocks.first, wqe::write_inline(control, to, bytes));
        self.publish(blocks, deadline)
    }

    /// Writes 8 bytes from each lane at the peer, one behind the other, as one request. `to` and `deadline` count in lane 0.
    ///
    /// By the 32 lanes of a warp together.
    ///
    /// # Errors
    /// The queue pair's first failure, the same in every lane.
    #[inline(always)]
    pub fn p_warp(&self, to: Place, value: u64, deadline: &mut impl Deadline) -> Result<(), Failure> {
        let lane = lane();
        // The request, and one of one block that completes: its index and one is the next one's.
        let count = wqe::blocks(warp::SEGMENTS);
        let reserved =
            if lane == 0 { self.reserve(count + 1, deadline).map(|blocks| blocks.first) } else { Ok(0) };
        let first = shuffle(reserved.unwrap_or(u64::MAX), 0);
        if first == u64::MAX {
            return self.failed_together(reserved.err());
        }
        let blocks = Reserved { first, end: first + u64::from(count) + 1 };
        // Segment `lane` of the data is made of these lanes' values.
        let here = shuffle(value, (2 * lane) & 31);
        let (before, after) =
            (shuffle(value, (2 * lane).wrapping_sub(1) & 31), shuffle(value, (2 * lane + 1) & 31));
        if lane < warp::DATA_SEGMENTS {
            self.write_segment_at(first, lane + 2, warp::data(lane, before, here, after));
        }
        if lane == 0 {
            let control = self.control(first, Completion::OnError);
            self.write_at(first, warp::head(control, to));
            let last = blocks.end - 1;
            self.write_at(last, wqe::nop(self.control(last, Completion::Always)));
        }
        lanes::sync(ALL);
        let published = if lane == 0 { self.publish(blocks, deadline) } else { Ok(()) };
        self.failed_together(published.err())
    }

    /// Lane 0's failure, in every lane.
    #[inline(always)]
    fn failed_together(&self, failure: Option<Failure>) -> Result<(), Failure> {
        let word = shuffle(failure.map_or(0, Failure::word), 0);
        Failure::from_word(word).map_or(Ok(()), Err)
    }
}
