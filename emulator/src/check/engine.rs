//! The loop of a checked run: all devices on one operating-system thread, one thread of one block at a time.

use super::choose::Agents;
use super::clock::Who;
use super::finding::{Finding, Kind, Waiter};
use super::know::Know;
use super::run::Run;
use crate::device::DeviceShared;
use crate::schedule::ThreadId;
use crate::thread::Current;
use crate::worker::{Stepped, Worker};
use core::panic::Location;
use std::cell::RefMut;
use std::fmt::{self, Debug};
use std::sync::Arc;

/// Times that a thread may run without anything changing before it waits for a change.
const IDLE: u32 = 48;
/// As often all such threads, and hosts that ask again and again, may run before they are found to wait for each other.
const GRACE: u32 = 2048;
/// Steps in which updates are held back from a PE that a schedule starves, of so many: in the end everything arrives.
const STARVED: (u64, u64) = (6144, 8192);

/// A thread, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) worker: u32,
    pub(super) id: ThreadId,
    /// Where it stands among those that can run.
    pub(super) at: u32,
    /// When its wait ends, if it polls.
    pub(super) until: Option<u64>,
    /// Whether it has come to no operation since it started or met others: what it does until then concerns nobody else.
    pub(super) fresh: bool,
}

pub(super) const NOWHERE: u32 = u32::MAX;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything has run.
    Done,
    /// Something was found that ends it, or nothing could go on.
    Stopped,
    /// A search has met this state before.
    Cut,
}

/// Host threads, if there are any.
pub(crate) trait Hosts: Debug {
    /// Does what hosts have asked for since the last call.
    fn take_in(&mut self, engine: &mut Engine);
    /// How many can go on, if so much has [happened](Engine::happened).
    fn ready(&self, happened: u64) -> u32;
    /// Whether any asks something, and goes on only when something has happened.
    fn ask(&self) -> bool;
    /// Lets the `n`-th of those that can go on run until it waits. Whether it did anything but ask.
    fn run(&mut self, n: u32, engine: &mut Engine) -> bool;
    /// Whether any is left.
    fn left(&self) -> bool;
    /// Whether one may do something though none is ready. Waits a moment for it.
    fn may_return(&self) -> bool;
    /// What the launch with this ticket knows at its start, and where it was made.
    fn past(&self, ticket: u64) -> Option<(Know, &'static Location<'static>)>;
    /// Those who wait, for a report.
    fn waiting(&self) -> Vec<Waiter>;
}

/// No hosts.
#[derive(Debug)]
pub(crate) struct Alone;

impl Hosts for Alone {
    fn take_in(&mut self, _: &mut Engine) {}
    fn ready(&self, _: u64) -> u32 {
        0
    }
    fn ask(&self) -> bool {
        false
    }
    fn run(&mut self, _: u32, _: &mut Engine) -> bool {
        false
    }
    fn left(&self) -> bool {
        false
    }
    fn may_return(&self) -> bool {
        false
    }
    fn past(&self, _: u64) -> Option<(Know, &'static Location<'static>)> {
        None
    }
    fn waiting(&self) -> Vec<Waiter> {
        Vec::new()
    }
}

/// All devices of a checked run.
pub(crate) struct Engine {
    pub(crate) workers: Vec<Worker>,
    pub(crate) current: &'static Current,
    pub(super) known: Vec<Option<Known>>,
    pub(super) runnable: Vec<Who>,
    /// Threads that run without anything changing.
    pub(super) idle: Vec<Who>,
    last: Option<Who>,
    seen_progress: u64,
    seen_met: u64,
    grace: u32,
    steps: u64,
    most_steps: u64,
    /// Counts all that was done but that hosts asked.
    pub(super) happened: u64,
    freed: Vec<ThreadId>,
    /// Threads that may be fresh.
    pub(super) fresh: Vec<Who>,
    /// The run need not go on.
    cut: bool,
    /// The line of launches that no host made.
    pub(super) site: &'static Location<'static>,
}

impl Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("runnable", &self.runnable).finish_non_exhaustive()
    }
}

impl Engine {
    pub(crate) fn new(workers: Vec<Worker>, current: &'static Current) -> Self {
        Self {
            workers,
            current,
            known: Vec::new(),
            runnable: Vec::new(),
            idle: Vec::new(),
            last: None,
            seen_progress: 0,
            seen_met: 0,
            grace: 0,
            steps: 0,
            most_steps: u64::MAX,
            happened: 0,
            freed: Vec::new(),
            fresh: Vec::new(),
            cut: false,
            site: Location::caller(),
        }
    }

    pub(crate) fn state(&self) -> RefMut<'_, Run> {
        self.current.checked.as_ref().expect("a checked run").borrow_mut()
    }

    /// Begins a run of at most so many steps.
    pub(crate) fn begin(&mut self, most_steps: u64) {
        self.known.clear();
        self.runnable.clear();
        self.idle.clear();
        self.fresh.clear();
        (self.last, self.seen_progress, self.seen_met) = (None, 0, 0);
        (self.grace, self.steps, self.happened, self.cut) = (0, 0, 0, false);
        self.most_steps = most_steps;
    }

    fn push(&mut self, who: Who) {
        let at = self.runnable.len() as u32;
        if let Some(Some(known)) = self.known.get_mut(who as usize)
            && known.at == NOWHERE
        {
            known.at = at;
            known.until = None;
            self.runnable.push(who);
        }
    }

    fn remove(&mut self, who: Who) {
        let Some(Some(known)) = self.known.get_mut(who as usize) else { return };
        let at = std::mem::replace(&mut known.at, NOWHERE);
        if at == NOWHERE {
            return;
        }
        self.runnable.swap_remove(at as usize);
        if let Some(&moved) = self.runnable.get(at as usize)
            && let Some(Some(moved)) = self.known.get_mut(moved as usize)
        {
            moved.at = at;
        }
    }

    /// Puts a thread at the head of those that can run.
    fn lead(&mut self, who: Who) {
        let Some(Some(known)) = self.known.get(who as usize) else { return };
        let at = known.at as usize;
        if at == 0 || known.at == NOWHERE {
            return;
        }
        self.runnable.swap(0, at);
        for at in [0, at] {
            let moved = self.runnable[at];
            if let Some(Some(moved)) = self.known.get_mut(moved as usize) {
                moved.at = at as u32;
            }
        }
    }

    /// Makes known what has become resident.
    fn take_in(&mut self, hosts: &dyn Hosts) {
        for worker in 0..self.workers.len() {
            for id in self.workers[worker].fresh() {
                if self.workers[worker].who(id) == Some(u32::MAX) {
                    self.register(worker, id, hosts);
                }
                if let Some(who) = self.workers[worker].who(id) {
                    self.push(who);
                }
            }
        }
        let (woken, progress, met, gives_up) = {
            let mut run = self.state();
            (std::mem::take(&mut run.woken), run.progress, run.met, run.gives_up)
        };
        for who in woken {
            // It may have gone on since by another word.
            if self.known[who as usize].is_some_and(|known| known.until.is_some()) {
                self.push(who);
            }
        }
        if gives_up {
            for who in 0..self.known.len() as Who {
                if self.known[who as usize].is_some_and(|known| known.until.is_some()) {
                    self.push(who);
                }
            }
        }
        if met != self.seen_met {
            self.seen_met = met;
            self.grace = 0;
        }
        if progress != self.seen_progress {
            self.seen_progress = progress;
            self.grace = 0;
            for who in std::mem::take(&mut self.idle) {
                self.push(who);
            }
        }
    }

    fn register(&mut self, worker: usize, id: ThreadId, hosts: &dyn Hosts) {
        let this = &self.workers[worker];
        let Some(block) = this.block_of(id) else { return };
        let Some((launch, ticket, streams)) = this.launch_of(block.launch) else { return };
        let pe = launch.context.my_pe;
        // A launch without a host program has no others.
        let streams = if ticket == 0 { [None; 2] } else { streams };
        let stream = streams[0].unwrap_or(0);
        let positions: Vec<_> = block.frames.iter().map(|frame| frame.position).collect();
        let Some(first) = block.frames.first() else { return };
        let number = (worker as u64) << 32 | block.launch;
        let first = {
            let mut run = self.state();
            let past = hosts.past(ticket);
            let (mut know, at) = past.unwrap_or_else(|| (Know::new(run.pes), self.site));
            // It comes after the others of its stream, and after those that it waited for.
            for before in streams.iter().flatten().filter_map(|stream| run.ended.get(stream)) {
                know.join(before);
            }
            let shared = first.shared;
            run.shadow.set(shared.0, shared.1.into(), super::event::NONE);
            run.add_block((pe, at), (number, stream), &positions, shared, &know)
        };
        for (thread, frame) in block.frames.iter().enumerate() {
            let who = first + thread as u32;
            frame.who.set(who);
            if self.known.len() <= who as usize {
                self.known.resize(who as usize + 1, None);
            }
            let id = ThreadId { block: id.block, thread: thread as u32 };
            self.fresh.push(who);
            self.known[who as usize] =
                Some(Known { worker: worker as u32, id, at: NOWHERE, until: None, fresh: true });
        }
    }

    /// Runs until nothing is left, or something ends the run.
    pub(crate) fn run(&mut self, hosts: &mut dyn Hosts) -> End {
        let end = self.go(hosts);
        if end == End::Done {
            self.state().calls_left();
        }
        self.state().look_again();
        end
    }

    fn go(&mut self, hosts: &mut dyn Hosts) -> End {
        loop {
            hosts.take_in(self);
            self.take_in(hosts);
            if self.state().early.broken {
                self.stop();
                return End::Cut;
            }
            if self.state().over {
                self.stop();
                return End::Stopped;
            }
            if let Some(last) = self.last {
                self.lead(last);
            }
            let (mut agents, starved) = self.agents(hosts.ready(self.happened));
            if agents.threads + agents.updates + agents.hosts == 0 {
                let done = self.idle.is_empty() && self.workers.iter().all(Worker::is_idle);
                if done && !hosts.left() {
                    return End::Done;
                }
                let asked = !self.idle.is_empty() || hosts.ask();
                if asked && self.grace < GRACE && self.grace_is_allowed() {
                    self.grace += 1;
                    self.happened += 1;
                    let idle = std::mem::take(&mut self.idle);
                    idle.into_iter().for_each(|who| self.push(who));
                    agents.threads = self.runnable.len() as u32;
                    agents.hosts = hosts.ready(self.happened);
                } else if hosts.may_return() {
                    continue;
                } else {
                    self.stuck(hosts);
                    self.stop();
                    return End::Stopped;
                }
            }
            if self.bring_up() {
                continue;
            }
            if self.cut || !self.goes_on(agents) {
                self.stop();
                return End::Cut;
            }
            let option = self.choose(agents, starved);
            let all = self.state().updates.count;
            self.happened += u64::from(option < agents.threads + all);
            if option < agents.threads {
                let who = self.runnable[option as usize];
                self.step(who);
            } else if option < agents.threads + all {
                let mut run = self.state();
                if let Some((queue, at)) = run.updates.nth(option - agents.threads) {
                    run.carry_out(queue, at);
                }
            } else {
                self.last = None;
                if hosts.run(option - agents.threads - all, self) {
                    self.happened += 1;
                    self.grace = 0;
                }
            }
            self.steps += 1;
            if self.steps > self.most_steps {
                let detail = format!("the run has not ended after {} steps", self.most_steps);
                let place = self.last.map(|who| self.state().place_now(who));
                self.state().found(Finding { first: place, detail, ..Finding::new(Kind::NoProgress) });
                self.stop();
                return End::Stopped;
            }
        }
    }

    /// What happens next, numbered among all that could if no PE were starved.
    fn choose(&self, agents: Agents, starved: Option<u32>) -> u32 {
        let mut run = self.state();
        let mut option = run.choose.next(agents);
        if let Some(pe) = starved
            && option >= agents.threads
        {
            let n = option - agents.threads;
            option = if n < agents.updates {
                agents.threads + run.updates.number_but(n, pe)
            } else {
                agents.threads + run.updates.count + (n - agents.updates)
            };
        }
        run.choose.made(option)
    }

    fn grace_is_allowed(&self) -> bool {
        !self.state().choose.searches() || self.grace < 4
    }

    /// What can happen, and the PE whose updates cannot yet.
    fn agents(&self, hosts: u32) -> (Agents, Option<u32>) {
        let run = self.state();
        let threads = self.runnable.len() as u32;
        let goes_on = self.last.is_some() && self.last == self.runnable.first().copied();
        let all = Agents { threads, goes_on, updates: run.updates.count, hosts };
        match run.choose.starved() {
            Some(pe) if (threads > 0 || hosts > 0) && self.steps % STARVED.1 < STARVED.0 => {
                (Agents { updates: run.updates.count_but(pe), ..all }, Some(pe))
            }
            _ => (all, None),
        }
    }

    /// Runs one thread.
    pub(super) fn step(&mut self, who: Who) {
        let Some(Some(known)) = self.known.get(who as usize).copied() else { return };
        self.last = Some(who);
        if let Some(Some(known)) = self.known.get_mut(who as usize) {
            known.fresh = false;
        }
        self.resume(who, known, None);
    }

    pub(super) fn resume(&mut self, who: Who, known: Known, now: Option<u64>) {
        self.freed.clear();
        let mut freed = std::mem::take(&mut self.freed);
        let worker = &mut self.workers[known.worker as usize];
        let stepped = worker.step_checked(known.id, now, &mut freed);
        match stepped {
            Stepped::Runs => self.ran(who),
            Stepped::Polls(until) => self.polls(who, until),
            Stepped::Waits => self.remove(who),
            Stepped::Ended(ended) => {
                self.remove(who);
                self.ended(who, &ended);
                self.known[who as usize] = None; // Another block may get its place.
            }
        }
        for id in freed.drain(..) {
            if let Some(who) = self.workers[known.worker as usize].who(id) {
                self.push(who);
                if let Some(Some(known)) = self.known.get_mut(who as usize) {
                    known.fresh = true;
                    self.fresh.push(who);
                }
            }
        }
        self.freed = freed;
        if self.workers[known.worker as usize].after_step(known.id) && !self.state().over {
            self.divided(known);
        }
    }

    /// A thread can go on; unless it has run often and nothing has changed.
    fn ran(&mut self, who: Who) {
        let idle = {
            let mut run = self.state();
            let progress = run.progress;
            let limit = if run.choose.searches() { 3 } else { IDLE };
            let thread = run.thread_mut(who);
            if thread.progress == progress {
                thread.idle += 1;
            } else {
                (thread.idle, thread.progress) = (0, progress);
            }
            thread.idle > limit
        };
        if idle {
            self.remove(who);
            self.idle.push(who);
        }
    }

    /// A thread's poll has failed: it goes on when a word that it has looked at changes.
    fn polls(&mut self, who: Who, until: u64) {
        let (polled, stale) = {
            let mut run = self.state();
            let thread = run.thread_mut(who);
            thread.log = thread.before;
            (std::mem::take(&mut thread.polled), std::mem::take(&mut thread.stale))
        };
        if stale {
            // A poll that fails because it is behind is one that comes later: the search has that, too.
            let searches = self.state().choose.searches();
            self.cut |= searches;
            return;
        }
        if polled.is_empty() {
            return self.ran(who);
        }
        self.remove(who);
        if let Some(Some(known)) = self.known.get_mut(who as usize) {
            known.until = Some(until);
        }
        let mut run = self.state();
        for address in polled {
            run.words.wait(address, who);
        }
    }

    /// Ends the devices.
    pub(crate) fn close(&mut self, devices: &[Arc<DeviceShared>]) {
        for (worker, device) in self.workers.iter_mut().zip(devices) {
            device.close("its machine was dropped");
            worker.stop("its machine was dropped");
        }
    }

    /// Ends everything that is left.
    pub(crate) fn stop(&mut self) {
        self.workers.iter_mut().for_each(Worker::fail_all);
    }
}
