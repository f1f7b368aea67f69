//! Load buffering: a relaxed read may come after the relaxed update that follows it, if that does not depend on it
//! (PTX ISA 8.10; OpenSHMEM 1.6 forbids it, 9.7).
//!
//! A search first runs without, and notes which updates follow such reads. Then it runs again, and at each of these reads
//! also tries to issue the update first. A thread that then comes to another update than the one that it has promised
//! breaks off the run: the update depended on what was read.

use super::actor::Promise;
use super::clock::Who;
use super::run::Run;
use oxshmem_device::abi::Operation;
use oxshmem_device::hooks::{Access, Order};

impl Run {
    /// Notes a relaxed store of a word, if a relaxed read came right before it. True if it was promised, and so is done.
    pub(crate) fn note_early(&mut self, who: Who, access: Access, bits: [u64; 2]) -> bool {
        if !self.choose.searches() {
            return false;
        }
        let op = self.thread(who).op;
        let promise = Promise { op, access, bits };
        if let Some(promised) = self.thread_mut(who).promised.take() {
            let kept = promised.access == access && promised.bits == bits && promised.op.number == op.number;
            self.early.broken |= !kept;
            return kept;
        }
        let before = op.number.wrapping_sub(1);
        if access.order == Order::Relaxed && self.thread(who).fetched == before && !self.early.tries {
            let noted = self.early.noted.entry((who, before)).or_default();
            if !noted.contains(&promise) {
                noted.push(promise);
            }
        }
        false
    }

    /// At a relaxed read: issues an update that follows it, if the search says so. True if the thread must yield before it
    /// reads.
    pub(crate) fn issue_early(&mut self, who: Who, access: Access) -> bool {
        let op = self.thread(who).op;
        let relaxed = op.operation == Operation::AtomicFetch && access.order == Order::Relaxed;
        if !relaxed || !self.choose.searches() {
            return false;
        }
        if self.thread(who).decided == op.number {
            return false;
        }
        let thread = self.thread_mut(who);
        (thread.decided, thread.fetched) = (op.number, op.number);
        if !self.early.tries || self.thread(who).promised.is_some() {
            return false;
        }
        let noted = self.early.noted.get(&(who, op.number)).cloned().unwrap_or_default();
        let option = self.choose.rare(noted.len() as u32 + 1) as usize;
        let Some(promise) = option.checked_sub(1).and_then(|at| noted.get(at)).copied() else { return false };
        self.thread_mut(who).op = promise.op;
        self.store(who, promise.access, promise.bits);
        let thread = self.thread_mut(who);
        thread.op = op;
        thread.promised = Some(promise);
        true
    }
}
