//! Failures, and what is said when nothing can go on.

use super::calls::{is_barrier, is_collective};
use super::clock::Who;
use super::finding::{Finding, Kind, Waiter};
use super::know::Class;
use super::run::Run;
use oxshmem_device::abi::{Cause, Cmp, ErrorRecord, Operation, control};
use std::rc::Rc;

impl Run {
    /// An access of a block's shared memory.
    pub(crate) fn shared(&mut self, who: Who, (address, bytes): (u64, u32), writes: bool) {
        let (start, size) = self.groups[self.thread(who).block].shared;
        if address < start || address - start >= u64::from(size) {
            return;
        }
        let event = self.event(who, Class::Local, writes, 0);
        let copies = self.thread(who).op.operation != Operation::Access;
        self.meet((address, bytes.into()), event, copies, None);
    }

    /// A thread has ended.
    pub(crate) fn end(&mut self, who: Who) {
        self.progress += 1;
        let know = self.thread(who).know.clone().and(who, self.now(who));
        self.thread_mut(who).gone = true;
        let block = self.thread(who).block;
        let group = &mut self.groups[block];
        group.living -= 1;
        if group.stream == 0 {
            return;
        }
        match &mut group.ended {
            Some(all) => all.join(&know),
            None => group.ended = Some(know),
        }
        if group.living > 0 {
            return;
        }
        // All of its warps are known to their ends, which is shorter.
        let (first, warps, stream) = (group.first_warp, group.threads.div_ceil(32) as usize, group.stream);
        let Some(mut know) = group.ended.take() else { return };
        for warp in first..first + warps {
            self.phases[warp] += 1;
            Rc::make_mut(&mut know.issued).learn_warp(warp, self.phases[warp]);
        }
        match self.ended.get_mut(&stream) {
            Some(all) => all.join(&know),
            None => _ = self.ended.insert(stream, know),
        }
    }

    /// A thread fails with this record.
    pub(crate) fn failed(&mut self, who: Who, record: &ErrorRecord) {
        let place = self.place_now(who);
        let cause = Cause::from_number(record.cause);
        if cause == Some(Cause::GlobalExit) {
            // No mistake. All waits give up.
            self.gives_up = true;
            return;
        }
        if cause == Some(Cause::Deadline) {
            let waiter = self.waiter(who, Some(record));
            self.waiters.push((who, waiter));
            return;
        }
        let kind = match cause {
            Some(Cause::IndexOutOfRange) => Kind::OutOfBounds,
            _ => Kind::BadCall,
        };
        let cause = cause.map_or("an unknown cause", Cause::name);
        let memory = if record.offset == 0 { String::new() } else { self.places.name_at(record.offset) };
        let detail = match kind {
            Kind::OutOfBounds => format!("{cause}: index {}, of {}", record.seen, record.expected),
            _ => {
                format!("{cause}: {} where {} was expected, PE {}", record.seen, record.expected, record.peer)
            }
        };
        self.found(Finding { first: Some(place), memory, detail, ..Finding::new(kind) });
        self.over = true;
    }

    /// What a thread waits for.
    pub(crate) fn waiter(&self, who: Who, record: Option<&ErrorRecord>) -> Waiter {
        let op = self.thread(who).op;
        let place = self.place_now(who);
        let mut waiter = Waiter { place, waits_for: String::new(), seen: None, by: String::new(), count: 1 };
        let named =
            record.is_some_and(|record| record.offset >= oxshmem_device::abi::collective::reserved(self.pes));
        match record {
            Some(record) if named => {
                let cmp = Cmp::from_number(record.cmp).map_or("?", Cmp::symbol);
                let name = self.places.name_at(record.offset);
                waiter.waits_for = format!("{name} {cmp} {}", record.expected);
                waiter.seen = Some(record.seen);
                let address = self.places.address(self.thread(who).pe, record.offset);
                waiter.by = self.could_have(address, record);
            }
            _ => match op.operation {
                operation if is_collective(operation) => {
                    waiter.waits_for = match record {
                        Some(record) if record.offset >= control::BYTES => {
                            format!("PE {} to come to {operation}, or to go on in it", record.peer)
                        }
                        _ => format!("others to come to this {operation}"),
                    };
                    waiter.by = self.who_came(who);
                }
                operation if is_barrier(operation) => {
                    let all = matches!(op.operation, Operation::BarrierAll | Operation::SyncAll);
                    let whom = if all { "all PEs" } else { "all PEs of its team" };
                    waiter.waits_for = format!("{whom} to come to {}", op.operation);
                    waiter.by = self.who_came(who);
                }
                _ => match self.thread(who).polled.first() {
                    // It goes round, and looks at it each time.
                    Some(&address) => {
                        waiter.waits_for = format!("a change of {}", self.memory_name(address, who));
                        waiter.seen = self.words.past(address).last();
                        waiter.by = self.written_by(address);
                    }
                    None => waiter.waits_for = format!("others to come to this {}", op.operation),
                },
            },
        }
        waiter
    }

    /// Who has written a word.
    fn written_by(&self, address: u64) -> String {
        let writers = self.words.writers(address);
        if writers.is_empty() {
            return "nobody has updated it in this run".into();
        }
        let mut lines: Vec<String> = Vec::new();
        for &event in writers {
            let line = format!("updated by {}", self.place(event));
            if lines.len() < 3 && !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("; ")
    }

    /// Who has written a word that is waited for, and what of it.
    fn could_have(&self, address: u64, record: &ErrorRecord) -> String {
        let mut text = String::new();
        if let Some(cmp) = Cmp::from_number(record.cmp)
            && let Some(value) = self.words.past(address).find(|&value| cmp.holds(value, record.expected))
        {
            text = format!("it was {value} before, which would have done: that value is lost; ");
        }
        text + &self.written_by(address)
    }

    /// Reports that nothing can go on: what each of these threads waits for.
    pub(crate) fn deadlock(&mut self, waiting: &[Who], hosts: Vec<Waiter>, detail: String) {
        let known = std::mem::take(&mut self.waiters);
        let mut waiters: Vec<Waiter> = known.iter().map(|(_, waiter)| waiter.clone()).collect();
        for &who in waiting {
            let told = known.iter().any(|&(other, _)| {
                let (a, b) = (self.thread(who), self.thread(other));
                other == who || a.block == b.block && core::ptr::eq(a.op.location, b.op.location)
            });
            if !told {
                waiters.push(self.waiter(who, None));
            }
        }
        waiters.extend(hosts);
        let mut alike: Vec<Waiter> = Vec::new();
        for waiter in waiters {
            let same = |other: &&mut Waiter| {
                other.place.location == waiter.place.location
                    && other.place.pe == waiter.place.pe
                    && other.waits_for == waiter.waits_for
            };
            match alike.iter_mut().find(same) {
                Some(other) => other.count += 1,
                None => alike.push(waiter),
            }
        }
        let first = alike.first().map(|waiter| waiter.place.clone());
        self.found(Finding { first, waiters: alike, detail, ..Finding::new(Kind::Deadlock) });
    }
}
