//! How launches fail: the report, and the end of all their threads; nothing of other launches is touched.

use super::Worker;
use crate::block::State;
use crate::error::{Error, Problem, Site};
use crate::schedule::ThreadId;
use crate::thread::Ended;
use crate::thread::Trap;

impl Worker {
    pub(super) fn site(&self, id: ThreadId) -> Option<(u64, Box<Site>)> {
        let block = self.blocks[id.block as usize].as_ref()?;
        let running = self.running.iter().find(|r| r.number == block.launch)?;
        let frame = &block.frames[id.thread as usize];
        let site = Site {
            kernel: running.launch.name,
            pe: running.launch.context.my_pe,
            block: frame.position.block_idx,
            thread: frame.position.thread_idx,
            operation: frame.last.get(),
        };
        Some((running.number, Box::new(site)))
    }

    /// A thread did not end well: its launch ends.
    pub(super) fn failed(&mut self, id: ThreadId, ended: Ended) {
        let Some((number, site)) = self.site(id) else { return };
        let error = match ended {
            Ended::Panicked(said) => {
                Error::KernelPanicked { site, message: said.message, location: said.location }
            }
            Ended::Wild(wild) => {
                Error::WildAccess { site, address: wild.address, bytes: wild.bytes, problem: wild.problem }
            }
            Ended::Trapped(Trap::Overflow) => {
                let stack = self.device.config.stack_bytes;
                Error::StackOverflow { site, stack }
            }
            Ended::Trapped(Trap::Endless(_)) => return,
            Ended::Trapped(Trap::Access(address)) => {
                Error::WildAccess { site, address, bytes: 1, problem: Problem::NotMapped }
            }
            Ended::Well => return,
        };
        self.fail(number, error);
    }

    /// A block's living threads all wait for each other.
    pub(super) fn diverged(&mut self, id: ThreadId) {
        let Some(block) = &self.blocks[id.block as usize] else { return };
        let (living, at_barrier, at_warp) = (block.living, block.at_barrier, block.at_exchange);
        let waits = |state: State| matches!(state, State::AtBarrier | State::AtExchange);
        let thread = block.threads.iter().position(|t| waits(t.state)).unwrap_or(0) as u32;
        let Some((number, site)) = self.site(ThreadId { thread, ..id }) else { return };
        self.fail(number, Error::Diverged { site, living, at_barrier, at_warp });
    }

    /// Ends a launch with a failure: its threads are unwound, blocks that have not started are dropped.
    pub(super) fn fail(&mut self, number: u64, error: Error) {
        for slot in 0..self.blocks.len() {
            if self.blocks[slot].as_ref().is_none_or(|block| block.launch != number) {
                continue;
            }
            self.queue.forget(slot as u32);
            if let Some(block) = self.blocks[slot].take() {
                self.vacant.push(slot as u32);
                self.sms.release(block.sm, block.needs);
                self.room = true;
                drop(block.unwind(self.current));
            }
        }
        if let Some(at) = self.running.iter().position(|r| r.number == number) {
            self.running[at].failure = Some(error);
            self.end(at);
        }
    }

    /// Ends everything because the device stops.
    pub(crate) fn stop(&mut self, reason: &str) {
        let stopped = || Error::Stopped { device: self.device.index, reason: reason.to_owned() };
        for block in self.blocks.drain(..).flatten() {
            drop(block.unwind(self.current));
        }
        let waiting = self.queues.drain().flat_map(|(_, queue)| queue.waiting).map(|s| s.stream);
        let running = self.running.drain(..).map(|r| r.stream);
        let left = self.device.left_over().into_iter().map(|s| s.stream);
        for stream in running.chain(waiting).chain(left) {
            stream.end_one(Some(stopped()));
        }
        self.device.clock.set_idle(self.device.index);
    }
}
