//! The checker's side of the seam: what the running thread's accesses become.

use super::run::{Op, Run};
use crate::thread::{Current, Overflow, Request};
use crate::trap;
use core::panic::Location;
use oxshmem_device::Together;
use oxshmem_device::abi::{ErrorRecord, Operation};
use oxshmem_device::hooks::{Access, Change, Checked, OperationEvent, TeamCall, Turn};
use std::cell::RefMut;
use std::panic::resume_unwind;

/// Bytes of stack that the checker needs.
const ROOM: usize = 64 * 1024;
/// Accesses of its own memory after which a thread lets others run.
const STEPS: u32 = 512;

impl Current {
    /// The run, and the running thread's number.
    fn run(&self) -> Option<(RefMut<'_, Run>, u32)> {
        // A value that is dropped while its thread is unwound does nothing any more.
        if std::thread::panicking() {
            return None;
        }
        trap::step();
        let frame = self.frame();
        // What follows needs some stack, and must not be broken off.
        let here = core::ptr::from_ref(&frame).addr();
        if here.wrapping_sub(frame.limit.get()) < ROOM {
            resume_unwind(Box::new(Overflow));
        }
        let who = frame.who.get();
        let run = self.checked.as_ref()?;
        (who != u32::MAX).then(|| (run.borrow_mut(), who))
    }

    /// A thread comes to an operation.
    pub(crate) fn enter_checked(&self, event: OperationEvent, at: &'static Location<'static>) {
        let OperationEvent { together, operation, offset, bytes, pe } = event;
        let Some((mut run, who)) = self.run() else { return };
        run.enter(
            who,
            Op { together, operation, offset, bytes, pe, location: at, value: 0, own: None, number: 0 },
        );
        if operation == Operation::Flush {
            run.flush(who);
        }
    }
}

impl Checked for Current {
    fn load(&self, access: Access) -> [u64; 2] {
        self.check(access.address, access.bytes);
        let yields = self.run().is_some_and(|(mut run, who)| run.issue_early(who, access));
        if yields {
            self.request(Request::Switch);
        }
        self.run().map_or([0; 2], |(mut run, who)| run.load(who, access))
    }

    fn store(&self, access: Access, value: [u64; 2]) {
        self.check(access.address, access.bytes);
        if let Some((mut run, who)) = self.run() {
            run.store(who, access, value);
        }
    }

    fn fetch(&self, access: Access, change: Change) -> u64 {
        self.check(access.address, access.bytes);
        self.run().map_or(0, |(mut run, who)| run.fetch(who, access, None, change))
    }

    fn compare_swap(&self, access: Access, expected: u64, new: u64) -> u64 {
        self.check(access.address, access.bytes);
        let change = Box::new(move |_| new);
        self.run().map_or(0, |(mut run, who)| run.fetch(who, access, Some(expected), change))
    }

    fn update(&self, access: Access, change: Change) {
        self.check(access.address, access.bytes);
        if let Some((mut run, who)) = self.run() {
            run.change(who, access, change);
        }
    }

    fn shared(&self, address: u64, bytes: u32, writes: bool) {
        if let Some((mut run, who)) = self.run() {
            run.shared(who, (address, bytes), writes);
        }
    }

    fn shared_word(&self, address: u64, writes: bool) {
        if let Some((mut run, who)) = self.run() {
            run.shared_word(who, address, writes);
        }
    }

    fn fence(&self) {
        if let Some((mut run, who)) = self.run() {
            run.fence(who);
        }
    }

    fn fence_acquire(&self) {
        if let Some((mut run, who)) = self.run() {
            run.fence_acquire(who);
        }
    }

    fn access(&self, together: Together, operation: Operation, at: &'static Location<'static>) {
        let Some((mut run, who)) = self.run() else { return };
        let at = self.frame().site.unwrap_or(at);
        let pe = run.thread(who).pe;
        run.enter(
            who,
            Op { together, operation, offset: 0, bytes: 0, pe, location: at, value: 0, own: None, number: 0 },
        );
        let thread = run.thread_mut(who);
        thread.steps += 1;
        let mut yields = operation == Operation::Ptr || thread.steps > STEPS;
        if yields {
            thread.steps = 0;
        }
        // A search looks at every place of a plain access among the others'.
        yields |= operation == Operation::Access && run.choose.searches();
        drop(run);
        if yields {
            self.request(Request::Switch);
        }
    }

    fn with(&self, value: u64) {
        if let Some((mut run, who)) = self.run() {
            run.thread_mut(who).op.value = value;
        }
    }

    fn tested(&self, holds: bool) {
        if let Some((mut run, who)) = self.run() {
            run.tested(who, holds);
        }
    }

    fn collective(&self, call: TeamCall) {
        if let Some((mut run, who)) = self.run() {
            run.collective(who, call);
        }
    }

    fn collective_over(&self, operation: Operation, at: Turn) {
        if let Some((mut run, who)) = self.run() {
            run.collective_over(who, operation, at);
        }
    }

    fn failed(&self, record: &ErrorRecord) {
        if let Some((mut run, who)) = self.run() {
            run.failed(who, record);
        }
    }
}
