//! One step of a thread in a checked run, where the checker says who runs.

use super::Worker;
use crate::block::{State, living_lanes};
use crate::check::run::Run;
use crate::launch::{Launch, Submission};
use crate::occupancy::WARP;
use crate::panics;
use crate::schedule::ThreadId;
use crate::thread::{Ended, Request, Response};
use crate::trap;
use corosensei::CoroutineResult;
use std::cell::RefMut;
use std::sync::Arc;

/// What a step came to.
#[derive(Debug)]
pub(crate) enum Stepped {
    /// It can go on.
    Runs,
    /// Its poll failed; its wait ends at this time.
    Polls(u64),
    /// It waits for others of its block.
    Waits,
    /// It has ended.
    Ended(Ended),
}

/// How a thread waits for others of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// At the block's barrier.
    Block,
    /// For lanes of its warp.
    Warp,
}

impl Worker {
    fn run_mut(&self) -> RefMut<'_, Run> {
        self.current.checked.as_ref().expect("a checked device").borrow_mut()
    }

    /// Takes a launch.
    pub(crate) fn submit_checked(&mut self, submission: Submission) {
        self.enqueue(submission);
    }

    /// Makes blocks resident; the threads that have become runnable since the last call.
    pub(crate) fn fresh(&mut self) -> Vec<ThreadId> {
        if self.room || self.starved {
            self.place();
        }
        self.queue.take()
    }

    /// Whether nothing is left to run.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Launches of which not every block has been resident yet: the kernel, how many blocks have been, and of how many.
    pub(crate) fn waiting_blocks(&self) -> impl Iterator<Item = (&'static str, u64, u64)> + '_ {
        let all = self.running.iter().map(|r| (r.launch.name, r.placed, r.launch.total_blocks()));
        all.filter(|&(_, placed, total)| placed < total)
    }

    /// Number in the checked run of a thread, and what it has been told.
    pub(crate) fn who(&self, id: ThreadId) -> Option<u32> {
        let block = self.blocks[id.block as usize].as_ref()?;
        Some(block.frames[id.thread as usize].who.get())
    }

    /// Makes the checker know a block, from the number `first` on.
    pub(crate) fn block_of(&self, id: ThreadId) -> Option<&crate::block::Block> {
        self.blocks[id.block as usize].as_deref()
    }

    /// The launch that a block belongs to, its ticket, and the addresses of its stream and of the one that it waited for.
    pub(crate) fn launch_of(&self, number: u64) -> Option<(&Launch, u64, [Option<usize>; 2])> {
        let running = self.running.iter().find(|r| r.number == number)?;
        let waited = running.after.as_ref().map(|point| Arc::as_ptr(&point.stream).addr());
        Some((&running.launch, running.ticket, [Some(Arc::as_ptr(&running.stream).addr()), waited]))
    }

    /// How a thread waits for its block, if it does.
    pub(crate) fn waiting(&self, id: ThreadId) -> Option<Waiting> {
        match self.blocks[id.block as usize].as_ref()?.threads[id.thread as usize].state {
            State::AtBarrier => Some(Waiting::Block),
            State::AtExchange => Some(Waiting::Warp),
            _ => None,
        }
    }

    /// Runs one thread until it lets others run. `now`: the time that it sees. Those that it lets go on are in `freed`.
    pub(crate) fn step_checked(
        &mut self,
        id: ThreadId,
        now: Option<u64>,
        freed: &mut Vec<ThreadId>,
    ) -> Stepped {
        let Some(block) = &mut self.blocks[id.block as usize] else { return Stepped::Waits };
        let thread = &mut block.threads[id.thread as usize];
        let Some(body) = &mut thread.body else { return Stepped::Waits };
        let mut response = core::mem::take(&mut thread.response);
        let before = self.current.now.get();
        self.current.now.set(now.unwrap_or(before));
        let result = {
            let _in_kernel = panics::in_kernel();
            let _watched = trap::watch(body, thread.limit);
            loop {
                match body.resume(response) {
                    CoroutineResult::Yield(Request::ActiveLanes) => {
                        response = Response::ActiveLanes(living_lanes(&block.warps, id.thread));
                    }
                    other => break other,
                }
            }
        };
        self.current.now.set(before);
        let at = freed.len();
        let mut free = |thread| freed.push(ThreadId { block: id.block, thread });
        match result {
            CoroutineResult::Yield(Request::PollFailed { until }) => Stepped::Polls(until),
            CoroutineResult::Yield(Request::Switch | Request::ActiveLanes) => Stepped::Runs,
            CoroutineResult::Yield(Request::Barrier { predicate }) => {
                block.arrive(id.thread, predicate, &mut free);
                self.joined(id, &freed[at..], true);
                Stepped::Waits
            }
            CoroutineResult::Yield(Request::Exchange { mask, value, orders }) => {
                block.exchange(id.thread, mask, value, &mut free);
                if orders {
                    self.joined(id, &freed[at..], false);
                }
                Stepped::Waits
            }
            CoroutineResult::Return(ended) => {
                self.current.leave();
                let who = block.frames[id.thread as usize].who.get();
                block.end(id.thread, &mut free);
                self.run_mut().end(who);
                // One that failed ends the run: what it leaves others to find is no mistake of theirs.
                if matches!(ended, Ended::Well) {
                    self.released(id, &freed[at..]);
                }
                Stepped::Ended(ended)
            }
        }
    }

    /// Threads of a block that have waited for one that has ended.
    fn released(&mut self, id: ThreadId, freed: &[ThreadId]) {
        let at_barrier = |freed: &ThreadId| {
            let block = self.blocks[id.block as usize].as_ref()?;
            Some(matches!(block.threads[freed.thread as usize].response, Response::Barrier(_)))
        };
        let (block, warp): (Vec<ThreadId>, Vec<ThreadId>) =
            freed.iter().partition(|freed| at_barrier(freed).unwrap_or(false));
        self.joined(id, &block, true);
        self.joined(id, &warp, false);
    }

    /// Threads have met.
    fn joined(&mut self, id: ThreadId, met: &[ThreadId], whole: bool) {
        let Some(block) = &self.blocks[id.block as usize] else { return };
        if met.is_empty() {
            return;
        }
        let whos: Vec<u32> = met.iter().map(|id| block.frames[id.thread as usize].who.get()).collect();
        let total = block.frames.len() as u32;
        let mut run = self.run_mut();
        if whole {
            return run.join_block(&whos, total);
        }
        // Of several warps only if a thread that ended let them go.
        let numbers: Vec<u32> = met.iter().map(|id| id.thread).collect();
        let mut at = 0;
        for warp in whos.chunk_by(|a, b| a / WARP == b / WARP) {
            let first = numbers[at] / WARP * WARP;
            run.join_warp(warp, (total - first).min(WARP));
            at += warp.len();
        }
    }

    /// Ends the block if its last thread has ended; whether it is stuck otherwise.
    pub(crate) fn after_step(&mut self, id: ThreadId) -> bool {
        let Some(block) = &self.blocks[id.block as usize] else { return false };
        if block.living == 0 {
            self.finish(id.block);
            return false;
        }
        block.stuck()
    }

    /// Ends every launch.
    pub(crate) fn fail_all(&mut self) {
        let numbers: Vec<u64> = self.running.iter().map(|r| r.number).collect();
        for number in numbers {
            self.fail(number, self.ended_by_checker());
        }
        self.queue.take();
    }

    fn ended_by_checker(&self) -> crate::Error {
        crate::Error::Stopped {
            device: self.device.index,
            reason: "the checker has ended the run".to_owned(),
        }
    }

    /// Whatever becomes of the launches that run now, they have failed.
    pub(crate) fn condemn(&mut self) {
        let error = self.ended_by_checker();
        for running in &mut self.running {
            running.failure.get_or_insert_with(|| error.clone());
        }
    }
}
