//! Growth of the heap when each PE is a process: every one takes memory of its own device and offers it to the others,
//! takes what they offer, maps all of it, and only when all have done so does the heap count as grown. A step that
//! fails on one PE is taken back on all.

use crate::alloc::Allocation;
use crate::debug;
use crate::driver::Backing;
use crate::error::Result;
use crate::exchange::{Exchange, Piece};
use crate::fault;
use crate::group::Call;
use crate::pe::Pe;
use std::sync::atomic::Ordering;
use tracing::{debug, debug_span};

impl Pe {
    /// Collective among processes. Puts memory behind the first `goal` bytes of every segment, or changes nothing;
    /// `prepare` makes the own part ready before others use it. `of` is what it is for, and this PE's memory for it, if a
    /// user asked for it; else it is the device's.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if a device has not got it; that a PE's memory is refused; a PE's failure.
    pub(crate) fn grow(
        &self,
        exchange: &Exchange,
        goal: u64,
        of: Option<(&Allocation, Backing)>,
        prepare: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let _span = debug_span!(target: debug::HEAP, "grow", pe = self.me, goal).entered();
        let grown = self.try_to_grow(exchange, goal, of, prepare);
        exchange.withdraw();
        let mut heap = self.job.heap();
        match grown {
            Ok(()) => heap.space().grown(goal),
            Err(_) => heap.space().give_back(),
        }
        let mapped = heap.mapped();
        self.job.mapped.store(mapped, Ordering::Release);
        debug!(target: debug::HEAP, pe = self.me, mapped, grown = grown.is_ok(), "growth of the heap");
        grown
    }

    fn try_to_grow(
        &self,
        exchange: &Exchange,
        goal: u64,
        of: Option<(&Allocation, Backing)>,
        prepare: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let taken = self.take(exchange, goal, of);
        debug!(target: debug::HEAP, pe = self.me, done = taken.is_ok(), "own memory is taken");
        fault::point("taken", self.me);
        self.agree(Call::Taken(goal), taken)?;
        let mapped = self.map(exchange, goal).and_then(|()| prepare());
        debug!(target: debug::HEAP, pe = self.me, done = mapped.is_ok(), "all memory is mapped");
        fault::point("mapped", self.me);
        self.agree(Call::Mapped(goal), mapped)
    }

    /// Takes own memory and offers it.
    fn take(&self, exchange: &Exchange, goal: u64, of: Option<(&Allocation, Backing)>) -> Result<()> {
        let mut heap = self.job.heap();
        let backing = of.map_or(Backing::Device, |(_, backing)| backing);
        if let Err(error) = heap.space().take(goal, |_| backing) {
            return Err(match of {
                Some((allocation, _)) => heap.for_user(allocation, Some(self.me), error),
                None => error,
            });
        }
        exchange.offer(Piece::Heap(goal), heap.space().export(self.me)?);
        Ok(())
    }

    /// Takes what the others offer, and maps all.
    fn map(&self, exchange: &Exchange, goal: u64) -> Result<()> {
        for pe in (0..self.job.n_pes).filter(|pe| *pe != self.me) {
            let lost = || self.job.group.failure_for(self.me);
            let shareable = exchange.fetch(pe, Piece::Heap(goal), self.job.deadline, &lost)?;
            self.job.heap().space().import(pe, shareable, goal)?;
        }
        self.job.heap().space().map()
    }

    /// Meets the others at a step of the growth.
    fn agree(&self, call: Call, step: Result<()>) -> Result<()> {
        self.meet(call, step.err(), |_| Ok(None)).map(drop)
    }
}
