//! `put`, `get` and `put_signal` of any length.
//!
//! A message has at most 2^30 bytes. A longer transfer is several requests, as many in one reservation as half of the send queue
//! holds; those of one queue pair are carried out in order.

use super::super::mlx5::{Completion, wqe};
use super::abi::{QueuePairAbi, flags};
use super::atomic::NicSignal;
use super::deadline::Deadline;
use super::failure::Failure;
use super::memory::Memory;
use super::queue::{QueuePair, Reserved, field};
use wqe::Place;

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Put,
    Get,
}

impl<M: Memory> QueuePair<M> {
    /// Copies `bytes` bytes from local memory to the peer's. The source may be used again after
    /// [`quiet`](QueuePair::quiet).
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn put(
        &self,
        to: Place,
        from: Place,
        bytes: u64,
        deadline: &mut impl Deadline,
    ) -> Result<(), Failure> {
        self.transfer(Way::Put, to, from, bytes, None, deadline)
    }

    /// Copies `bytes` bytes from the peer's memory to local memory. They are there after [`quiet`](QueuePair::quiet).
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn get(
        &self,
        from: Place,
        to: Place,
        bytes: u64,
        deadline: &mut impl Deadline,
    ) -> Result<(), Failure> {
        self.transfer(Way::Get, from, to, bytes, None, deadline)
    }

    /// [`put`](Self::put), then an update of the peer's signal word, which who sees it finds the data behind. With no bytes
    /// only the update.
    ///
    /// # Errors
    /// The queue pair's first failure.
    #[inline(always)]
    pub fn put_signal(
        &self,
        to: Place,
        from: Place,
        bytes: u64,
        word: Place,
        signal: NicSignal,
        deadline: &mut impl Deadline,
    ) -> Result<(), Failure> {
        self.transfer(Way::Put, to, from, bytes, Some((word, signal)), deadline)
    }

    /// The requests of a transfer, the last ones with the signal behind them in one reservation.
    #[inline(always)]
    fn transfer(
        &self,
        way: Way,
        mut remote: Place,
        mut local: Place,
        mut bytes: u64,
        signal: Option<(Place, NicSignal)>,
        deadline: &mut impl Deadline,
    ) -> Result<(), Failure> {
        let log = field!(self, u32 log_max_message);
        let most = self.depth() / 2;
        // What comes back must have arrived before its completion says so.
        let flushes = way == Way::Get && self.has(flags::FLUSH);
        let behind = match signal {
            Some((_, signal)) => signal.blocks(),
            None => flushes as u32,
        };
        loop {
            let left = (bytes >> log) + u64::from(bytes & ((1 << log) - 1) != 0);
            // The last ones go together with what stands behind them.
            let is_last = left + u64::from(behind) <= most;
            let count = if is_last { left } else { left.min(most - u64::from(flushes)) } as u32;
            let tail = if is_last { behind } else { flushes as u32 };
            if count + tail == 0 || (count == 0 && signal.is_none()) {
                return Ok(());
            }
            let blocks = self.reserve(count + tail, deadline)?;
            for at in 0..count {
                let piece = bytes.min(1 << log);
                let completes = at + 1 == count && tail == 0;
                let completion = if completes { Completion::Always } else { Completion::OnError };
                let control = self.control(blocks.first + u64::from(at), completion);
                let segments = match way {
                    Way::Put => wqe::write(control, remote, local, piece as u32),
                    Way::Get => wqe::read(control, remote, local, piece as u32),
                };
                self.write_at(blocks.first + u64::from(at), segments);
                (remote, local, bytes) = (remote.plus(piece), local.plus(piece), bytes - piece);
            }
            if flushes {
                self.write_flush(blocks.end - 1);
            }
            if let (Some((word, signal)), true) = (signal, is_last) {
                self.write_signal(Reserved { first: blocks.end - u64::from(behind), ..blocks }, word, signal);
            }
            self.publish(blocks, deadline)?;
            if is_last {
                return Ok(());
            }
        }
    }
}
