//! How a run ends badly: a thread that fails, a block that can never meet, and what is said when nothing can go on.

use super::clock::Who;
use super::engine::{Engine, Hosts, Known};
use super::finding::{Finding, Kind};
use crate::schedule::ThreadId;
use crate::thread::Ended;
use crate::thread::Trap;
use crate::worker::{Waiting, Worker};
use oxshmem_device::Together;

impl Engine {
    /// A thread has ended; reports it if it has not ended well.
    pub(super) fn ended(&mut self, who: Who, ended: &Ended) {
        let finding = {
            let run = self.state();
            let first = Some(run.place_now(who));
            match ended {
                Ended::Well => return,
                Ended::Panicked(said) => Finding {
                    first,
                    detail: format!("`{}` at {}", said.message, said.location),
                    ..Finding::new(Kind::Panicked)
                },
                Ended::Wild(wild) => Finding {
                    first,
                    memory: format!("address {:#x}", wild.address),
                    detail: format!("access of {} bytes: {}", wild.bytes, wild.problem),
                    ..Finding::new(Kind::WildAccess)
                },
                Ended::Trapped(Trap::Overflow) => Finding { first, ..Finding::new(Kind::StackOverflow) },
                Ended::Trapped(Trap::Endless(time)) => Finding {
                    first,
                    detail: format!("it has computed for {time} ms of processor time since"),
                    remedy: "end the loop, or raise OXSHMEM_CHECK_PATIENCE".into(),
                    ..Finding::new(Kind::NoProgress)
                },
                Ended::Trapped(Trap::Access(address)) => Finding {
                    first,
                    memory: format!("address {address:#x}"),
                    detail: "nothing is mapped there".into(),
                    ..Finding::new(Kind::WildAccess)
                },
            }
        };
        let mut run = self.state();
        run.found(finding);
        run.over = true;
    }

    /// The threads of a block wait for each other at different places.
    pub(super) fn divided(&mut self, known: Known) {
        let worker = &self.workers[known.worker as usize];
        let Some(block) = worker.block_of(known.id) else { return };
        let at = |waiting| {
            (0..block.frames.len() as u32)
                .find(|&thread| worker.waiting(ThreadId { thread, ..known.id }) == Some(waiting))
                .map(|thread| block.frames[thread as usize].who.get())
        };
        let (barrier, warp) = (at(Waiting::Block), at(Waiting::Warp));
        let second_warp = || {
            let threads = 0..block.frames.len() as u32;
            let mut all = threads
                .filter(|&thread| worker.waiting(ThreadId { thread, ..known.id }) == Some(Waiting::Warp))
                .map(|thread| block.frames[thread as usize].who.get());
            all.find(|&who| Some(who) != warp)
        };
        let other = if barrier.is_some() { warp } else { second_warp() };
        let finding = {
            let run = self.state();
            Finding {
                first: barrier.or(warp).map(|who| run.place_now(who)),
                second: other.map(|who| run.place_now(who)),
                detail: format!("the block's {} living threads all wait for each other", block.living),
                remedy: "have all threads of the scope call it".into(),
                ..Finding::new(Kind::PartialScope)
            }
        };
        let mut run = self.state();
        run.found(finding);
        run.over = true;
    }

    /// Reports operations of some warps that others of the block do not come to, but wait at its barrier.
    fn partial(&mut self, polling: &[(Who, Known, u64)]) {
        for &(who, known, _) in polling {
            let worker = &self.workers[known.worker as usize];
            let Some(block) = worker.block_of(known.id) else { continue };
            let elsewhere = (0..block.frames.len() as u32)
                .find(|&thread| worker.waiting(ThreadId { thread, ..known.id }) == Some(Waiting::Block))
                .map(|thread| block.frames[thread as usize].who.get());
            let mut run = self.state();
            if run.thread(who).op.together == Together::SomeWarps
                && let Some(other) = elsewhere
            {
                let finding = Finding {
                    first: Some(run.place_now(who)),
                    second: Some(run.place_now(other)),
                    detail: "some warps of a group wait in an operation of the group, others at a barrier"
                        .into(),
                    remedy: "have all warps of the group call it".into(),
                    ..Finding::new(Kind::PartialScope)
                };
                run.found(finding);
            }
        }
    }

    /// Says who waits for what.
    pub(super) fn stuck(&mut self, hosts: &dyn Hosts) {
        let mut waiting: Vec<Who> = self.idle.clone();
        let mut polling = Vec::new();
        for (who, known) in self.known.iter().enumerate() {
            let Some(known) = known else { continue };
            if self.workers[known.worker as usize].who(known.id) != Some(who as Who)
                || self.state().thread(who as Who).gone
            {
                continue;
            }
            match known.until {
                Some(until) => polling.push((who as Who, *known, until)),
                None if !waiting.contains(&(who as Who)) => waiting.push(who as Who),
                None => {}
            }
        }
        self.partial(&polling);
        self.workers.iter_mut().for_each(Worker::condemn);
        // Their deadlines pass: each says what it has waited for.
        for &(who, known, until) in &polling {
            self.resume(who, known, Some(until));
        }
        waiting.extend(polling.iter().map(|&(who, ..)| who));
        // Waits of a whole scope say so once its threads have met.
        let last = polling.iter().map(|&(.., until)| until).max();
        for _ in 0..32 * waiting.len() {
            let Some(who) = self.runnable.first().copied() else { break };
            let Some(Some(known)) = self.known.get(who as usize).copied() else { break };
            self.resume(who, known, last);
        }
        let mut detail = String::new();
        for worker in &self.workers {
            for (kernel, placed, total) in worker.waiting_blocks() {
                detail = format!(
                    "{} of {total} blocks of `{kernel}` have no room while those that are resident wait",
                    total - placed
                );
            }
        }
        let hosts = hosts.waiting();
        self.state().deadlock(&waiting, hosts, detail);
    }
}
