//! What fences, quiets and barriers order.

use super::clock::{Clock, Who};
use super::event::INITIAL;
use super::finding::{Finding, Kind};
use super::know::{Know, Part};
use super::options::Profile;
use super::run::{Fence, HEARD, Heard, Op, Run};
use super::words::Word;
use oxshmem_device::Together;
use oxshmem_device::abi::Operation;
use std::collections::VecDeque;
use std::rc::Rc;

impl Run {
    /// `fence.sc.sys`, as the operation that the thread is in has it.
    pub(crate) fn fence(&mut self, who: Who) {
        let op = self.thread(who).op;
        match op.operation {
            Operation::Quiet | Operation::BarrierAll | Operation::TeamBarrier => self.quiet(who, None),
            Operation::PeQuiet => self.quiet(who, Some(op.pe)),
            operation => {
                let fence = Rc::new(Fence {
                    know: self.thread(who).know.clone().abroad().and(who, self.now(who)),
                    here: self.issued_here(who),
                });
                let stamp = self.stamp;
                let thread = self.thread_mut(who);
                thread.own += 1;
                if operation == Operation::PeFence {
                    thread.fenced_for.retain(|(pe, _)| *pe != op.pe);
                    thread.fenced_for.push((op.pe, fence));
                } else {
                    thread.fenced = Some(fence);
                    thread.fenced_for.clear();
                }
                thread.fence_stamp = stamp;
            }
        }
    }

    /// Completes all that a thread has issued or knows to be issued, to one PE or to all.
    fn quiet(&mut self, who: Who, pe: Option<u32>) {
        let op = self.thread(who).op;
        let here = self.issued_here(who);
        let issued = self.thread(who).know.clone().and(who, self.now(who)).issued;
        let targets = match pe {
            Some(pe) => pe..pe + 1,
            None => 0..self.pes,
        };
        for target in targets.clone() {
            self.complete(who, target, &here);
        }
        let everywhere = self.profile != Profile::Mixed || op.operation == Operation::BarrierAll;
        let stamp = self.stamp;
        let thread = self.thread_mut(who);
        for target in targets {
            let target = target as u16;
            for part in [Part::Put(target), Part::Source(target), Part::Get(target)] {
                thread.know.finish(part, &here);
            }
            if everywhere {
                thread.know.finish(Part::Everywhere(target), &here);
            }
        }
        if pe.is_none() {
            thread.know.finish(Part::Local, &here);
        }
        let over = thread.know.over.clone();
        // Of a quiet of one PE others learn only what has arrived.
        let told = if pe.is_none() { issued.clone() } else { Rc::default() };
        thread.know.complete(&Rc::new(Know { issued: told, over: over.clone(), done: None }));
        let fence = Rc::new(Fence { know: Know { issued, over, done: None }, here });
        thread.own += 1;
        thread.fence_stamp = stamp;
        match pe {
            Some(pe) => {
                thread.fenced_for.retain(|(other, _)| *other != pe);
                thread.fenced_for.push((pe, fence));
            }
            None => {
                thread.fenced = Some(fence);
                thread.fenced_for.clear();
            }
        }
    }

    /// Frees the sources of all non-blocking puts of a thread.
    pub(crate) fn flush(&mut self, who: Who) {
        let issued = self.issued_here(who);
        self.read_sources(who, &issued);
        let pes = self.pes as u16;
        let thread = self.thread_mut(who);
        (0..pes).for_each(|pe| thread.know.finish(Part::Source(pe), &issued));
        thread.own += 1;
    }

    /// `fence.acquire.sys`: what relaxed reads brought is acquired.
    pub(crate) fn fence_acquire(&mut self, who: Who) {
        let read = std::mem::take(&mut self.thread_mut(who).read);
        let tests = self.thread(who).op.operation == Operation::TestAll;
        for (_, message) in read {
            if tests {
                // Whether it orders shows when all have been looked at.
                self.thread_mut(who).tested.push(message);
            } else {
                self.learn(who, &message);
            }
        }
    }

    /// A test's answer.
    pub(crate) fn tested(&mut self, who: Who, holds: bool) {
        let tested = std::mem::take(&mut self.thread_mut(who).tested);
        if holds {
            tested.iter().for_each(|message| self.learn(who, message));
        }
    }

    /// All of these threads, of which each is at its own time, know what the others know.
    fn join_all(&mut self, all: &[Who]) -> (Know, Rc<VecDeque<Heard>>, u64) {
        let first = self.thread(all[0]);
        let mut know = first.know.clone();
        let mut heard = first.heard.clone();
        let mut stamp = first.fence_stamp;
        for &who in &all[1..] {
            let thread = self.thread(who);
            if !know.is(&thread.know) {
                know.join(&thread.know);
            }
            if !Rc::ptr_eq(&heard, &thread.heard) && !thread.heard.is_empty() {
                let all = Rc::make_mut(&mut heard);
                for one in thread.heard.iter() {
                    if all.iter().all(|other| other.event != one.event) {
                        if all.len() == HEARD {
                            all.pop_front();
                        }
                        all.push_back(one.clone());
                    }
                }
            }
            stamp = stamp.max(thread.fence_stamp);
        }
        (know, heard, stamp)
    }

    /// Threads that met go on, with the same past.
    fn go_on(&mut self, all: &[Who], (know, heard, stamp): (Know, Rc<VecDeque<Heard>>, u64)) {
        for &who in all {
            let thread = self.thread_mut(who);
            thread.know = know.clone();
            thread.heard = heard.clone();
            thread.fence_stamp = stamp;
        }
    }

    /// The living threads of a block have met at its barrier.
    pub(crate) fn join_block(&mut self, all: &[Who], total: u32) {
        self.check_alike(all, total, &[Together::OneBlock, Together::WholeGrid]);
        let mut joined = self.join_all(all);
        let group = self.groups[self.thread(all[0]).block].clone();
        let warps = group.threads.div_ceil(32) as usize;
        let issued = Rc::make_mut(&mut joined.0.issued);
        for warp in group.first_warp..group.first_warp + warps {
            self.phases[warp] += 1;
            issued.learn_warp(warp, self.phases[warp]);
        }
        self.go_on(all, joined);
        self.met += 1;
    }

    /// Lanes of a warp have met at its barrier.
    pub(crate) fn join_warp(&mut self, all: &[Who], total: u32) {
        self.check_alike(all, total, &[Together::OneWarp, Together::SomeWarps]);
        self.met += 1;
        if all.len() == 1 {
            return;
        }
        let mut joined = self.join_all(all);
        let warp = all[0] as usize >> 5;
        let living =
            self.threads[warp * 32..].iter().take(32).flatten().filter(|thread| !thread.gone).count();
        let issued: &mut Clock = Rc::make_mut(&mut joined.0.issued);
        if living == all.len() {
            self.phases[warp] += 1;
            issued.learn_warp(warp, self.phases[warp]);
        } else {
            for &who in all {
                let now = self.now(who);
                issued.learn(who, now);
                self.thread_mut(who).own += 1;
            }
        }
        self.go_on(all, joined);
    }

    /// Reports an operation of a scope that its threads do not call alike.
    fn check_alike(&mut self, all: &[Who], total: u32, scopes: &[Together]) {
        let first = self.thread(all[0]).op;
        let is_joint = |op: &Op| scopes.contains(&op.together);
        if is_joint(&first) && (all.len() as u32) < total {
            let kind =
                if first.operation == Operation::Sync { Kind::BarrierLeft } else { Kind::PartialScope };
            let finding = Finding {
                first: Some(self.place_now(all[0])),
                detail: format!("{} of its {total} threads are still there", all.len()),
                remedy: "have all threads of the scope call it; let none return before".into(),
                ..Finding::new(kind)
            };
            self.found(finding);
        }
        for &who in &all[1..] {
            let op = self.thread(who).op;
            if core::ptr::eq(op.location, first.location) && op.operation == first.operation {
                let given = |op: &Op| (op.offset, op.bytes, op.pe, op.value);
                let same = given(&op) == given(&first);
                if same || !is_joint(&op) || op.together != first.together {
                    continue;
                }
                let named = |op: &Op| {
                    let at = self.places.name_at(op.offset);
                    format!("{at}, {} bytes, PE {}, value {}", op.bytes, op.pe, op.value)
                };
                let finding = Finding {
                    first: Some(self.place_now(all[0])),
                    second: Some(self.place_now(who)),
                    detail: format!("one has {}; the other {}", named(&first), named(&op)),
                    remedy: "give the same arguments in every thread of the scope".into(),
                    ..Finding::new(Kind::DifferentArguments)
                };
                return self.found(finding);
            }
            // Barriers may meet from different lines. Which operation a thread is in is not known of joins that tell nobody.
            let barriers = op.operation == Operation::Sync && first.operation == Operation::Sync;
            if !barriers
                && (is_joint(&op) || is_joint(&first))
                && op.together != Together::OneThread
                && first.together != Together::OneThread
            {
                let finding = Finding {
                    first: Some(self.place_now(all[0])),
                    second: Some(self.place_now(who)),
                    detail: "threads of one scope meet in different operations".into(),
                    remedy: "have all threads of the scope call the same operations in the same order".into(),
                    ..Finding::new(Kind::PartialScope)
                };
                return self.found(finding);
            }
        }
    }

    /// What has arrived at these PEs, who have all come to a barrier with the thread, is there for the thread, too.
    pub(super) fn all_have(&mut self, who: Who, pes: Vec<u16>) {
        let know = &mut self.thread_mut(who).know;
        for pe in pes {
            let here = know.over.part(Part::Put(pe)).clone();
            know.finish(Part::Everywhere(pe), &here);
        }
    }

    /// A read-modify-write, or an acquiring load, of a word of shared memory: it joins those of the block that do so.
    pub(crate) fn shared_word(&mut self, who: Who, address: u64, writes: bool) {
        if self.words.get(address).is_none() {
            self.words.insert(address, Word::new(4, [0; 2], INITIAL));
        }
        let thread = self.thread_mut(who);
        thread.looks_at(address);
        let before = self.words.get(address).and_then(|word| word.newest().message.clone());
        if let Some(before) = &before {
            self.learn(who, before);
        }
        if !writes {
            return;
        }
        let message = Rc::new(self.thread(who).know.clone().and(who, self.now(who)));
        self.thread_mut(who).own += 1;
        if let Some(word) = self.words.get(address) {
            word.newest().message = Some(message);
        }
        let woken = self.words.wake(address);
        self.woken.extend(woken);
        self.progress += 1;
    }
}
