//! Launches from their arrival to their end: one at a time per stream, blocks in order as there is room.

use super::{Running, Worker};
use crate::block::Block;
use crate::launch::Submission;
use crate::schedule::ThreadId;
use crate::stack::{self, Shortage};
use oxshmem_device::abi::ContextAbi;
use std::rc::Rc;
use std::sync::Arc;

impl Worker {
    /// Puts a launch behind the others of its stream, or starts it.
    pub(super) fn enqueue(&mut self, submission: Submission) {
        let address = Arc::as_ptr(&submission.stream).addr();
        let queue = self.queues.entry(address).or_default();
        queue.waiting.push_back(submission);
        if !queue.running {
            self.start_next(address);
        }
    }

    /// Starts the next launch of a stream on which none runs, unless it waits for another stream; discards those of a stream
    /// that has failed.
    fn start_next(&mut self, address: usize) {
        let Some(queue) = self.queues.get_mut(&address).filter(|queue| !queue.running) else { return };
        while let Some(submission) = queue.waiting.pop_front() {
            if !submission.stream.failed() {
                if submission.after.as_ref().is_some_and(|point| !point.is_over()) {
                    queue.waiting.push_front(submission);
                    if !self.held_back.contains(&address) {
                        self.held_back.push(address);
                    }
                    return;
                }
                queue.running = true;
                self.start(submission);
                return;
            }
            let Submission { stream, launch, stacks, .. } = submission;
            drop((launch, stacks));
            stream.end_one(None);
            // Others may have waited for that; they come after this one.
            queue.discarded = true;
        }
        let discarded = self.queues.remove(&address).is_some_and(|queue| queue.discarded);
        if discarded {
            self.look_at_held_back();
        }
    }

    /// Starts what has waited for another stream, if that is over.
    fn look_at_held_back(&mut self) {
        for address in core::mem::take(&mut self.held_back) {
            self.start_next(address);
        }
    }

    fn start(&mut self, submission: Submission) {
        let Submission { stream, mut launch, stacks, ticket, after } = submission;
        let run = core::mem::replace(&mut launch.run, Box::new(|_| ()));
        let (number, run) = (self.started, Rc::from(run as Box<dyn Fn(ContextAbi)>));
        self.started += 1;
        self.room = true;
        self.running.push(Running {
            number,
            stream,
            launch,
            run,
            stacks,
            placed: 0,
            ended: 0,
            ticket,
            after,
            failure: None,
        });
    }

    /// Makes blocks resident, in order, as far as there is room.
    pub(super) fn place(&mut self) {
        (self.room, self.starved) = (false, false);
        let mut at = 0;
        while let Some(running) = self.running.get_mut(at) {
            if running.placed == running.launch.total_blocks() {
                at += 1;
                continue;
            }
            let needs = running.launch.needs();
            let Some(sm) = self.sms.place(needs) else { return };
            let threads = running.launch.block_threads() as usize;
            let stacks = if running.launch.collective {
                running.stacks.split(threads).ok_or(None)
            } else {
                stack::take(threads, self.device.config.stack_bytes).map_err(Some)
            };
            let stacks = match stacks {
                Ok(stacks) => stacks,
                Err(shortage) => {
                    self.sms.release(sm, needs);
                    let failed = match shortage {
                        Some(Shortage::System(error)) if running.placed == running.ended => Some(error),
                        _ => None,
                    };
                    match failed {
                        Some(error) => {
                            let number = running.number;
                            self.fail(number, error);
                        }
                        None => {
                            // Blocks of this device, or of another, give theirs back when they end.
                            self.starved = true;
                            return;
                        }
                    }
                    continue;
                }
            };
            let which = (running.number, running.placed);
            running.placed += 1;
            let block = Block::new(self.current, &running.launch, &running.run, which, stacks, sm);
            self.statistics.blocks += 1;
            let slot = self.vacant.pop().unwrap_or_else(|| {
                self.blocks.push(None);
                self.blocks.len() as u32 - 1
            });
            (0..block.threads.len() as u32)
                .for_each(|thread| self.queue.push(ThreadId { block: slot, thread }));
            self.blocks[slot as usize] = Some(Box::new(block));
        }
    }

    /// A block's last thread has ended.
    pub(super) fn finish(&mut self, slot: u32) {
        let Some(block) = self.blocks[slot as usize].take() else { return };
        self.vacant.push(slot);
        self.sms.release(block.sm, block.needs);
        self.room = true;
        let (number, stacks) = (block.launch, block.unwind(self.current));
        let Some(at) = self.running.iter().position(|r| r.number == number) else { return };
        let running = &mut self.running[at];
        running.ended += 1;
        if running.launch.collective {
            running.stacks.merge(stacks);
        }
        if running.ended == running.launch.total_blocks() {
            self.end(at);
        }
    }

    /// A launch has ended: the next one of its stream starts.
    pub(super) fn end(&mut self, at: usize) {
        let Running { stream, failure, run, stacks, .. } = self.running.remove(at);
        // The kernel's captured values and stacks are given back before anyone is told.
        drop((run, stacks));
        self.statistics.launches += 1;
        self.report();
        self.land();
        stream.end_one(failure);
        let address = Arc::as_ptr(&stream).addr();
        if let Some(queue) = self.queues.get_mut(&address) {
            queue.running = false;
            self.start_next(address);
        }
        self.look_at_held_back();
    }
}
