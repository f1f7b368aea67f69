//! A checked machine: the engine on an operating-system thread of its own, and the host threads that it lets run.

use super::Place;
use super::baton::{Baton, Deed, Did};
use super::choose::Chooser;
use super::clock::Who;
use super::desk::{Checked, Checking, Desk, Heaps};
use super::engine::{Engine, Hosts};
use super::event::{INITIAL, NONE};
use super::finding::{Finding, Kind, Waiter};
use super::know::{Class, Know, Part};
use super::places::Allocation;
use super::run::{Op, Run};
use crate::device::{DeviceShared, News};
use crate::launch::Submission;
use crate::thread::Current;
use crate::trap;
use crate::worker::Worker;
use core::panic::Location;
use oxshmem_device::Together;
use oxshmem_device::abi::Operation;
use oxshmem_device::abi::collective::reserved;
use oxshmem_device::hooks;
use std::collections::HashMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, PoisonError};

/// Runs a checked machine until it is stopped.
pub(crate) fn serve(devices: Vec<Arc<DeviceShared>>, desk: Arc<Desk>) {
    let Checking { profile, schedule, steps, patience, pes } = desk.checking.clone();
    let Some(first) = devices.first() else { return };
    let run = Run::new(profile, pes, Chooser::new(&schedule, pes));
    let current = Box::into_raw(Box::new(Current::new(first.table.clone(), &first.clock, Some(run))));
    {
        // SAFETY: the box lives until this function's end. The engine, its coroutines and the entered hooks, which are
        // all that get the reference, are gone when this block ends.
        let current: &'static Current = unsafe { &*current };
        let _entered = hooks::enter(current);
        let workers = devices.iter().map(|device| Worker::new(device.clone(), current)).collect();
        let mut engine = Engine::new(workers, current);
        engine.begin(steps);
        let mut hosts = HostSide {
            baton: desk.baton.clone(),
            devices: devices.clone(),
            pes,
            whos: Vec::new(),
            pasts: HashMap::new(),
            meetings: HashMap::new(),
            counts: HashMap::new(),
            over: false,
        };
        desk.baton.gather();
        let heaps = *desk.heaps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Heaps { base, stride, bytes, pes }) = heaps {
            engine.state().places.set_heaps(base, stride, bytes, pes, reserved(pes));
        }
        hosts.register(&engine);
        let ran = {
            let _bounded = current.checked.as_ref().map(|run| trap::bound(patience, run));
            catch_unwind(AssertUnwindSafe(|| {
                engine.run(&mut hosts);
            }))
        };
        if ran.is_err() {
            // A mistake of this crate. What was found until then counts.
            let detail =
                "the checker itself has failed, as its message on stderr says: please report it".to_owned();
            engine.state().found(Finding { detail, ..Finding::new(Kind::Panicked) });
        }
        hosts.wind_up(&mut engine);
        let found = {
            let mut run = engine.state();
            let findings = std::mem::take(&mut run.findings);
            Checked { findings, choices: run.choose.taken().to_vec(), operations: run.operations }
        };
        desk.hand_in(found);
        engine.close(&devices);
    }
    // SAFETY: made by `Box::into_raw` above; no reference is left (see above).
    drop(unsafe { Box::from_raw(current) });
}

/// A meeting of host threads.
#[derive(Debug, Default)]
struct Meeting {
    know: Option<Know>,
    came: usize,
    left: usize,
    /// Whether everyone has come with everything complete.
    complete: bool,
}

/// The engine's view of the host threads.
#[derive(Debug)]
struct HostSide {
    baton: Arc<Baton>,
    devices: Vec<Arc<DeviceShared>>,
    pes: u32,
    /// Numbers of the host threads in the run.
    whos: Vec<Who>,
    /// What launches know at their start, by ticket.
    pasts: HashMap<u64, (Know, &'static Location<'static>)>,
    meetings: HashMap<(Vec<u32>, u64), Meeting>,
    /// How often each host thread has come to meetings of these PEs.
    counts: HashMap<(usize, Vec<u32>), u64>,
    over: bool,
}

impl HostSide {
    fn register(&mut self, engine: &Engine) {
        let pes = self.baton.pes();
        // By PE, whoever came first.
        let mut order: Vec<usize> = (0..pes.len()).collect();
        order.sort_by_key(|&host| pes[host]);
        self.whos = vec![0; pes.len()];
        let mut run = engine.state();
        for host in order {
            self.whos[host] = run.add_host(pes[host]);
        }
    }

    /// Lets the host threads come to their ends: everything they do now fails.
    fn wind_up(&mut self, engine: &mut Engine) {
        self.over = true;
        for device in &self.devices {
            device.close("the checker has ended the run");
        }
        while self.baton.left() && !self.baton.is_stopped() {
            self.do_deeds(engine);
            self.discard(engine);
            match self.baton.ready(None).first() {
                Some(&host) => _ = self.baton.run(host),
                None => self.baton.pause(),
            }
        }
    }

    /// Ends launches that come too late.
    fn discard(&self, engine: &mut Engine) {
        for device in &self.devices {
            for submission in device.left_over() {
                submission.stream.end_one(Some(crate::Error::Stopped {
                    device: device.index,
                    reason: "the checker has ended the run".to_owned(),
                }));
            }
        }
        engine.stop();
    }

    fn do_deeds(&mut self, engine: &mut Engine) {
        for deed in self.baton.deeds() {
            self.deed(engine, deed);
        }
    }

    fn deed(&mut self, engine: &mut Engine, deed: Deed) {
        let Deed { host, did, location } = deed;
        let who = self.whos[host];
        let mut run = engine.state();
        let op = Op {
            together: Together::OneThread,
            operation: Operation::Access,
            offset: 0,
            bytes: 0,
            pe: run.thread(who).pe,
            location,
            value: 0,
            own: None,
            number: 0,
        };
        run.enter(who, op);
        run.operations -= 1;
        let pe = run.thread(who).pe;
        match did {
            Did::Launched { ticket } => {
                let know = run.thread(who).know.clone().and(who, run.now(who));
                run.thread_mut(who).own += 1;
                self.pasts.insert(ticket, (know, location));
            }
            Did::Synced { stream } => {
                if let Some(know) = run.ended.get(&stream).cloned() {
                    run.learn(who, &know);
                }
            }
            Did::Accessed { address, bytes, writes } => run.host_access(who, (address, bytes), writes),
            Did::Completes => run.complete_all(who),
            Did::Arrives { members, completes } => {
                if completes {
                    run.complete_all(who);
                }
                let count = self.counts.entry((host, members.clone())).or_insert(0);
                *count += 1;
                let know = run.thread(who).know.clone().and(who, run.now(who));
                run.thread_mut(who).own += 1;
                let everybody = members.is_empty();
                let meeting = self.meetings.entry((members, *count)).or_default();
                meeting.complete = completes && (meeting.came == 0 || meeting.complete);
                meeting.came += 1;
                match &mut meeting.know {
                    Some(all) => all.join(&know),
                    None => meeting.know = Some(know),
                }
                let all = everybody && meeting.came == self.pes as usize && meeting.complete;
                if let Some(know) = meeting.know.as_ref().filter(|_| all && run.is_quiet()) {
                    meeting.know = Some(run.retire(know));
                    self.pasts.clear();
                }
            }
            Did::Leaves { members } => {
                let count = self.counts.get(&(host, members.clone())).copied().unwrap_or(0);
                let size = if members.is_empty() { self.pes as usize } else { members.len() };
                let key = (members, count);
                if let Some(meeting) = self.meetings.get_mut(&key) {
                    if let Some(know) = meeting.know.clone() {
                        let own = run.now(who);
                        let before = std::mem::replace(&mut run.thread_mut(who).know, know);
                        // What it did since it came, if anything, is its own.
                        run.thread_mut(who).know.join(&Know { issued: before.issued, ..Know::new(self.pes) });
                        debug_assert_eq!(own, run.now(who));
                    }
                    meeting.left += 1;
                    if meeting.left == size {
                        self.meetings.remove(&key);
                    }
                }
            }
            Did::Allocated { offset, bytes, element, name } => {
                // The others may use it before this PE's host goes on.
                if run.places.allocate(offset, Allocation { name, bytes, element, pe }) {
                    for pe in 0..self.pes {
                        let address = run.places.address(pe, offset);
                        run.shadow.fill(address, bytes, NONE);
                        run.words.forget(address, bytes);
                    }
                }
            }
            Did::Freed { offset } => run.places.free(offset, (pe, location)),
            Did::AllocatedLocal { address, bytes, kind } => {
                let name = format!("({kind} of {location})");
                run.places.allocate_local(address, Allocation { name, bytes, element: 1, pe });
                run.shadow.fill(address, bytes, INITIAL);
            }
            Did::FreedLocal { address } => run.places.free_local(address),
            Did::Named { parts } => {
                for part in parts {
                    if !run.places.aliases.contains(&part) {
                        run.places.aliases.push(part);
                    }
                }
            }
        }
    }
}

impl Hosts for HostSide {
    fn take_in(&mut self, engine: &mut Engine) {
        self.do_deeds(engine);
        for at in 0..self.devices.len() {
            match self.devices[at].news() {
                Some(News::Stop(_)) => engine.state().over = true,
                Some(News::Launches(launches)) => {
                    for submission in launches {
                        let Submission { ref launch, .. } = submission;
                        let context = launch.context;
                        let first = context
                            .heap_base
                            .wrapping_sub(u64::from(context.my_pe).wrapping_mul(context.peer_stride));
                        if context.n_pes > 0 {
                            engine.state().places.set_heaps(
                                first,
                                context.peer_stride,
                                context.heap_bytes,
                                context.n_pes,
                                reserved(context.n_pes),
                            );
                        }
                        engine.workers[at].submit_checked(submission);
                    }
                }
                None => {}
            }
        }
    }

    fn ready(&self, happened: u64) -> u32 {
        self.baton.ready(Some(happened)).len() as u32
    }

    fn ask(&self) -> bool {
        self.baton.asks(None)
    }

    fn run(&mut self, n: u32, engine: &mut Engine) -> bool {
        let Some(&host) = self.baton.ready(Some(engine.happened)).get(n as usize) else { return false };
        if !self.baton.run(host) {
            let mut run = engine.state();
            let pe = run.thread(self.whos[host]).pe;
            let detail = format!(
                "the host program of PE {pe} has not come to any call of the library for {}: it may wait for another PE's by other means, which keeps that from running",
                self.baton.patience()
            );
            // It may never come back, and the report with it.
            let _ = writeln!(std::io::stderr().lock(), "oxshmem checker: {detail}");
            run.found(Finding { detail, ..Finding::new(Kind::NoProgress) });
        }
        !self.baton.asks(Some(host))
    }

    fn left(&self) -> bool {
        self.baton.left()
    }

    fn may_return(&self) -> bool {
        self.baton.is_away() && {
            self.baton.pause();
            true
        }
    }

    fn past(&self, ticket: u64) -> Option<(Know, &'static Location<'static>)> {
        self.pasts.get(&ticket).cloned()
    }

    fn waiting(&self) -> Vec<Waiter> {
        let all = self.baton.waiting().into_iter();
        all.map(|(pe, location, what)| Waiter {
            place: Place { operation: Operation::Host, writes: false, location, pe, thread: None },
            waits_for: what.into(),
            seen: None,
            by: String::new(),
            count: 1,
        })
        .collect()
    }
}

impl Run {
    /// A host thread accesses memory.
    fn host_access(&mut self, who: Who, (address, bytes): (u64, u64), writes: bool) {
        if bytes == 0 {
            return;
        }
        if writes {
            self.words.forget(address, bytes);
            let woken = self.words.wake_range(address.saturating_sub(15), bytes + 15);
            self.woken.extend(woken);
            self.progress += 1;
        }
        let control = self.places.in_heap(address).is_some_and(|(_, offset)| offset < reserved(self.pes));
        if !control {
            let event = self.event(who, Class::Local, writes, 0);
            self.meet((address, bytes), event, false, None);
        }
    }

    /// Everything that a PE has launched is over, and is complete.
    fn complete_all(&mut self, who: Who) {
        let here = self.issued_here(who);
        for pe in 0..self.pes {
            self.complete(who, pe, &here);
        }
        let pes = self.pes as u16;
        let thread = self.thread_mut(who);
        for pe in 0..pes {
            for part in [Part::Put(pe), Part::Everywhere(pe), Part::Source(pe), Part::Get(pe)] {
                thread.know.finish(part, &here);
            }
        }
        thread.know.finish(Part::Local, &here);
        let done = Rc::new(thread.know.clone().abroad());
        thread.know.complete(&done);
    }
}
