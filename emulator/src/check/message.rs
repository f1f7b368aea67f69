//! What an update knows and tells: what its thread has fenced, what it releases; and signals that two write.

use super::clock::{Clock, Who};
use super::event::EventId;
use super::finding::{Finding, Kind};
use super::judge::{Observer, ordered};
use super::know::{Know, Part};
use super::options::Profile;
use super::run::Run;
use super::updates::Body;
use super::words::How;
use std::rc::Rc;

impl Run {
    /// What an update to `owner` knows: what its thread knows, and that what its fences cover arrives first. `all`: what
    /// the thread has issued arrives first.
    pub(super) fn update_know(&mut self, who: Who, owner: u32, all: bool) -> Know {
        let thread = self.thread(who);
        let mut know = thread.know.clone();
        if all {
            know.finish(Part::Put(owner as u16), &self.issued_here(who));
        } else if let Some(after) = self.after(who, owner) {
            know.finish(Part::Put(owner as u16), &after);
        }
        know
    }

    /// What goes first before an update to `owner` by a fence or quiet of its thread.
    pub(super) fn after(&self, who: Who, owner: u32) -> Option<Rc<Clock>> {
        let thread = self.thread(who);
        let one = thread.fenced_for.iter().find(|(pe, _)| *pe == owner).map(|(_, fence)| &fence.here);
        let all = thread.fenced.as_ref().map(|fence| &fence.here);
        match (one, all) {
            (Some(one), Some(all)) => {
                let mut joined = one.clone();
                super::clock::join(&mut joined, all);
                Some(joined)
            }
            (one, all) => one.or(all).cloned(),
        }
    }

    /// What a relaxed update of a word of `owner` tells: what fences and quiets before it cover.
    pub(super) fn weak_message(&self, who: Who, owner: u32) -> Option<Rc<Know>> {
        let thread = self.thread(who);
        let fences = thread.fenced_for.iter().filter(|(pe, _)| *pe == owner).map(|(_, fence)| fence);
        let mut message: Option<Know> = None;
        for fence in fences.chain(&thread.fenced) {
            let mut know = fence.know.clone();
            know.finish(Part::Put(owner as u16), &fence.here);
            if owner == thread.pe {
                know.finish(Part::Local, &fence.here);
            }
            match &mut message {
                Some(message) => message.join(&know),
                None => message = Some(know),
            }
        }
        if let Some(completed) = &thread.know.done {
            match &mut message {
                Some(message) => message.join(completed),
                None => message = Some((**completed).clone()),
            }
        }
        if self.profile == Profile::OpenShmem {
            let here = self.issued_here(who);
            message.get_or_insert_with(|| Know::new(self.pes)).finish(Part::Read, &here);
        }
        message.map(Rc::new)
    }

    /// What an update that releases tells.
    pub(super) fn strong_message(&mut self, who: Who, owner: u32) -> Rc<Know> {
        let mut know = self.thread(who).know.clone().abroad().and(who, self.now(who));
        let here = self.issued_here(who);
        know.finish(Part::Put(owner as u16), &here);
        if owner == self.thread(who).pe {
            know.finish(Part::Local, &here);
        }
        self.thread_mut(who).own += 1;
        Rc::new(know)
    }

    /// Reports signals that are set by two PEs, or both set and added to, unordered.
    pub(super) fn note_how(&mut self, body: &Body, event: EventId, know: &Know) {
        let (Body::Store { address, bytes, how: Some(how), .. }
        | Body::Change { address, bytes, how: Some(how), .. }) = body
        else {
            return;
        };
        let (address, how) = (*address, *how);
        self.word(address, *bytes);
        let (who, time) = (self.events.get(event).who, self.events.get(event).time);
        let pe = self.thread(who).pe;
        let observer = Observer { who, pe, time, know };
        let floor = self.floor(address, observer);
        let Self { words, events, .. } = self;
        let Some(word) = words.get(address) else { return };
        let last = word.last.map(|before| before.filter(|&before| !events.is_old(before)));
        word.last[how as usize] = Some(event);
        let order = |before: EventId| word.values.iter().position(|value| value.event == before);
        let seen = |before: EventId| order(before).is_some_and(|at| at <= floor);
        let seen = last.map(|before| before.is_none_or(seen));
        let known = |before: Option<EventId>| {
            before.is_none_or(|before| ordered(self.profile, &self.events, &self.threads, before, observer))
        };
        let by_another = |before: Option<EventId>| {
            before.is_some_and(|before| self.thread(self.events.get(before).who).pe != pe)
        };
        let sets = how == How::Set && by_another(last[0]) && !seen[0] && !known(last[0]);
        let other = 1 - how as usize;
        let mixes = last[other].is_some() && !seen[other] && !known(last[other]);
        for (kind, is, before) in
            [(Kind::ConcurrentSets, sets, last[0]), (Kind::SetAndAdd, mixes, last[other])]
        {
            let (true, Some(before)) = (is, before) else { continue };
            let remedy = match kind {
                Kind::ConcurrentSets => "one writer per word that is set; several writers add",
                _ => "use one of the two for a word; reset it only when nobody adds (after a barrier)",
            };
            let finding = Finding {
                first: Some(self.place(event)),
                second: Some(self.place(before)),
                memory: self.memory_name(address, who),
                remedy: remedy.into(),
                ..Finding::new(kind)
            };
            self.found(finding);
        }
    }
}
